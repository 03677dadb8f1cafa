/**
 * The graph: which resource may be worked on now, and what has to be done with it.
 *
 * Update nodes, one per resource of the plan: ready when the update nodes of all that it requires are done. Clean-up
 * nodes, one per incarnation that the plan does not want: ready when no incarnation that exists uses it. Since what a
 * dependent uses is only rewritten once it has been updated, and its own incarnation only vanishes once it is deleted,
 * the second rule alone gives Heat's order: replacement up, dependents moved, original deleted, the reverse of creation.
 *
 * Doneness is not stored. A node is done when its resource is COMPLETE and equal to what the plan says now, so a graph
 * that is built again after a restart finds its place by looking, and what is unchanged is never written.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { failLeaf, finishIfDone } from './finish.ts';
import { physicalName } from './physical-name.ts';
import type { Comparison, Resolution } from './protocol.ts';
import type { Graph, PendingRequest, ResourceDocument } from './state.ts';
import {
  addEffect,
  announceResource,
  changeResource,
  insertResource,
  newId,
  removeResource,
  type Transaction,
} from './transaction.ts';

type Resolved = Extract<Resolution, { ok: true }>;

/** Builds the graph of the traversal and marks what may be ready. */
export function buildGraph(transaction: Transaction): void {
  const { state } = transaction;
  const waiting = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const resource of Object.values(state.plan.resources)) {
    const required = requiredNames(transaction, resource);
    waiting.set(resource.name, required.length);
    if (required.length === 0) transaction.updates.push(resource.name);
    for (const name of required) {
      const list = dependents.get(name);
      if (list) list.push(resource.name);
      else dependents.set(name, [resource.name]);
    }
  }
  state.graph = { waiting, dependents, current: new Map() };
  state.doomed.clear();
  for (const resource of state.resources.values()) {
    if (!waiting.has(resource.name)) doom(transaction, resource.id);
  }
}

/** Works off what may be ready, until nothing more can be done without an answer from outside. */
export function advance(transaction: Transaction): void {
  const { state, cleanups, updates } = transaction;
  if (state.stack.phase === 'converging' && !state.graph) buildGraph(transaction);
  // By index, not by shift: thousands may become ready in one step.
  let update = 0;
  let cleanup = 0;
  while (state.stack.phase === 'converging') {
    if (cleanup < cleanups.length) visitCleanup(transaction, cleanups[cleanup++] as string);
    else if (update < updates.length) visitUpdate(transaction, updates[update++] as string);
    else break;
  }
  cleanups.length = 0;
  updates.length = 0;
  finishIfDone(transaction);
}

/** The answer for this incarnation is in, or another thing happened to it: look at its nodes again. */
export function revisit(transaction: Transaction, resource: ResourceDocument): void {
  if (transaction.state.doomed.has(resource.id)) transaction.cleanups.push(resource.id);
  else transaction.updates.push(resource.name);
}

const requiredNames = ({ state }: Transaction, resource: PlanResource): string[] =>
  resource.requires.filter((name) => name !== resource.name && Object.hasOwn(state.plan.resources, name));

function doom(transaction: Transaction, id: string): void {
  transaction.state.doomed.add(id);
  transaction.cleanups.push(id);
}

