/** Changes of a graph node: it is queued again, it is done, or its incarnation is doomed. */
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { leaveBatch } from './rolling.ts';
import { isVisit, type ResourceDocument } from '../documents.ts';
import type { Graph, State } from '../state.ts';
import type { Transaction } from '../transaction.ts';

/** Queues the node of an incarnation again, because it changed, for example by a response. */
export function revisit({ state }: Transaction, resource: ResourceDocument): void {
  if (isVisit(state.stack.action)) state.ready.updates.items.push(resource.id);
  else if (state.doomed.has(resource.id)) state.ready.cleanups.items.push(resource.id);
  else state.ready.updates.items.push(resource.name);
}

/** Marks a node as done, with its current incarnation: its dependents may be ready now. */
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
 * Stacks that may roll back keep the originals until every new resource is complete. Nothing is deleted while a leaf
 * may still fail, so that a rollback can use the originals again as they were. Nested stacks never roll back by
 * themselves, and clean up immediately.
 */
export function mustStay({ state }: Transaction): boolean {
  return keepsWayBack(state) && state.graph !== undefined && !allNew(state.graph);
}

const keepsWayBack = ({ stack }: State): boolean =>
  stack.on_failure !== 'keep' && stack.parent === null && (stack.action === 'UPDATE' || stack.action === 'RESTORE');

const allNew = (graph: Graph): boolean => graph.current.size === graph.waiting.size;

/**
 * Whether a plan entry with `delete_first` has to wait until all other incarnations of its name are deleted. They are
 * deleted even while other resources use them: the users are updated once the new incarnation exists.
 */
export function waitsForPlace({ state }: Transaction, { name, replacement }: PlanResource, keep?: string): boolean {
  if (replacement !== 'delete_first') return false;
  const others = [...(state.byName.get(name) ?? [])].filter((id) => id !== keep);
  for (const id of others) {
    state.graph?.first.add(id);
    markForDeletion(state, id);
  }
  return others.length > 0;
}

/** Adds the clean-up node of an incarnation and queues it. Repeats are harmless. */
export function markForDeletion(state: State, id: string): void {
  state.doomed.add(id);
  state.ready.cleanups.items.push(id);
}
