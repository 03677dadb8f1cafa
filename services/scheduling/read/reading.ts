/** Answers read-only questions from the store, in any replica. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { findPage, type PagedList } from '@anneal/store/page.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { mapInSlices, Pace } from '@anneal/contracts/slices/pace.ts';
import { referencesOf } from '@anneal/hot/tree/references.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import type { ResourceView, stackResources } from '@anneal/contracts/calls/resources.ts';
import type {
  Snapshot,
  snapshotDelete,
  snapshotList,
  snapshotShow,
  stackExport,
  stackRevisionList,
  stackRevisionShow,
} from '@anneal/contracts/calls/stack-history.ts';
import type { StackView, stackEvents, stackList, stackShow } from '@anneal/contracts/calls/stacks.ts';
import {
  goesToNothing,
  representative,
  servedType,
  type ResourceDocument,
  type StackDocument,
} from '@anneal/convergence/documents.ts';
import { emptyPlan } from '@anneal/convergence/state.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { z } from 'zod';
import type { RowValue } from '@anneal/store/port.ts';
import { liveName, listedStackPaths, type SchedulingCollections } from '../collections.ts';
import type { Evaluation } from '../engine/evaluation.ts';
import { shownPeers } from '../engine/outputs.ts';
import type { StoredEvent } from '../events/event-runs.ts';
import { createExporter } from './export.ts';
import type { Heavy } from '../engine/heavy.ts';
import { History } from '../events/history.ts';
import { createTree } from '../nested/tree.ts';
import type { Plans } from '../plans/plans.ts';
import type { ProviderDirectory } from '../providers.ts';
import { findRevision, revisionView } from '../documents/revisions.ts';
import { findSnapshot, removeSnapshot } from '../snapshots.ts';
import type { SnapshotDocument } from '../documents/snapshots.ts';
import { pageOfResources, type PlacedRow } from './resource-page.ts';
import { isGroup } from '../groups/kept.ts';
import { eventView, plannedView, requirersOf, resourceView, rowsOf, shownParameters, stackView } from '../views.ts';

/** A query with more names than this reads all resources of the stack instead. */
const mostNamesInQuery = 200;

type Question<C extends { data: z.ZodType }> = z.infer<C['data']>;
type AnswerOf<C extends { answer: z.ZodType }> = z.infer<C['answer']>;

interface ReadingOptions {
  readonly context: ServiceContext;
  readonly collections: SchedulingCollections;
  readonly plans: Plans;
  readonly providers: ProviderDirectory;
  readonly evaluation: Evaluation;
  readonly heavy: Heavy;
}

export class StackReading {
  readonly #options: ReadingOptions;
  readonly #collections: SchedulingCollections;
  readonly #history: History;
  readonly #exporter: ReturnType<typeof createExporter>;
  readonly #tree: ReturnType<typeof createTree>;

  constructor(options: ReadingOptions) {
    const { collections, context } = options;
    this.#options = options;
    this.#collections = collections;
    this.#history = new History(collections);
    this.#exporter = createExporter(collections, context.store.blobs);
    this.#tree = createTree(collections);
  }

  /** Finds a stack by name among the live stacks, or by id, deleted stacks included. @throws AnnealError NotFound */
  async find({ project, stack: which }: { project: string; stack: string }): Promise<StackDocument> {
    const [named] = await this.#collections.stacks.find({ where: { live_name: liveName(project, which) }, limit: 1 });
    if (named) return named;
    const byId = await this.#collections.stacks.get(which);
    if (byId?.project === project) return byId;
    throw new AnnealError('NotFound', `The Stack (${which}) could not be found.`);
  }