function visitUpdate(transaction: Transaction, name: string): void {
  const { state, tools } = transaction;
  const graph = state.graph as Graph;
  const planned = Object.hasOwn(state.plan.resources, name) ? state.plan.resources[name] : undefined;
  if (!planned || graph.current.has(name) || (graph.waiting.get(name) ?? 0) > 0) return;

  const candidates = candidatesOf(transaction, name);
  const [only] = candidates;
  if (candidates.length === 1 && only?.request) return;

  const resolution = tools.resolve({
    plan: state.plan,
    resource: planned,
    stack: state.stack,
    peer: (peer) => state.resources.get(graph.current.get(peer) ?? ''),
  });
  if (!resolution.ok) {
    const failed =
      candidates.find(({ request }) => !request) ?? create(transaction, planned, { properties: {} }, only?.id ?? null);
    failLeaf(transaction, failed.id, {
      action: failed.action === 'INIT' || failed.action === 'CREATE' ? failed.action : 'UPDATE',
      failure: resolution.failure,
    });
    return;
  }

  const choice = choose(transaction, candidates, planned, resolution);
  if (!choice) {
    send(transaction, create(transaction, planned, resolution, null), 'create', resolution, []);
    return;
  }
  const { resource, comparison } = choice;
  if (resource.request) return;
  const anew = resource.must_replace || resource.action !== 'UPDATE' || tools.replaceFailed(resource.type);
  const failed = resource.status === 'FAILED' && anew;
  if (failed || comparison.verdict === 'replace' || (comparison.verdict === 'update' && resource.must_replace)) {
    replace(transaction, resource, planned, resolution);
  } else if (resource.status === 'FAILED') {
    // What the failed update left behind is unknown: all that it touched is sent again.
    const tried = resource.attempted
      ? tools.compare({ type: resource.type, before: resource.properties, after: resource.attempted })
      : comparison;
    send(transaction, resource, 'update', resolution, [...new Set([...changedOf(comparison), ...changedOf(tried)])]);
  } else if (comparison.verdict === 'update') {
    send(transaction, resource, 'update', resolution, comparison.changed);
  } else {
    settle(transaction, resource, planned, resolution);
  }
}

const changedOf = (comparison: Comparison): readonly string[] =>
  comparison.verdict === 'same' ? [] : comparison.changed;

/** Incarnations that could stand for a name. One whose deletion has begun is on its way out for good. */
function candidatesOf({ state }: Transaction, name: string): ResourceDocument[] {
  const candidates: ResourceDocument[] = [];
  for (const id of state.byName.get(name) ?? []) {
    const resource = state.resources.get(id);
    if (resource && resource.action !== 'DELETE') candidates.push(resource);
  }
  return candidates;
}

interface Choice {
  readonly resource: ResourceDocument;
  readonly comparison: Comparison;
}

/**
 * Of several incarnations the one that needs the least: an original whose replacement is under way is taken back when it
 * is already what the plan wants.
 */
function choose(
  { tools }: Transaction,
  candidates: readonly ResourceDocument[],
  planned: PlanResource,
  resolved: Resolved,
): Choice | undefined {
  const choices = candidates.map((resource): Choice & { rank: number } => {
    const comparison: Comparison =
      resource.type === planned.type
        ? tools.compare({ type: planned.type, before: resource.properties, after: resolved.properties })
        : { verdict: 'replace', changed: [] };
    const rank = resource.request
      ? 3
      : resource.status === 'FAILED'
        ? 0
        : { same: 4, update: 2, replace: 1 }[comparison.verdict];
    return { resource, comparison, rank };
  });
  return choices.sort((a, b) => b.rank - a.rank || b.resource.created_at.localeCompare(a.resource.created_at))[0];
}

/** A new incarnation, known and not yet created. */
function create(
  transaction: Transaction,
  planned: PlanResource,
  resolved: { properties: JsonObject; metadata?: Resolved['metadata'] },
  replaces: string | null,
): ResourceDocument {
  const { state, now } = transaction;
  const id = newId(transaction);
  const resource: ResourceDocument = {
    id,
    version: 1,
    stack_id: state.stack.id,
    name: planned.name,
    type: planned.type,
    action: 'INIT',
    status: 'COMPLETE',
    reason: '',
    physical_id: null,
    physical_name: physicalName({ stack: state.stack.name, resource: planned.name, type: planned.type, id }),
    attributes: {},
    properties: {},
    attempted: null,
    must_replace: false,
    metadata: resolved.metadata ?? {},
    description: planned.description ?? '',
    requires: currentRequires(transaction, planned),
    replaces,
    replaced_by: null,
    deletion_policy: planned.deletion_policy ?? 'Delete',
    external: false,
    source: null,
    digest: null,
    shown_at: 0,
    seen_at: 0,
    sequence: 0,
    skipped: null,
    hook: null,
    passed: null,
    hooks: planned.hooks ?? [],
    lifecycle_hooks: planned.lifecycle_hooks ?? [],
    drift: [],
    snapshot: null,
    plan: state.stack.target.plan,
    traversal: state.stack.traversal,
    fence: 0,
    request: null,
    failure: null,
    created_at: now,
    updated_at: now,
    started_at: null,
    finished_at: null,
  };
  insertResource(transaction, resource);
  return resource;
}

