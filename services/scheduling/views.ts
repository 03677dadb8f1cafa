/** Views of stacks, resources and events for clients. Hidden values are masked here, and only here. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { Pace } from '@anneal/contracts/slices/pace.ts';
import type { Plan, PlanParameter, PlanResource } from '@anneal/contracts/plan.ts';
import type { Condition, StackEvent, StackView } from '@anneal/contracts/calls/stacks.ts';
import type { ResourceView } from '@anneal/contracts/calls/resources.ts';
import {
  isNested,
  isWarm,
  type ResourceDocument,
  shownType,
  type StackDocument,
} from '@anneal/convergence/documents.ts';
import { parameterText } from '@anneal/hot/parameters/parameter-text.ts';
import type { StoredEvent } from './events/event-runs.ts';
import { isGroup } from './groups/kept.ts';
import { withoutReads } from './engine/reads.ts';

const hiddenText = '******';

/** The parameters of a plan as texts, with hidden ones masked. `mask` hides seals within a value. */
export const shownParameters = ({ parameters }: Plan, mask = (value: Json): Json => value): Record<string, string> =>
  toRecord(Object.entries(parameters).map(([name, parameter]) => [name, textOf(parameter, mask(parameter.value))]));

const textOf = ({ type, text, hidden, value }: PlanParameter, shown: Json): string =>
  hidden ? hiddenText : shown === value && text !== undefined ? text : parameterText(type, shown);

export function stackView({ stack, plan, now }: { stack: StackDocument; plan: Plan; now: number }): StackView {
  return {
    id: stack.id,
    name: stack.name,
    project: stack.project,
    owner: stack.owner,
    description: stack.target.description,
    action: stack.action,
    status: stack.status,
    reason: stack.reason,
    created_at: stack.created_at,
    updated_at: stack.updated_at,
    ...(stack.finished_at !== undefined && { finished_at: stack.finished_at }),
    ...(isCancelled(stack) && { cancelled: true }),
    deleted_at: stack.deleted_at,
    timeout_minutes: stack.timeout_minutes,
    on_failure: stack.on_failure,
    tags: [...stack.tags],
    parent: stack.parent?.stack_id ?? null,
    parent_resource: stack.parent?.resource_name ?? null,
    root: stack.root,
    depth: stack.depth,
    traversal: stack.traversal,
    version: stack.version,
    template: stack.target.template,
    environment: stack.target.environment,
    files: stack.target.files,
    plan: stack.target.plan,
    conditions: stackConditions(stack, now),
    // The parameters of a group are secrets of its members, which the user has not declared.
    parameters: isGroup(stack) ? {} : shownParameters(plan),
    ...(isGroup(stack) && { group: true }),
    failures: stack.failures.map((failure) => ({ ...failure })),
  };
}

/** Whether a client cancelled the last action of the stack, which is no failure of anything. */
export const isCancelled = ({ status, cancelled }: StackDocument): boolean => status === 'FAILED' && cancelled === true;

/** When the stack came into its state: the end of its last action, or the begin of the running one. */
export const changedAt = ({ finished_at, updated_at, created_at }: StackDocument): string =>
  finished_at ?? updated_at ?? created_at;

function paused({ failures: [first] }: StackDocument, since: string): Condition {
  const what = first ? `${first.resource} failed: ${first.failure.message}` : 'a resource failed';
  const message = `${what}. Retry, skip it, roll back or cancel.`;
  return { type: 'Paused', status: 'True', reason: 'WaitsForOperator', message, since };
}

function stackConditions(stack: StackDocument, now: number): Condition[] {
  const since = changedAt(stack);
  const ready = stack.status === 'COMPLETE' && stack.deleted_at === null;
  const overdue = stack.deadline !== null && Date.parse(stack.deadline) < now;
  return [
    {
      type: 'Ready',
      status: ready ? 'True' : 'False',
      reason: camel(stack.action, isCancelled(stack) ? 'CANCELLED' : stack.status),
      message: stack.reason,
      since,
    },
    {
      type: 'Stalled',
      status: overdue ? 'True' : 'False',
      reason: overdue ? 'DeadlinePassed' : 'InTime',
      message: overdue
        ? `The deadline ${stack.deadline ?? ''} has passed, but its timer has not been handled yet.`
        : '',
      since: overdue ? (stack.deadline ?? since) : since,
    },
    ...(stack.phase === 'paused' ? [paused(stack, since)] : []),
  ];
}

