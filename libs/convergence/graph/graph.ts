/**
 * The graph: which node may be worked on now.
 *
 * Update nodes, one per resource of the plan: ready when the update nodes of all that it requires are done. Clean-up
 * nodes, one per incarnation that the plan does not want: ready when no existing incarnation uses it. The requirements
 * of a dependent are only rewritten once it is updated, and its own incarnation only vanishes once it is deleted. So
 * the second rule alone gives Heat's order: replacement up, dependents moved, original deleted, the reverse of creation.
 * An update node whose requirements are in flight in one queue of a provider may be sent before it is ready: `ahead.ts`.
 * A visit (check, suspend, resume, snapshot) has one node per name, for its current incarnation, and no clean-up nodes.
 *
 * Doneness is not stored. A node is done when its resource is COMPLETE and matches the current plan. So a graph that is
 * rebuilt after a restart finds its place by looking at the resources, and unchanged resources are never written.
 */
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import { lookAhead, reviewInFlight, visitAhead } from './ahead.ts';
import { visitCleanup } from './cleanup-node.ts';
import { finishIfDone } from '../traversal/finish.ts';
import { markForDeletion } from '../node/node.ts';
import { factsOf } from '../plan-facts.ts';
import { isVisit, representative, type ResourceDocument } from '../documents.ts';
import type { Tools } from '../protocol.ts';
import type { Queue, State } from '../state.ts';
import type { Transaction } from '../transaction.ts';
import { visitUpdate } from './update-node.ts';
import { visitNode } from './visit.ts';

/** Visited nodes that cost as much as one changed document. Most visits find that nothing changed. */
const visitsPerChange = 8;

/** Works through the nodes that may be ready, until further work needs an input, or this step has done its part. */
export function advance(transaction: Transaction): void {
  const { state, tools } = transaction;
  do {
    if (state.stack.phase === 'converging' && !state.graph) buildGraph(transaction);
    // Nodes over the limit stay in the queues: a response makes room, and the next step continues here.
    while (state.stack.phase === 'converging' && state.inFlight.size < tools.limit) {
      if (hasDoneItsPart(transaction) && isPartial(state, tools)) return;
      transaction.visits += 1;
      const id = shift(state.ready.cleanups);
      if (id !== undefined) {
        visitCleanup(transaction, id);
        continue;
      }
      const node = shift(state.ready.updates);
      if (node === undefined) {
        const ahead = shift(state.ready.ahead);
        if (ahead === undefined) break;
        visitAhead(transaction, ahead);
        continue;
      }
      if (isVisit(state.stack.action)) visitNode(transaction, node);
      else {
        visitUpdate(transaction, node);
        lookAhead(transaction, node);
      }
    }
  } while (finishIfDone(transaction));
}

function hasDoneItsPart({ changes, visits, tools: { most = Infinity } }: Transaction): boolean {
  return changes.resources.size + changes.removed.size >= most || visits >= most * visitsPerChange;
}

/** Whether a step without inputs may find a node to work on. */
export function isPartial(state: State, { limit }: Pick<Tools, 'limit'>): boolean {
  const { stack, graph, ready, inFlight } = state;
  if (stack.phase !== 'converging' || inFlight.size >= limit) return false;
  return !graph || isFilled(ready.updates) || isFilled(ready.cleanups) || isFilled(ready.ahead);
}

const isFilled = ({ head, items }: Queue): boolean => head < items.length;

/** By index, not by `shift`: thousands may become ready in one step. */
function shift(queue: Queue): string | undefined {
  if (queue.head < queue.items.length) return queue.items[queue.head++];
  queue.items.length = 0;
  queue.head = 0;
  return undefined;
}

function buildGraph(transaction: Transaction): void {
  const { state } = transaction;
  for (const queue of [state.ready.updates, state.ready.cleanups, state.ready.ahead]) {
    queue.items.length = 0;
    queue.head = 0;
  }
  state.doomed.clear();
  if (isVisit(state.stack.action)) buildVisit(state);
  else buildPlan(transaction);
}

function buildPlan(transaction: Transaction): void {
  const { state } = transaction;
  const { rolling } = state.plan;
  const retiring = state.stack.batch?.retiring === true;
  const temporary = new Set(rolling?.temporary ?? []);
  const waiting = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  const members = new Set(rolling?.members ?? []);
  for (const resource of inOrder(state.plan)) {
    // Temporary members are not made again once their deletion has begun.
    if (retiring && temporary.has(resource.name)) continue;
    const required = requiredNames(state, resource);
    if (!retiring && members.has(resource.name) && !temporary.has(resource.name)) required.push(...temporary);
    waiting.set(resource.name, required.length);
    if (required.length === 0) state.ready.updates.items.push(resource.name);
    for (const name of required) {
      const list = dependents.get(name);
      if (list) list.push(resource.name);
      else dependents.set(name, [resource.name]);
    }
  }
  state.graph = {
    waiting,
    dependents,
    current: new Map(),
    rolling: members,
    queued: new Set(),
    temporary,
    first: new Set(),
    ahead: new Map(),
  };
  for (const resource of state.resources.values()) if (!waiting.has(resource.name)) markForDeletion(state, resource.id);
  reviewInFlight(transaction);
}

/** Entries of the plan; group members in the order of the rolling update, because the first ones join the batch. */
function inOrder(plan: Plan): readonly PlanResource[] {
  const { entries } = factsOf(plan);
  if (!plan.rolling) return entries;
  const place = new Map(plan.rolling.members.map((name, index) => [name, index]));
  return entries.toSorted((a, b) => (place.get(a.name) ?? -1) - (place.get(b.name) ?? -1));
}

function buildVisit(state: State): void {
  const nodes: ResourceDocument[] = [];
  for (const ids of state.byName.values()) {
    const shown = representative([...ids].flatMap((id) => state.resources.get(id) ?? []));
    if (shown && shown.action !== 'DELETE' && shown.action !== 'INIT') nodes.push(shown);
  }
  const waiting = new Map(nodes.map(({ id }) => [id, 0]));
  const dependents = new Map<string, string[]>();
  for (const { id, requires } of nodes) {
    for (const required of new Set(requires)) {
      if (!waiting.has(required)) continue;
      // SUSPEND visits a resource before its requirements; all other visits go the other way.
      const [before, after] = state.stack.action === 'SUSPEND' ? [id, required] : [required, id];
      waiting.set(after, (waiting.get(after) ?? 0) + 1);
      const list = dependents.get(before);
      if (list) list.push(after);
      else dependents.set(before, [after]);
    }
  }
  for (const [id, count] of waiting) if (count === 0) state.ready.updates.items.push(id);
  const none = new Set<string>();
  state.graph = {
    waiting,
    dependents,
    current: new Map(),
    rolling: none,
    queued: new Set(),
    temporary: none,
    first: new Set(),
    ahead: new Map(),
  };
}

const requiredNames = (state: State, { name, requires }: PlanResource): string[] =>
  requires.length === 0 ? [] : requires.filter((other) => other !== name && Object.hasOwn(state.plan.resources, other));
