/**
 * Rolling groups: at most one batch of members is made or changed at a time. A batch ends when all its members are
 * done; the next one begins after the pause, which is a durable timer. Unchanged members need no batch.
 */
import { timeAfter } from '@anneal/contracts/readers/duration.ts';
import type { PlanRolling } from '@anneal/contracts/plan.ts';
import type { Graph, State } from '../state.ts';
import { addEffect, changeStack, type Transaction } from '../transaction.ts';

/** Whether this member may be worked on now. If not, it is queued until the next batch begins. */
export function joinsBatch(transaction: Transaction, name: string, exists: boolean): boolean {
  const { state } = transaction;
  if (!rolls(state, name) || state.stack.batch?.members.includes(name)) return true;
  if (waitsForBatch(transaction, name, exists)) return false;
  const batch = state.stack.batch ?? { members: [], until: null, retiring: false };
  changeStack(transaction, { batch: { ...batch, members: [...batch.members, name] } });
  return true;
}

/**
 * Whether the batch has no room for this member, whatever its change is. Call it before the member is evaluated: in a
 * group of a thousand members and batches of one, each member would be evaluated a thousand times.
 */
export function waitsForBatch({ state }: Transaction, name: string, exists: boolean): boolean {
  const { batch } = state.stack;
  const { rolling } = state.plan;
  if (!batch || !rolling || !rolls(state, name) || batch.members.includes(name)) return false;
  if (batch.until === null && batch.members.length < roomFor(state.graph as Graph, rolling, exists)) return false;
  state.graph?.queued.add(name);
  return true;
}

const rolls = ({ graph }: State, name: string): boolean =>
  graph !== undefined && graph.rolling.has(name) && !graph.temporary.has(name);

/** Size of the batch. Creating a member does not reduce capacity, so only `batch_size` limits it. */
function roomFor({ rolling, temporary }: Graph, plan: PlanRolling, exists: boolean): number {
  if (!exists) return plan.batch_size;
  let members = rolling.size;
  for (const name of temporary) if (!rolling.has(name)) members += 1;
  return Math.max(1, Math.min(plan.batch_size, members - plan.min_in_service));
}

/** Handles a finished member. After the last one of the batch, the next batch begins, now or after the pause. */
export function leaveBatch(transaction: Transaction): void {
  const { state, tools } = transaction;
  const graph = state.graph as Graph;
  const { batch } = state.stack;
  if (!batch || batch.members.length === 0 || !batch.members.every((name) => graph.current.has(name))) return;
  const pause = state.plan.rolling?.pause_seconds ?? 0;
  // Ask the graph, not the queue: after a restart the queue may not have all members again.
  if (pause === 0 || [...graph.rolling].every((name) => graph.current.has(name))) {
    changeStack(transaction, { batch: { ...batch, members: [] } });
    releaseQueued(transaction);
    return;
  }
  const until = timeAfter(tools.now, pause);
  changeStack(transaction, { batch: { ...batch, members: [], until } });
  addEffect(transaction, { kind: 'timer', timer: { kind: 'batch' }, at: until, traversal: state.stack.traversal });
}

/** Ends the pause between two batches. A timer that comes too early sets itself again. */
export function endPause(transaction: Transaction): void {
  const { batch, traversal } = transaction.state.stack;
  if (batch?.until === null || batch?.until === undefined) return;
  // A duplicate timer of an earlier pause.
  if (Date.parse(batch.until) > transaction.tools.now) {
    addEffect(transaction, { kind: 'timer', timer: { kind: 'batch' }, at: batch.until, traversal });
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