/** Create before delete: the original stays, and is cleaned up once its dependents have moved. */
function replace(
  transaction: Transaction,
  original: ResourceDocument,
  planned: PlanResource,
  resolved: Resolved,
): void {
  const replacement = create(transaction, planned, resolved, original.id);
  changeResource(transaction, original.id, { replaced_by: replacement.id });
  send(transaction, replacement, 'create', resolved, []);
}

function currentRequires({ state }: Transaction, planned: PlanResource): string[] {
  const current = (state.graph as Graph).current;
  return planned.requires.map((name) => current.get(name)).filter((id) => id !== undefined);
}

function send(
  transaction: Transaction,
  resource: ResourceDocument,
  action: PendingRequest['action'],
  resolved: Resolved,
  changed: readonly string[],
): void {
  const { state, now } = transaction;
  const fence = resource.fence + 1;
  const planned = state.plan.resources[resource.name];
  const requires = action === 'delete' || !planned ? resource.requires : currentRequires(transaction, planned);
  const union = [...new Set([...resource.requires, ...requires])];
  const sent = changeResource(transaction, resource.id, {
    action: action.toUpperCase() as 'CREATE' | 'UPDATE' | 'DELETE',
    status: 'IN_PROGRESS',
    reason: 'state changed',
    fence,
    failure: null,
    traversal: state.stack.traversal,
    plan: state.stack.target.plan,
    started_at: now,
    finished_at: null,
    ...(union.length !== resource.requires.length && { requires: union }),
    ...(action !== 'delete' && resolved.metadata !== undefined && { metadata: resolved.metadata }),
    request: {
      action,
      fence,
      traversal: state.stack.traversal,
      deadline: state.stack.deadline ?? now,
      properties: resolved.properties,
      changed,
      requires,
      digest: null,
      source: planned?.nested?.digest ?? null,
      seen_at: state.stack.clock,
      attempts: 0,
      not_before: null,
    },
  });
  addEffect(transaction, { kind: 'request', resource: resource.id, fence });
  announceResource(transaction, sent);
}

/** The update node is done: the resource is what the plan wants. */
function settle(transaction: Transaction, resource: ResourceDocument, planned: PlanResource, resolved: Resolved): void {
  const { state } = transaction;
  const graph = state.graph as Graph;
  const requires = currentRequires(transaction, planned);
  const patch: { -readonly [K in keyof ResourceDocument]?: ResourceDocument[K] } = {};
  if (!sameList(requires, resource.requires)) patch.requires = requires;
  if (resource.replaced_by !== null) patch.replaced_by = null;
  if (resource.must_replace) patch.must_replace = false;
  if (resource.deletion_policy !== (planned.deletion_policy ?? 'Delete')) {
    patch.deletion_policy = planned.deletion_policy ?? 'Delete';
  }
  if (resource.description !== (planned.description ?? '')) patch.description = planned.description ?? '';
  if (resolved.metadata !== undefined && JSON.stringify(resolved.metadata) !== JSON.stringify(resource.metadata)) {
    patch.metadata = resolved.metadata;
  }
  if (Object.keys(patch).length > 0) changeResource(transaction, resource.id, patch);

  graph.current.set(resource.name, resource.id);
  const others = state.byName.get(resource.name);
  if (others && others.size > 1) for (const id of others) if (id !== resource.id) doom(transaction, id);
  for (const dependent of graph.dependents.get(resource.name) ?? []) {
    const left = (graph.waiting.get(dependent) ?? 0) - 1;
    graph.waiting.set(dependent, left);
    if (left === 0) transaction.updates.push(dependent);
  }
}

function sameList(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}

function visitCleanup(transaction: Transaction, id: string): void {
  const { state } = transaction;
  const resource = state.resources.get(id);
  if (!resource || !state.doomed.has(id) || resource.request || state.requiredBy.has(id)) return;
  // Nobody outside has ever heard of it, or it is wanted to outlive us.
  if (resource.fence === 0 || resource.deletion_policy === 'Retain') {
    const gone = changeResource(transaction, id, {
      action: 'DELETE',
      status: 'COMPLETE',
      reason: 'state changed',
      failure: null,
      started_at: null,
    });
    announceResource(transaction, gone);
    removeResource(transaction, id);
    return;
  }
  send(transaction, resource, 'delete', { ok: true, properties: resource.properties }, []);
}
