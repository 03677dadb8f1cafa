/** What happens to a node of the graph: it is looked at again, it is done, or its incarnation is not wanted any more. */
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { leaveBatch } from './rolling.ts';
import { isVisit, type ResourceDocument } from './documents.ts';
import type { Graph, State } from './state.ts';
import type { Transaction } from './transaction.ts';

/** The answer for this incarnation is in, or another thing happened to it: look at its nodes again. */
export function revisit({ state }: Transaction, resource: ResourceDocument): void {
  if (isVisit(state.stack.action)) state.ready.updates.items.push(resource.id);
  else if (state.doomed.has(resource.id)) state.ready.cleanups.items.push(resource.id);
  else state.ready.updates.items.push(resource.name);
}

/** A node is done, and this incarnation stands for it: what waited for it may be ready. */
export function markDone(transaction: Transaction, node: string, id: string): void {
  const { state } = transaction;
  const graph = state.graph as Graph;
  if (graph.current.has(node)) return;
  graph.current.set(node, id);
  for (const dependent of graph.dependents.get(node) ?? []) {
    const left = (graph.waiting.get(dependent) ?? 0) - 1;
    graph.waiting.set(dependent, left);
    if (left === 0) state.ready.updates.items.push(dependent);
  }
  if (graph.rolling.has(node)) leaveBatch(transaction);
  if (keepsWayBack(state) && allNew(graph)) state.ready.cleanups.items.push(...state.doomed);
}

/**
 * Who wants to go back when something fails keeps what stands until everything new does: nothing is deleted while a
 * leaf may still fail, so that the originals are there to be taken up again as they were. Groups inside others never go
 * back by themselves, and clean up as they go.
 */
export function mustStay({ state }: Transaction): boolean {
  return keepsWayBack(state) && state.graph !== undefined && !allNew(state.graph);
}

const keepsWayBack = ({ stack }: State): boolean =>
  stack.on_failure !== 'keep' && stack.parent === null && (stack.action === 'UPDATE' || stack.action === 'RESTORE');

const allNew = (graph: Graph): boolean => graph.current.size === graph.waiting.size;

/**
 * Whether an entry of the plan has to wait until what has its name is gone: it says that a replacement is made
 * afterwards. All that stands in its place is deleted, whoever uses it: they follow once the new one is there.
 */
export function waitsForPlace({ state }: Transaction, { name, replacement }: PlanResource, keep?: string): boolean {
  if (replacement !== 'delete_first') return false;
  const others = [...(state.byName.get(name) ?? [])].filter((id) => id !== keep);
  for (const id of others) {
    state.graph?.first.add(id);
    doom(state, id);
  }
  return others.length > 0;
}

export function doom(state: State, id: string): void {
  state.doomed.add(id);
  state.ready.cleanups.items.push(id);
}