export interface ResourceViewParameters {
  readonly stack: StackDocument;
  readonly resource: ResourceDocument;
  readonly plan: Plan;
  readonly requiredBy: readonly string[];
  readonly now: number;
  readonly budgetSeconds: number | undefined;
  readonly detail: boolean;
  readonly mask: <T extends Json>(value: T) => T;
  /** Whether secret attributes stay sealed. */
  readonly sealed: boolean;
}

export function resourceView(parameters: ResourceViewParameters): ResourceView {
  const { stack, resource, plan, mask } = parameters;
  const planned = Object.hasOwn(plan.resources, resource.name) ? plan.resources[resource.name] : undefined;
  return {
    id: resource.id,
    name: resource.name,
    type: shownType(resource),
    stack_id: stack.id,
    stack_name: stack.name,
    action: resource.action,
    status: resource.status,
    reason: resource.reason,
    // Show the id of a nested stack before it is complete, so that an operator can inspect it.
    physical_id: resource.physical_id ?? (isNested(resource) && resource.fence > 0 ? resource.id : null),
    requires: [...(planned?.requires ?? [])],
    required_by: [...parameters.requiredBy],
    created_at: resource.created_at,
    updated_at: resource.updated_at,
    started_at: resource.started_at,
    finished_at: resource.finished_at,
    description: resource.description,
    version: resource.version,
    conditions: resourceConditions(parameters),
    ...(isNested(resource) && { nested_stack: { id: resource.id, name: resource.physical_name } }),
    ...(stack.parent && { parent_resource: stack.parent.resource_name }),
    ...(resource.drift.length > 0 && { drift: [...resource.drift] }),
    ...(isWarm(resource) && { warm: true as const }),
    ...(resource.hook && {
      hook: {
        name: resource.hook.name,
        since: resource.hook.since,
        kind: resource.hook.kind,
        deadline: resource.hook.deadline,
      },
    }),
    ...(resource.failure && { failure: resource.failure }),
    ...(parameters.detail && {
      attributes: parameters.sealed ? withoutReads(resource) : mask(withoutReads(resource)),
      properties: mask(resource.request?.properties ?? resource.properties),
      metadata: shownMap(mask(resource.metadata)),
    }),
  };
}

const defaultBudgetSeconds = 600;

/** A resource is stalled when it makes no progress within the budget of its type. */
function resourceConditions({ resource, now, budgetSeconds }: ResourceViewParameters): Condition[] {
  const ready = resource.status === 'COMPLETE' && resource.action !== 'DELETE' && resource.action !== 'INIT';
  const budget = budgetSeconds ?? defaultBudgetSeconds;
  const stalled = resource.request !== null && now - Date.parse(resource.updated_at) > budget * 1000;
  return [
    {
      type: 'Ready',
      status: ready ? 'True' : 'False',
      reason: camel(resource.action, resource.status),
      message: resource.reason,
      since: resource.updated_at,
    },
    {
      type: 'Stalled',
      status: stalled ? 'True' : 'False',
      reason: stalled ? 'NoProgress' : 'InTime',
      message: stalled ? `Its provider has reported nothing for more than ${budget} seconds.` : '',
      since: stalled ? new Date(Date.parse(resource.updated_at) + budget * 1000).toISOString() : resource.updated_at,
    },
    ...otherConditions(resource),
  ];
}

/** Conditions that are listed only while they are true. */
function otherConditions({ hook, skipped, drift, updated_at: since }: ResourceDocument): Condition[] {
  const found: Condition[] = [];
  const add = (condition: Omit<Condition, 'status' | 'since'> & { since?: string }): void => {
    found.push({ status: 'True', since, ...condition });
  };
  if (hook) {
    const until = hook.deadline === null ? '' : `, at the latest until ${hook.deadline}`;
    add({ type: 'Waiting', reason: 'Hook', message: `It waits at ${hook.name}${until}.`, since: hook.since });
  }
  if (skipped !== null) {
    const message = 'It failed, and an operator accepted it as it is.';
    add({ type: 'Skipped', reason: 'TakenAsItIs', message });
  }
  if (drift.length > 0) {
    const names = drift.map(({ property }) => property).join(', ');
    add({
      type: 'Drifted',
      reason: 'DiffersFromApplied',
      message: `The object differs from the template in ${names}.`,
    });
  }
  return found;
}