  async show(question: Question<typeof stackShow>): Promise<StackView> {
    const stack = await this.find(question);
    const view = await this.#viewOf(stack);
    if (!question.outputs) return view;
    const plan = await this.#headingFor(stack);
    // Only outputs read resources, and a client that waits for the end of an action asks often.
    if (Object.keys(plan.outputs).length === 0) return { ...view, outputs: [] };
    const peer = shownPeers(await this.#readByOutputs(stack, plan));
    const { evaluation, heavy } = this.#options;
    return { ...view, outputs: await heavy.trying(async () => evaluation.outputs({ plan, stack, peer })) };
  }

  /** The resources that the outputs read, because a stack of thousands may show only a few of them. */
  async #readByOutputs({ id }: StackDocument, { outputs }: Plan): Promise<ResourceDocument[]> {
    const { resources, attributes } = referencesOf(...Object.values(outputs).map(({ value }) => value));
    const names = [...new Set([...resources, ...attributes.keys()])];
    if (names.length === 0) return [];
    const isFew = names.length <= mostNamesInQuery;
    return this.#collections.resources.find({ where: { stack_id: id, ...(isFew && { name: { in: names } }) } });
  }

  async list(question: Question<typeof stackList>): Promise<AnswerOf<typeof stackList>> {
    if (question.page) return this.#page(question.project, question.page);
    const limit = question.limit ?? 1000;
    const wanted = (stack: StackDocument): boolean =>
      (question.all_projects === true || stack.project === question.project) &&
      (question.deleted === true || stack.deleted_at === null) &&
      (question.nested === true || stack.depth === 0 || question.ids !== undefined) &&
      (!question.names || question.names.includes(stack.name)) &&
      (!question.ids || question.ids.includes(stack.id)) &&
      (!question.states ||
        question.states.includes(stack.status) ||
        question.states.includes(`${stack.action}_${stack.status}`));
    const stacks = question.ids
      ? (await this.#collections.stacks.getMany(question.ids)).filter(wanted).slice(0, limit)
      : await this.#newest(question, { limit, wanted });
    const now = this.#options.context.now().getTime();
    return { stacks: stacks.map((stack) => stackView({ stack, plan: emptyPlan(), now })) };
  }

  async #page(project: string, page: PageRequest): Promise<AnswerOf<typeof stackList>> {
    const { documents, ...counts } = await findPage(this.#collections.stacks, listedStacks(project), page);
    const now = this.#options.context.now().getTime();
    return { stacks: documents.map((stack) => stackView({ stack, plan: emptyPlan(), now })), ...counts };
  }

  /** The stacks of a list, newest first. Reads page by page, because the filters are not part of the index. */
  async #newest(
    question: Question<typeof stackList>,
    { limit, wanted }: { limit: number; wanted: (stack: StackDocument) => boolean },
  ): Promise<StackDocument[]> {
    const marker = question.marker === undefined ? undefined : await this.#collections.stacks.get(question.marker);
    const ofProject = { project: question.project, ...(question.nested !== true && { depth: 0 }) };
    const chosen: StackDocument[] = [];
    let last = marker?.created_at;
    /** The stacks of the time `last` that were read already. */
    let seen = new Set<string>();
    for (;;) {
      const size = seen.size + Math.min(mostInPage, Math.max(leastInPage, limit - chosen.length));
      const page = await this.#collections.stacks.find({
        where: {
          ...(question.all_projects !== true && ofProject),
          ...(last !== undefined && { created_at: { lte: last } }),
        },
        orderBy: ['created_at', 'id'],
        descending: true,
        limit: size,
      });
      chosen.push(...page.filter((stack) => !seen.has(stack.id) && !isBefore(marker, stack) && wanted(stack)));
      if (page.length < size || chosen.length >= limit) return chosen.slice(0, limit);
      last = page.at(-1)?.created_at;
      seen = new Set(page.filter(({ created_at }) => created_at === last).map(({ id }) => id));
    }
  }

  async resources(question: Question<typeof stackResources>): Promise<AnswerOf<typeof stackResources>> {
    const stack = await this.find(question);
    const levels = question.nested_depth ?? 0;
    if (question.page) return this.#resourcePage(stack, levels, question.page);
    const rows: { stack: StackDocument; views: ResourceView[] }[] = [];
    for await (const level of this.#tree.down(stack, levels, question.name)) {
      for (const { stack: at, found } of level) {
        const plan = await this.#headingFor(at);
        const { name, detail, sealed = false } = question;
        rows.push({ stack: at, views: await this.#resourceViews({ stack: at, plan, found, name, detail, sealed }) });
      }
    }
    const views = rows
      .flatMap((row) => row.views)
      .filter(({ name }) => question.name === undefined || name === question.name);
    if (question.name !== undefined && views.length === 0) {
      throw new AnnealError('NotFound', `The Resource (${question.name}) could not be found in Stack ${stack.name}.`);
    }
    return { stack: await this.#viewOf(stack), resources: views };
  }

  async #resourcePage(
    stack: StackDocument,
    levels: number,
    page: PageRequest,
  ): Promise<AnswerOf<typeof stackResources>> {
    const parts = { collections: this.#collections, planOf: (each: StackDocument) => this.#headingFor(each) };
    const { rows, ...counts } = await pageOfResources(parts, { stack, levels, page });
    const resources = await mapInSlices(rows, (row) => this.#rowView({ ...row, detail: false, sealed: false }));
    return { stack: await this.#viewOf(stack), resources, paths: rows.map(({ path }) => path), ...counts };
  }

  async events(question: Question<typeof stackEvents>): Promise<AnswerOf<typeof stackEvents>> {
    const stack = await this.find(question);
    if ((question.nested_depth ?? 0) > 0) return this.#eventsOfTree(stack, question);
    return this.#eventsOfOne(stack, question);
  }

  async snapshots(question: Question<typeof snapshotList>): Promise<AnswerOf<typeof snapshotList>> {
    const stack = await this.find(question);
    const found = await this.#collections.snapshots.find({ where: { stack_id: stack.id }, orderBy: ['created_at'] });
    return { snapshots: found.map(snapshotView) };
  }

  async snapshot(question: Question<typeof snapshotShow>): Promise<AnswerOf<typeof snapshotShow>> {
    const stack = await this.find(question);
    const { secrets } = this.#options.context;
    const found = await findSnapshot(this.#collections.snapshots, stack.id, question.snapshot);
    const { resources: kept, ...frame } = await this.#exporter.frame(stack, found.target, found.resources);
    const masked = await mapInSlices(Object.entries(kept as JsonObject), ([name, resource]): [string, Json] => [
      name,
      secrets.mask(resource),
    ]);
    return {
      ...snapshotView(found),
      data: { ...secrets.mask(frame), resources: toRecord(masked) },
    };
  }

  async forget(question: Question<typeof snapshotDelete>): Promise<AnswerOf<typeof snapshotDelete>> {
    const stack = await this.find(question);
    const { id, status } = await findSnapshot(this.#collections.snapshots, stack.id, question.snapshot);
    if (status === 'IN_PROGRESS') throw new AnnealError('Conflict', `Snapshot ${id} is still being created.`);
    await removeSnapshot(this.#collections, id);
    return {};
  }

  async revisions(question: Question<typeof stackRevisionList>): Promise<AnswerOf<typeof stackRevisionList>> {
    const stack = await this.find(question);
    const where = { stack_id: stack.id };
    const found = await this.#collections.revisions.find({ where, orderBy: ['at'], descending: true });
    return { revisions: found.map((each) => revisionView(stack, each)) };
  }

  async revision(question: Question<typeof stackRevisionShow>): Promise<AnswerOf<typeof stackRevisionShow>> {
    const stack = await this.find(question);
    const found = await findRevision(this.#collections.revisions, stack, question.revision);
    const { context, plans } = this.#options;
    const { template, environment, files } = await this.#exporter.frame(stack, found.target, {});
    return {
      ...revisionView(stack, found),
      template: template as JsonObject,
      environment: context.secrets.mask(environment as JsonObject),
      files: files as JsonObject,
      parameters: isGroup(stack) ? {} : shownParameters(await plans.get(found.target.plan)),
      contents: { template: found.target.template, environment: found.target.environment, files: found.target.files },
    };
  }

  async exported(question: Question<typeof stackExport>): Promise<AnswerOf<typeof stackExport>> {
    return this.#exporter.stack(await this.find(question));
  }

  async #viewOf(stack: StackDocument): Promise<StackView> {
    const { context, plans } = this.#options;
    return stackView({ stack, plan: await plans.of(stack), now: context.now().getTime() });
  }

  /** The plan that the stack converges to or has reached. It is empty after a rollback to nothing. */
  async #headingFor(stack: StackDocument): Promise<Plan> {
    return goesToNothing(stack) ? emptyPlan() : this.#options.plans.of(stack);
  }

  async #eventsOfOne(
    stack: StackDocument,
    question: Question<typeof stackEvents>,
  ): Promise<AnswerOf<typeof stackEvents>> {
    const found = await this.#history.read({ ...question, stackId: stack.id });
    return { stack: await this.#viewOf(stack), events: found.map(eventView) };
  }

  /** The events of all stacks of the tree, in the order of time. */
  async #eventsOfTree(
    stack: StackDocument,
    question: Question<typeof stackEvents>,
  ): Promise<AnswerOf<typeof stackEvents>> {
    const ids = (await this.#tree.stacks(stack, question.nested_depth ?? 0)).map(({ id }) => id);
    if (ids.length === 1) return this.#eventsOfOne(stack, question);
    const sorted = (await this.#history.all(ids, question.resource)).sort(inTime);
    if (question.descending) sorted.reverse();
    const at = question.marker === undefined ? -1 : sorted.findIndex(({ id }) => id === question.marker);
    const page = sorted.slice(at + 1, question.limit === undefined ? undefined : at + 1 + question.limit);
    return { stack: await this.#viewOf(stack), events: page.map(eventView) };
  }

  async #resourceViews(from: {
    stack: StackDocument;
    plan: Plan;
    found: readonly ResourceDocument[];
    /** Only this one. */
    name?: string | undefined;
    detail: boolean;
    sealed: boolean;
  }): Promise<ResourceView[]> {
    const pace = new Pace();
    const rows = await rowsOf(from.found, from.plan, { choose: representative, pace, name: from.name });
    if (pace.isOver) await pace.turn();
    return mapInSlices(rows, (row) => this.#rowView({ ...from, row }), pace);
  }

  #rowView({
    row,
    ...from
  }: Pick<PlacedRow, 'stack' | 'plan' | 'row'> & { readonly detail: boolean; readonly sealed: boolean }): ResourceView {
    const { context, providers } = this.#options;
    const name = 'resource' in row ? row.resource.name : row.planned.name;
    const requiredBy = requirersOf(from.plan).get(name) ?? [];
    if ('planned' in row) return plannedView({ stack: from.stack, planned: row.planned, requiredBy });
    return resourceView({
      ...from,
      resource: row.resource,
      requiredBy,
      now: context.now().getTime(),
      budgetSeconds: providers.typeOf(servedType(row.resource) ?? '')?.budget_seconds,
      mask: (value) => context.secrets.mask(value),
    });
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

/** How many stacks a query of a list reads, beside those that it has read before. */
const [leastInPage, mostInPage] = [20, 200];

/** Whether a stack comes before the marker in the order of the list, newest first. */
function isBefore(marker: StackDocument | undefined, stack: Pick<StackDocument, 'id' | 'created_at'>): boolean {
  if (!marker) return false;
  return stack.created_at > marker.created_at || (stack.created_at === marker.created_at && stack.id >= marker.id);
}

/** A list is its JSON in a row. */
const tagsIn = (tags: RowValue | undefined): string[] =>
  typeof tags === 'string' ? (JSON.parse(tags) as string[]) : [];

/** The stacks of a project that exist and are not nested, newest first. */
const listedStacks = (project: string): PagedList<StackDocument> => ({
  where: { project, deleted_at: null, depth: 0 },
  natural: { name: 'created', orderBy: ['created_at'], descending: true },
  paths: ['name', 'action', 'status', 'created_at', ...listedStackPaths],
  columns: {
    name: ({ name }) => name ?? '',
    status: ({ action, status }) => `${action}_${status}`,
    changed: ({ updated_at: updated, created_at: created }) => updated ?? created ?? '',
  },
  textsOf: ({ name, action, status, tags }) => [String(name), `${action}_${status}`, ...tagsIn(tags)],
});
