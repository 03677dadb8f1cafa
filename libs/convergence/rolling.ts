/**
 * Rolling groups: of the members that have to be made or changed, at most a batch at a time. A batch ends when all its
 * members are done; the next begins after the pause, which is a durable timer. What is unchanged passes at any time.
 */
import type { Graph } from './state.ts';
import { addEffect, changeStack, type Transaction } from './transaction.ts';

/** Whether this member may be worked on now. If not, it is looked at again when the next batch begins. */
export function joinsBatch(transaction: Transaction, name: string, exists: boolean): boolean {
  const { state } = transaction;
  const graph = state.graph as Graph;
  const { rolling } = state.plan;
  if (!rolling || !graph.rolling.has(name) || graph.temporary.has(name)) return true;
  const batch = state.stack.batch ?? { members: [], until: null, retiring: false };
  if (batch.members.includes(name)) return true;
  // One that is not there yet serves nobody: making it takes nothing from those that do.
  const spare = new Set([...graph.rolling, ...graph.temporary]).size - rolling.min_in_service;
  const size = exists ? Math.max(1, Math.min(rolling.batch_size, spare)) : rolling.batch_size;
  if (batch.until !== null || batch.members.length >= size) {
    graph.queued.add(name);
    return false;
  }
  changeStack(transaction, { batch: { ...batch, members: [...batch.members, name] } });
  return true;
}

/** A member is done: when it was the last of its batch, the next one begins, now or after the pause. */
export function leaveBatch(transaction: Transaction): void {
  const { state, tools } = transaction;
  const graph = state.graph as Graph;
  const { batch } = state.stack;
  if (!batch || batch.members.length === 0 || !batch.members.every((name) => graph.current.has(name))) return;
  const pause = state.plan.rolling?.pause_seconds ?? 0;
  // By what is not done, not by who is queued: after a restart not all have been looked at again.
  if (pause === 0 || [...graph.rolling].every((name) => graph.current.has(name))) {
    changeStack(transaction, { batch: { ...batch, members: [] } });
    releaseQueued(transaction);
    return;
  }
  const until = new Date(tools.now + pause * 1000).toISOString();
  changeStack(transaction, { batch: { ...batch, members: [], until } });
  addEffect(transaction, { kind: 'timer', timer: 'batch', at: until, traversal: state.stack.traversal });
}

export function endPause(transaction: Transaction): void {
  const { batch, traversal } = transaction.state.stack;
  if (batch?.until === null || batch?.until === undefined) return;
  // The timer of an earlier pause, come again.
  if (Date.parse(batch.until) > transaction.tools.now) {
    addEffect(transaction, { kind: 'timer', timer: 'batch', at: batch.until, traversal });
    changeStack(transaction, {});
    return;
  }
  changeStack(transaction, { batch: { ...batch, until: null } });
  releaseQueued(transaction);
}

function releaseQueued({ state }: Transaction): void {
  const queued = state.graph?.queued;
  if (!queued) return;
  for (const name of queued) state.ready.updates.items.push(name);
  queued.clear();
}
