/** The end of a traversal. */
import type { Failure } from '@anneal/contracts/errors.ts';
import { usedNames } from '@anneal/contracts/plan.ts';
import type { ScalingReport } from '../protocol.ts';
import { beginRollback, cancelTimers } from './begin.ts';
import { failureReason } from '../node/failure.ts';
import { answerParent } from '../nested.ts';
import { markForDeletion } from '../node/node.ts';
import { factsOf } from '../plan-facts.ts';
import { goesToNothing, isVisit, type Scaling, type StackAction } from '../documents.ts';
import { addEffect, announceStack, changeStack, setGroupTimers, type Transaction } from '../transaction.ts';
import { dropWaits } from '../node/wait.ts';

/**
 * Ends the traversal when nothing is left to do, or, after a failure, when nothing is in flight any more. True when
 * there is new work: a rollback has begun, or the temporary members of a group may be deleted.
 */
export function finishIfDone(transaction: Transaction): boolean {
  const { state } = transaction;
  const { phase, status } = state.stack;
  if (phase === 'draining') {
    // A rollback awaits each request in flight at its own resource.
    if (status === 'IN_PROGRESS' && rollsBack(transaction)) return fail(transaction, failureReason(transaction));
    if (state.inFlight.size > 0) return false;
    if (status === 'IN_PROGRESS') return fail(transaction, failureReason(transaction));
    // A cancelled action, which reported its end when it was cancelled.
    cancelTimers(transaction);
    changeStack(transaction, { phase: 'idle', deadline: null });
    return false;
  }
  const graph = state.graph;
  if (phase !== 'converging' || !graph || state.inFlight.size > 0) return false;
  if (graph.current.size === graph.waiting.size && state.doomed.size === 0) {
    if (retire(transaction)) return true;
    if (state.stack.action === 'CHECK' && state.stack.failures.length > 0)
      return fail(transaction, failureReason(transaction));
    succeed(transaction);
    return false;
  }
  if (state.held.size > 0 || (state.stack.batch?.until ?? null) !== null) return false;
  // Unreachable by design. If a defect leads here, the stack must fail and not hang.
  const stuck = [...graph.waiting.keys()].filter((name) => !graph.current.has(name)).slice(0, 5);
  const left = stuck.join(', ') || [...state.doomed].slice(0, 5).join(', ');
  endTraversal(transaction, {
    status: 'FAILED',
    reason: `Defect: nothing runs and nothing can start; left are ${left}.`,
  });
  return false;
}

/** Begins to delete the temporary members of a rolling group, once all other members are done. */
function retire(transaction: Transaction): boolean {
  const { state } = transaction;
  const { temporary = [] } = state.plan.rolling ?? {};
  const { batch, traversal } = state.stack;
  if (temporary.length === 0 || batch?.retiring || isVisit(state.stack.action)) return false;
  // After a restart a pause may begin before the last members are found to be done.
  if (batch?.until) addEffect(transaction, { kind: 'cancel timer', timer: { kind: 'batch' }, traversal });
  changeStack(transaction, { batch: { members: [], until: null, retiring: true } });
  for (const name of temporary) {
    state.graph?.waiting.delete(name);
    state.graph?.current.delete(name);
    for (const id of state.byName.get(name) ?? []) markForDeletion(state, id);
  }
  return true;
}

function succeed(transaction: Transaction): void {
  const { state } = transaction;
  const { action } = state.stack;
  if (action === 'DELETE') {
    changeStack(transaction, { complete: null, deleted_at: transaction.now, live_name: state.stack.id });
  } else if (!isVisit(action) && !goesToNothing(state.stack)) {
    changeStack(transaction, { complete: state.stack.target, completed_at: transaction.now });
    state.complete = state.plan;
  }
  const partial =
    action === 'CHECK' && [...state.resources.values()].some(({ reason }) => reason.startsWith('CHECK not '));
  endTraversal(transaction, {
    status: 'COMPLETE',
    reason: `Stack ${action} completed successfully${partial ? ". 'CHECK' not fully supported (see resources)" : ''}`,
  });
  const { hooked, renewed } = factsOf(state.plan);
  const isRenewing = renewed || [...state.resources.values()].some(({ used }) => used?.includes(usedNames.renewed));
  if (!isVisit(action) && !state.plan.rolling && !hooked && !isRenewing) state.settled = state.stack.target.plan;
}

const towardsPlan: readonly StackAction[] = ['CREATE', 'UPDATE', 'ADOPT', 'RESTORE'];

/** Whether a failure begins a rollback. A nested stack never rolls back by itself: its parent stack does. */
const rollsBack = ({ state: { stack } }: Transaction): boolean =>
  stack.on_failure === 'rollback' && stack.parent === null && towardsPlan.includes(stack.action);

/** Fails the traversal: it rolls back, pauses or ends, as its failure policy says. True when a rollback begins. */
export function fail(transaction: Transaction, reason: string): boolean {
  const { state } = transaction;
  const { action, on_failure, parent } = state.stack;
  if (rollsBack(transaction)) {
    changeStack(transaction, { status: 'FAILED', reason });
    announceStack(transaction, { failure: state.stack.failures[0]?.failure });
    beginRollback(transaction, { keepFailures: true });
    return true;
  }
  if (on_failure === 'pause' && parent === null && towardsPlan.includes(action) && state.stack.failures.length > 0) {
    changeStack(transaction, { phase: 'paused', reason, deadline: null });
    cancelTimers(transaction);
    announceStack(transaction, { failure: state.stack.failures[0]?.failure });
    return false;
  }
  endTraversal(transaction, { status: 'FAILED', reason });
  return false;
}

/**
 * Ends the running traversal: waits, timers and marks are removed, and the parent stack and a snapshot are answered.
 */
export function endTraversal(
  transaction: Transaction,
  how: { status: 'COMPLETE' | 'FAILED'; reason: string; cancelled?: true },
): void {
  const { state } = transaction;
  const { snapshot, failures, inherited, scaling } = state.stack;
  const failure = how.status === 'FAILED' ? failures[inherited]?.failure : undefined;
  dropWaits(transaction);
  cancelTimers(transaction);
  changeStack(transaction, {
    phase: 'idle',
    status: how.status,
    reason: how.reason,
    finished_at: transaction.now,
    ...(how.cancelled && { cancelled: true }),
    deadline: null,
    ...(how.status === 'COMPLETE' && { adopt: null }),
    observe: false,
    batch: null,
    snapshot: null,
    ...(scaling && { scaling: null }),
  });
  state.graph = undefined;
  state.doomed.clear();
  announceStack(transaction, { failure, ...(scaling && { scaling: [endOf(scaling, how, failure)] }) });
  if (scaling?.follows) setGroupTimers(transaction, [{ wait: { kind: 'next' }, at: transaction.now }]);
  if (snapshot) addEffect(transaction, { kind: 'snapshot', snapshot, status: how.status, reason: how.reason });
  answerParent(transaction);
}

function endOf(
  scaling: Scaling,
  { status, reason }: { status: 'COMPLETE' | 'FAILED'; reason: string },
  failure: Failure = { code: 'ResourceFailed', message: reason },
): ScalingReport {
  return status === 'COMPLETE' ? { ...scaling, stage: 'completed' } : { ...scaling, stage: 'failed', failure };
}
