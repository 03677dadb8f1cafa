/** Answers read-only questions from the store, in any replica. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { mapInSlices, Pace } from '@anneal/contracts/pace.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import type {
  ResourceView,
  Snapshot,
  snapshotDelete,
  snapshotList,
  snapshotShow,
  StackView,
  stackEvents,
  stackExport,
  stackList,
  stackResources,
  stackShow,
} from '@anneal/contracts/scheduling.ts';
import { goesToNothing, type ResourceDocument, servedType, type StackDocument } from '@anneal/convergence/documents.ts';
import { emptyPlan } from '@anneal/convergence/state.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { z } from 'zod';
import type { SchedulingCollections } from '../collections.ts';
import { type Evaluation, shownPeers } from '../engine/evaluation.ts';
import type { StoredEvent } from '../events/event-runs.ts';
import { createExporter } from './export.ts';
import type { Heavy } from '../engine/heavy.ts';
import { History } from '../events/history.ts';
import { liveName } from '../shard/live-name.ts';
import { createTree } from '../nested/tree.ts';
import type { Plans } from '../engine/plans.ts';
import type { ProviderDirectory } from '../shard/providers.ts';
import { findSnapshot, type SnapshotDocument } from './snapshots.ts';
import { eventView, plannedView, requirersOf, resourceView, rowsOf, stackView } from './views.ts';

type Question<C extends { data: z.ZodType }> = z.infer<C['data']>;
type AnswerOf<C extends { answer: z.ZodType }> = z.infer<C['answer']>;

export interface StackReading {
  /** Finds a stack by name among the live stacks, or by id, deleted stacks included. @throws AnnealError NotFound */
  find(which: { project: string; stack: string }): Promise<StackDocument>;
  show(question: Question<typeof stackShow>): Promise<StackView>;
  list(question: Question<typeof stackList>): Promise<AnswerOf<typeof stackList>>;
  resources(question: Question<typeof stackResources>): Promise<AnswerOf<typeof stackResources>>;
  events(question: Question<typeof stackEvents>): Promise<AnswerOf<typeof stackEvents>>;
  snapshots(question: Question<typeof snapshotList>): Promise<AnswerOf<typeof snapshotList>>;
  snapshot(question: Question<typeof snapshotShow>): Promise<AnswerOf<typeof snapshotShow>>;
  forget(question: Question<typeof snapshotDelete>): Promise<AnswerOf<typeof snapshotDelete>>;
  exported(question: Question<typeof stackExport>): Promise<AnswerOf<typeof stackExport>>;
}