/** The view of a planned resource that no action has touched yet. */
export function plannedView(parameters: {
  stack: StackDocument;
  planned: PlanResource;
  requiredBy: readonly string[];
}): ResourceView {
  const { stack, planned } = parameters;
  const since = stack.updated_at ?? stack.created_at;
  return {
    id: '',
    name: planned.name,
    type: shownType(planned),
    stack_id: stack.id,
    stack_name: stack.name,
    action: 'INIT',
    status: 'COMPLETE',
    reason: '',
    physical_id: null,
    requires: [...planned.requires],
    required_by: [...parameters.requiredBy],
    created_at: since,
    updated_at: since,
    started_at: null,
    finished_at: null,
    description: planned.description ?? '',
    version: 0,
    conditions: [],
  };
}

/**
 * One row per name, or only for `name`, in the order of names: the incarnation that `choose` takes of those with the name,
 * or the plan if no resource exists yet.
 */
export async function rowsOf<R extends { readonly name: string }>(
  resources: readonly R[],
  plan: Plan,
  options: { choose: (candidates: readonly R[]) => R | undefined; pace?: Pace; name?: string | undefined },
): Promise<({ resource: R } | { planned: PlanResource })[]> {
  const { choose, pace = new Pace(), name: only } = options;
  const byName = new Map<string, R[]>();
  for (const resource of resources) {
    const list = byName.get(resource.name);
    if (list) list.push(resource);
    else byName.set(resource.name, [resource]);
    if (pace.isOver) await pace.turn();
  }
  const rows = new Map<string, { resource: R } | { planned: PlanResource }>();
  for (const [name, candidates] of byName) {
    const resource = choose(candidates);
    if (resource) rows.set(name, { resource });
    if (pace.isOver) await pace.turn();
  }
  // Leave out the temporary members of a rolling update, because they are not created again.
  const gone = new Set(plan.rolling?.temporary);
  const one = only !== undefined && Object.hasOwn(plan.resources, only) ? plan.resources[only] : undefined;
  for (const planned of only === undefined ? Object.values(plan.resources) : one ? [one] : []) {
    if (!byName.has(planned.name) && !gone.has(planned.name)) rows.set(planned.name, { planned });
  }
  if (pace.isOver) await pace.turn();
  return [...rows.keys()].sort().flatMap((name) => rows.get(name) ?? []);
}

/** Plans are shared and never change. */
const requirersOfPlans = new WeakMap<Plan, ReadonlyMap<string, readonly string[]>>();

/** The resources that require each resource, by name. */
export function requirersOf(plan: Plan): ReadonlyMap<string, readonly string[]> {
  const known = requirersOfPlans.get(plan);
  if (known) return known;
  const index = new Map<string, string[]>();
  requirersOfPlans.set(plan, index);
  for (const { name, requires } of Object.values(plan.resources)) {
    for (const required of requires) {
      const list = index.get(required);
      if (list) list.push(name);
      else index.set(required, [name]);
    }
  }
  return index;
}

export function eventView(event: StoredEvent): StackEvent {
  return {
    id: event.id,
    stack_id: event.stack_id,
    stack_name: event.stack_name,
    sequence: event.sequence,
    time: event.time,
    resource_name: event.resource_name,
    resource_type: event.resource_type,
    physical_id: event.physical_id,
    action: event.action,
    status: event.status,
    reason: event.reason,
    ...(event.failure && { failure: event.failure }),
  };
}

/** Shows a map that is sealed as a whole as an empty map. */
const shownMap = (value: Json): JsonObject => (isObject(value) ? value : {});

/** `CREATE`, `IN_PROGRESS` → `CreateInProgress` */
const camel = (action: string, status: string): string =>
  `${action}_${status}`
    .toLowerCase()
    .split('_')
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('');
