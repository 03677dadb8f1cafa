/**
 * In-memory state of one stack: its documents, and the indexes that are derived from them.
 *
 * After the loss of a `State`, load the documents again: the next step continues from there. The indexes keep the cost
 * of a step proportional to the number of changes.
 */
import type { Plan } from '@anneal/contracts/plan.ts';
import { goesToNothing, type ResourceDocument, type StackDocument } from './documents.ts';
import { weigh, weightAdded } from './size.ts';

/**
 * The nodes of a traversal that are worked on in the order of requirements: update nodes, by name, or in a visit, by id.
 * `waiting` has, for each node, the number of its requirements that are not done yet.
 */
export interface Graph {
  readonly waiting: Map<string, number>;
  readonly dependents: ReadonlyMap<string, readonly string[]>;
  /** Nodes that are done, and the incarnation that each resulted in. */
  readonly current: Map<string, string>;
  /** Members of a rolling group; those that wait for the next batch; members that exist only during the update. */
  readonly rolling: ReadonlySet<string>;
  readonly queued: Set<string>;
  readonly temporary: ReadonlySet<string>;
  /** Incarnations that are deleted before their replacement is made, though others use them. */
  readonly first: Set<string>;
  /** Nodes whose request is in flight as the plan wants it, and the incarnation of each: see `graph/ahead.ts`. */
  readonly ahead: Map<string, string>;
}

/** Nodes that may be ready, taken from the front. A node may be in it twice: a second look does no harm. */
export interface Queue {
  readonly items: string[];
  head: number;
}

/** A stack in memory: its documents, and indexes that the documents determine. */
export interface State {
  stack: StackDocument;
  /** The plan of the target; empty when the stack is deleted or rolls back a creation. */
  plan: Plan;
  /** The plan of the last complete target; undefined when there is none. */
  complete: Plan | undefined;
  readonly resources: Map<string, ResourceDocument>;
  /** Size of the data that users and providers put into the resources, in bytes. */
  bytes: number;
  /** Undefined until the next step builds it. */
  graph: Graph | undefined;
  readonly ready: { readonly updates: Queue; readonly cleanups: Queue; readonly ahead: Queue };
  /** The hash of the plan that all resources are known to match; null after any change. Not stored: a shortcut. */
  settled: string | null;
  readonly byName: Map<string, Set<string>>;
  /** Which incarnations use this one. */
  readonly requiredBy: Map<string, Set<string>>;
  readonly inFlight: Set<string>;
  /** Incarnations that wait at a hook. */
  readonly held: Set<string>;
  /** Incarnations that the plan does not want any more: the clean-up nodes. */
  readonly doomed: Set<string>;
}

/** A plan without resources: the goal of a deletion. */
export function emptyPlan(): Plan {
  return { format: 1, template_version: '', description: '', parameters: {}, resources: {}, outputs: {} };
}

/** The state of stored documents. Costs time linear in the resources. */
export function loadState(documents: {
  stack: StackDocument;
  resources: Iterable<ResourceDocument>;
  /** Plan of the target. */
  plan: Plan;
  /** Plan of the last complete target; may be left out when that is the current target. */
  complete?: Plan | undefined;
}): State {
  const { stack } = documents;
  const state: State = {
    stack,
    plan: goesToNothing(stack) ? emptyPlan() : documents.plan,
    complete: stack.complete?.plan === stack.target.plan ? documents.plan : documents.complete,
    resources: new Map(),
    bytes: 0,
    graph: undefined,
    ready: { updates: { items: [], head: 0 }, cleanups: { items: [], head: 0 }, ahead: { items: [], head: 0 } },
    settled: null,
    byName: new Map(),
    requiredBy: new Map(),
    inFlight: new Set(),
    held: new Set(),
    doomed: new Set(),
  };
  for (const resource of documents.resources) putResource(state, resource);
  return state;
}

/**
 * Call it before a step that may not count. The result makes the state of before from the documents that the step
 * changed, so that the next try reads nothing; the indexes are built again, as after loading.
 */
export function undoOf(state: State): (changed: ReadonlyMap<string, ResourceDocument | undefined>) => State {
  const { stack, plan, complete } = state;
  return (changed) => {
    const resources = new Map(state.resources);
    for (const [id, before] of changed) {
      if (before) resources.set(id, before);
      else resources.delete(id);
    }
    return { ...loadState({ stack, resources: resources.values(), plan }), plan, complete };
  };
}

/** Replaces the earlier version of a document, and updates the indexes. */
export function putResource(state: State, resource: ResourceDocument): void {
  const before = state.resources.get(resource.id);
  state.resources.set(resource.id, resource);
  state.bytes += weightAdded(before, resource);
  if (!before) addTo(state.byName, resource.name, resource.id);
  if (before?.requires !== resource.requires) {
    for (const id of before?.requires ?? []) removeFrom(state.requiredBy, id, resource.id);
    for (const id of resource.requires) addTo(state.requiredBy, id, resource.id);
  }
  if (resource.request) state.inFlight.add(resource.id);
  else state.inFlight.delete(resource.id);
  if (resource.hook) state.held.add(resource.id);
  else state.held.delete(resource.id);
}

/** Removes a document and its entries in the indexes. Repeats are harmless. */
export function dropResource(state: State, id: string): void {
  const resource = state.resources.get(id);
  if (!resource) return;
  state.resources.delete(id);
  state.bytes -= weigh(resource);
  state.inFlight.delete(id);
  state.held.delete(id);
  state.doomed.delete(id);
  removeFrom(state.byName, resource.name, id);
  for (const required of resource.requires) removeFrom(state.requiredBy, required, id);
}

function addTo(index: Map<string, Set<string>>, key: string, id: string): void {
  const found = index.get(key);
  if (found) found.add(id);
  else index.set(key, new Set([id]));
}

function removeFrom(index: Map<string, Set<string>>, key: string, id: string): void {
  const found = index.get(key);
  if (!found?.delete(id)) return;
  if (found.size === 0) index.delete(key);
}