export function createReading(parameters: {
  context: ServiceContext;
  collections: SchedulingCollections;
  plans: Plans;
  providers: ProviderDirectory;
  evaluation: Evaluation;
  heavy: Heavy;
}): StackReading {
  const { context, plans, providers, evaluation, heavy } = parameters;
  const { stacks, resources, snapshots } = parameters.collections;
  const history = new History(parameters.collections);
  const exporter = createExporter(parameters.collections, context.store.blobs);
  const tree = createTree(parameters.collections);
  const now = (): number => context.now().getTime();

  const viewOf = async (stack: StackDocument): Promise<StackView> =>
    stackView({ stack, plan: await plans.of(stack), now: now() });

  /** The plan that the stack converges to or has reached. It is empty after a rollback to nothing. */
  const headingFor = async (stack: StackDocument): Promise<Plan> =>
    goesToNothing(stack) ? emptyPlan() : plans.of(stack);

  const find: StackReading['find'] = async ({ project, stack: which }) => {
    const [named] = await stacks.find({ where: { live_name: liveName(project, which) }, limit: 1 });
    if (named) return named;
    const byId = await stacks.get(which);
    if (byId?.project === project) return byId;
    throw new AnnealError('NotFound', `The Stack (${which}) could not be found.`);
  };

  return {
    find,
    async show(question) {
      const stack = await find(question);
      const view = await viewOf(stack);
      if (!question.outputs) return view;
      const plan = await headingFor(stack);
      // Only outputs read resources, and a client that waits for the end of an action asks often.
      if (Object.keys(plan.outputs).length === 0) return { ...view, outputs: [] };
      const found = await resources.find({ where: { stack_id: stack.id } });
      const peer = shownPeers(found);
      return { ...view, outputs: await heavy.trying(async () => evaluation.outputs({ plan, stack, peer })) };
    },
    async list(question) {
      const limit = question.limit ?? 1000;
      const wanted = (stack: StackDocument): boolean =>
        stack.project === question.project &&
        (question.deleted === true || stack.deleted_at === null) &&
        (question.nested === true || stack.depth === 0 || question.ids !== undefined) &&
        (!question.names || question.names.includes(stack.name)) &&
        (!question.ids || question.ids.includes(stack.id)) &&
        (!question.states ||
          question.states.includes(stack.status) ||
          question.states.includes(`${stack.action}_${stack.status}`));
      if (question.ids) {
        const found = await stacks.getMany(question.ids);
        return { stacks: await Promise.all(found.filter(wanted).slice(0, limit).map(viewOf)) };
      }
      const marker = question.marker === undefined ? undefined : await stacks.get(question.marker);
      const chosen: StackDocument[] = [];
      // Read page by page, because the filters are not part of the index.
      for (let last = marker?.created_at, seen = new Set(marker ? [marker.id] : []); chosen.length < limit;) {
        const page = await stacks.find({
          where: {
            project: question.project,
            ...(question.nested !== true && { depth: 0 }),
            ...(last !== undefined && { created_at: { lte: last } }),
          },
          orderBy: ['created_at', 'id'],
          descending: true,
          limit: pageSize,
        });
        const fresh = page.filter(({ id, created_at }) => !seen.has(id) && !isBefore(marker, { id, created_at }));
        chosen.push(...fresh.filter(wanted));
        if (page.length < pageSize || fresh.length === 0) break;
        last = page.at(-1)?.created_at;
        seen = new Set(page.map(({ id }) => id));
      }
      return { stacks: await Promise.all(chosen.slice(0, limit).map(viewOf)) };
    },
    async resources(question) {
      const stack = await find(question);
      const levels = question.nested_depth ?? 0;
      const rows: { stack: StackDocument; views: ResourceView[] }[] = [];
      for await (const level of tree.down(stack, levels, question.name)) {
        for (const { stack: at, found } of level) {
          const plan = await headingFor(at);
          rows.push({ stack: at, views: await resourceViews({ stack: at, plan, found, detail: question.detail }) });
        }
      }
      const views = rows
        .flatMap((row) => row.views)
        .filter(({ name }) => question.name === undefined || name === question.name);
      if (question.name !== undefined && views.length === 0) {
        throw new AnnealError('NotFound', `The Resource (${question.name}) could not be found in Stack ${stack.name}.`);
      }
      return { stack: await viewOf(stack), resources: views };
    },
    async events(question) {
      const stack = await find(question);
      if ((question.nested_depth ?? 0) > 0) return eventsOfTree(stack, question);
      return eventsOfOne(stack, question);
    },
    async snapshots(question) {
      const stack = await find(question);
      const found = await snapshots.find({ where: { stack_id: stack.id }, orderBy: ['created_at'] });
      return { snapshots: found.map(snapshotView) };
    },
    async snapshot(question) {
      const stack = await find(question);
      const found = await findSnapshot(snapshots, stack.id, question.snapshot);
      const { resources: kept, ...frame } = await exporter.frame(stack, found.target, found.resources);
      const masked = await mapInSlices(Object.entries(kept as JsonObject), ([name, resource]): [string, Json] => [
        name,
        context.secrets.mask(resource),
      ]);
      return {
        ...snapshotView(found),
        data: { ...context.secrets.mask(frame), resources: Object.fromEntries(masked) },
      };
    },
    async forget(question) {
      const stack = await find(question);
      const { id, status } = await findSnapshot(snapshots, stack.id, question.snapshot);
      if (status === 'IN_PROGRESS') throw new AnnealError('Conflict', `Snapshot ${id} is still being created.`);
      await snapshots.remove(id);
      return {};
    },
    exported: async (question) => exporter.stack(await find(question)),
  };

  async function eventsOfOne(
    stack: StackDocument,
    question: Question<typeof stackEvents>,
  ): Promise<AnswerOf<typeof stackEvents>> {
    const found = await history.read({ ...question, stackId: stack.id });
    return { stack: await viewOf(stack), events: found.map(eventView) };
  }

  /** The events of all stacks of the tree, in the order of time. */
  async function eventsOfTree(
    stack: StackDocument,
    question: Question<typeof stackEvents>,
  ): Promise<AnswerOf<typeof stackEvents>> {
    const ids = (await tree.stacks(stack, question.nested_depth ?? 0)).map(({ id }) => id);
    if (ids.length === 1) return eventsOfOne(stack, question);
    const sorted = (await history.all(ids, question.resource)).sort(inTime);
    if (question.descending) sorted.reverse();
    const at = question.marker === undefined ? -1 : sorted.findIndex(({ id }) => id === question.marker);
    const page = sorted.slice(at + 1, question.limit === undefined ? undefined : at + 1 + question.limit);
    return { stack: await viewOf(stack), events: page.map(eventView) };
  }

  async function resourceViews(from: {
    stack: StackDocument;
    plan: Plan;
    found: readonly ResourceDocument[];
    detail: boolean;
  }): Promise<ResourceView[]> {
    const pace = new Pace();
    const rows = await rowsOf(from.found, from.plan, pace);
    if (pace.isOver) await pace.turn();
    const requirers = requirersOf(from.plan);
    const shown = (row: (typeof rows)[number]): ResourceView => {
      const name = 'resource' in row ? row.resource.name : row.planned.name;
      const requiredBy = requirers.get(name) ?? [];
      if ('planned' in row) return plannedView({ stack: from.stack, planned: row.planned, requiredBy });
      return resourceView({
        ...from,
        resource: row.resource,
        requiredBy,
        now: now(),
        budgetSeconds: providers.typeOf(servedType(row.resource) ?? '')?.budget_seconds,
        mask: (value) => context.secrets.mask(value),
      });
    };
    return mapInSlices(rows, shown, pace);
  }
}

const snapshotView = ({ id, name, stack_id, status, reason, created_at }: SnapshotDocument): Snapshot => ({
  id,
  name,
  stack_id,
  status,
  reason,
  created_at,
});

/** The order of time; of events of the same time, that of their stacks and then of their numbers. */
function inTime(a: StoredEvent, b: StoredEvent): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1;
  if (a.stack_id !== b.stack_id) return a.stack_id < b.stack_id ? -1 : 1;
  return a.sequence - b.sequence;
}

const pageSize = 200;

/** Whether a stack comes before the marker in the order of the list, newest first. */
function isBefore(marker: StackDocument | undefined, stack: Pick<StackDocument, 'id' | 'created_at'>): boolean {
  if (!marker) return false;
  return stack.created_at > marker.created_at || (stack.created_at === marker.created_at && stack.id >= marker.id);
}
