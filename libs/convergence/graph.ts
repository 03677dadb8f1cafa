/**
 * The graph: which node may be worked on now.
 *
 * Update nodes, one per resource of the plan: ready when the update nodes of all that it requires are done. Clean-up
 * nodes, one per incarnation that the plan does not want: ready when no incarnation that exists uses it. Since what a
 * dependent uses is only rewritten once it has been updated, and its own incarnation only vanishes once it is deleted,
 * the second rule alone gives Heat's order: replacement up, dependents moved, original deleted, the reverse of creation.
 * A visit (check, suspend, resume, snapshot) has one node per incarnation that stands for a name, and no clean-up nodes.
 *
 * Doneness is not stored. A node is done when its resource is COMPLETE and equal to what the plan says now, so a graph
 * that is built again after a restart finds its place by looking, and what is unchanged is never written.
 */
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import { visitCleanup } from './cleanup-node.ts';
import { finishIfDone } from './finish.ts';
import { doom } from './node.ts';
import { factsOf } from './plan-facts.ts';
import { isVisit, representative, type ResourceDocument } from './documents.ts';
import type { Queue, State } from './state.ts';
import type { Transaction } from './transaction.ts';
import { visitUpdate } from './update-node.ts';
import { visitNode } from './visit.ts';

/** Works off what may be ready, until nothing more can be done without an answer from outside. */
export function advance(transaction: Transaction): void {
  const { state, tools } = transaction;
  do {
    if (state.stack.phase === 'converging' && !state.graph) buildGraph(transaction);
    // What finds no room stays in the queues: an answer makes room, and the next step goes on here.
    while (state.stack.phase === 'converging' && state.inFlight.size < tools.limit) {
      const id = shift(state.ready.cleanups);
      if (id !== undefined) {
        visitCleanup(transaction, id);
        continue;
      }
      const node = shift(state.ready.updates);
      if (node === undefined) break;
      if (isVisit(state.stack.action)) visitNode(transaction, node);
      else visitUpdate(transaction, node);
    }
  } while (finishIfDone(transaction));
}

/** By index, not by `shift`: thousands may become ready in one step. */
function shift(queue: Queue): string | undefined {
  if (queue.head < queue.items.length) return queue.items[queue.head++];
  queue.items.length = 0;
  queue.head = 0;
  return undefined;
}

function buildGraph(transaction: Transaction): void {
  const { state } = transaction;
  for (const queue of [state.ready.updates, state.ready.cleanups]) {
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
    // The temporary members are gone for good once they are no longer needed.
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
  };
  for (const resource of state.resources.values()) if (!waiting.has(resource.name)) doom(state, resource.id);
}

/** Who joins a batch is who comes first: members come in the order in which the plan has them roll. */
function inOrder(plan: Plan): readonly PlanResource[] {
  const { entries } = factsOf(plan);
  if (!plan.rolling) return entries;
  const place = new Map(plan.rolling.members.map((name, index) => [name, index]));
  return entries.toSorted((a, b) => (place.get(a.name) ?? -1) - (place.get(b.name) ?? -1));
}

function buildVisit(state: State): void {
  const nodes: ResourceDocument[] = [];
  for (const ids of state.byName.values()) {
    const standing = representative([...ids].flatMap((id) => state.resources.get(id) ?? []));
    if (standing && standing.action !== 'DELETE' && standing.action !== 'INIT') nodes.push(standing);
  }
  const waiting = new Map(nodes.map(({ id }) => [id, 0]));
  const dependents = new Map<string, string[]>();
  for (const { id, requires } of nodes) {
    for (const required of new Set(requires)) {
      if (!waiting.has(required)) continue;
      // What is suspended goes before what it stands on; all else after it.
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
  };
}

const requiredNames = (state: State, { name, requires }: PlanResource): string[] =>
  requires.length === 0 ? [] : requires.filter((other) => other !== name && Object.hasOwn(state.plan.resources, other));
