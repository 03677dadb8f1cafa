/** Questions that change nothing, answered from the store by whichever replica is asked. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import type {
  ResourceView,
  StackView,
  stackEvents,
  stackList,
  stackResources,
  stackShow,
} from '@anneal/contracts/scheduling.ts';
import { emptyPlan, type StackDocument } from '@anneal/convergence/state.ts';
import type { ServiceContext } from '@anneal/runtime/service.ts';
import type { z } from 'zod';
import { liveName } from './admit.ts';
import type { Collections } from './collections.ts';
import type { Evaluation } from './evaluation.ts';
import type { Plans } from './plans.ts';
import type { Providers } from './providers.ts';
import { eventView, plannedView, requirersOf, resourceView, rowsOf, stackView } from './views.ts';

type Question<C extends { data: z.ZodType }> = z.infer<C['data']>;
type AnswerOf<C extends { answer: z.ZodType }> = z.infer<C['answer']>;

export interface Reading {
  /** By id, deleted ones included, or by name among the live ones. @throws AnnealError NotFound */
  find(which: { project: string; stack: string }): Promise<StackDocument>;
  show(question: Question<typeof stackShow>): Promise<StackView>;
  list(question: Question<typeof stackList>): Promise<AnswerOf<typeof stackList>>;
  resources(question: Question<typeof stackResources>): Promise<AnswerOf<typeof stackResources>>;
  events(question: Question<typeof stackEvents>): Promise<AnswerOf<typeof stackEvents>>;
}

export function createReading(parameters: {
  context: ServiceContext;
  collections: Collections;
  plans: Plans;
  providers: Providers;
  evaluation: Evaluation;
}): Reading {
  const { context, plans, providers, evaluation } = parameters;
  const { stacks, resources, events } = parameters.collections;
  const now = (): number => context.now().getTime();

  const viewOf = async (stack: StackDocument): Promise<StackView> =>
    stackView({ stack, plan: await plans.get(stack.target.plan), now: now() });

  const find: Reading['find'] = async ({ project, stack: which }) => {
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
      const [plan, found] = await Promise.all([
        plans.get(stack.target.plan),
        resources.find({ where: { stack_id: stack.id } }),
      ]);
      return { ...view, outputs: evaluation.outputs({ plan, stack, resources: found }) };
    },
    async list(question) {
      const limit = question.limit ?? 1000;
      const wanted = (stack: StackDocument): boolean =>
        stack.project === question.project &&
        (question.deleted === true || stack.deleted_at === null) &&
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
      // Page by page, because the filters are not part of the index.
      for (let last = marker?.created_at, seen = new Set(marker ? [marker.id] : []); chosen.length < limit;) {
        const page = await stacks.find({
          where: { project: question.project, ...(last !== undefined && { created_at: { lte: last } }) },
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
      const [plan, found] = await Promise.all([
        stack.action === 'DELETE' ? emptyPlan() : plans.get(stack.target.plan),
        resources.find({
          where: { stack_id: stack.id, ...(question.name !== undefined && { name: question.name }) },
        }),
      ]);
      const views = resourceViews({ stack, plan, found, detail: question.detail }).filter(
        ({ name }) => question.name === undefined || name === question.name,
      );
      if (question.name !== undefined && views.length === 0) {
        throw new AnnealError('NotFound', `The Resource (${question.name}) could not be found in Stack ${stack.name}.`);
      }
      return { stack: await viewOf(stack), resources: views };
    },
    async events(question) {
      const stack = await find(question);
      const marker = question.marker === undefined ? undefined : await events.get(question.marker);
      const after = marker?.stack_id === stack.id ? marker.sequence : undefined;
      const found = await events.find({
        where: {
          stack_id: stack.id,
          ...(question.resource !== undefined && { resource_name: question.resource }),
          ...(after !== undefined && { sequence: question.descending ? { lt: after } : { gt: after } }),
        },
        orderBy: ['sequence'],
        descending: question.descending,
        ...(question.limit !== undefined && { limit: question.limit }),
      });
      return { stack: await viewOf(stack), events: found.map(eventView) };
    },
  };

  function resourceViews(from: {
    stack: StackDocument;
    plan: Plan;
    found: Awaited<ReturnType<typeof resources.find>>;
    detail: boolean;
  }): ResourceView[] {
    const requirers = requirersOf(from.plan);
    return rowsOf(from.found, from.plan).map((row) => {
      const name = 'resource' in row ? row.resource.name : row.planned.name;
      const requiredBy = requirers.get(name) ?? [];
      if ('planned' in row) return plannedView({ stack: from.stack, planned: row.planned, requiredBy });
      return resourceView({
        ...from,
        resource: row.resource,
        requiredBy,
        now: now(),
        budgetSeconds: providers.typeOf(row.resource.type)?.budget_seconds,
        mask: (value) => context.secrets.mask(value),
      });
    });
  }
}

const pageSize = 200;

/** Whether a stack comes before the marker in the order of the list, newest first. */
function isBefore(marker: StackDocument | undefined, stack: Pick<StackDocument, 'id' | 'created_at'>): boolean {
  if (!marker) return false;
  return stack.created_at > marker.created_at || (stack.created_at === marker.created_at && stack.id >= marker.id);
}
