/** How a traversal ends, and how a leaf fails. */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { ResourceDocument, ResourceState } from './state.ts';
import {
  addEffect,
  announceResource,
  announceStack,
  changeResource,
  changeStack,
  type Transaction,
} from './transaction.ts';

/** Every text and list that is kept is bounded: a failed write of a long reason must never hold a stack. */
export const reasonLimit = 4096;
const messageLimit = 16_384;
const failureLimit = 100;

export const leafReason = (resource: string, failure: Failure): string =>
  `${failure.code}: resources.${/^\d+$/.test(resource) ? `[${resource}]` : resource}: ${failure.message}`.slice(
    0,
    reasonLimit,
  );

/** Marks a resource as failed. The traversal fails with it when it was this traversal that wanted it. */
export function failLeaf(
  transaction: Transaction,
  id: string,
  how: { action: ResourceState; failure: Failure; attempted?: ResourceDocument['attempted']; traversal?: string },
): void {
  const { state, now } = transaction;
  const before = state.resources.get(id);
  if (!before) return;
  const failure = { ...how.failure, message: how.failure.message.slice(0, messageLimit) };
  const failed = changeResource(transaction, id, {
    // A leaf that could not even be asked for failed to be created.
    action: how.action === 'INIT' ? 'CREATE' : how.action,
    status: 'FAILED',
    reason: leafReason(before.name, failure),
    failure,
    request: null,
    finished_at: now,
    traversal: state.stack.traversal,
    ...(how.attempted !== undefined && { attempted: how.attempted }),
  });
  announceResource(transaction, failed);
  if (state.stack.phase === 'idle' || (how.traversal ?? state.stack.traversal) !== state.stack.traversal) return;
  changeStack(transaction, {
    phase: 'draining',
    failures: [...state.stack.failures, { resource: failed.name, type: failed.type, failure }].slice(0, failureLimit),
  });
}

/** Ends the traversal when nothing is left to do, or, after a failure, when nothing runs any more. */
export function finishIfDone(transaction: Transaction): void {
  const { state } = transaction;
  if (state.stack.phase === 'idle' || state.inFlight.size > 0) return;
  if (state.stack.phase === 'draining') {
    const [first] = state.stack.failures;
    end(transaction, {
      status: 'FAILED',
      reason: first
        ? `Resource ${failedAction(transaction, first.resource)} failed: ${leafReason(first.resource, first.failure)}`.slice(
            0,
            reasonLimit,
          )
        : `Stack ${state.stack.action} failed`,
    });
    return;
  }
  const graph = state.graph;
  if (!graph) return;
  if (graph.current.size === graph.waiting.size && state.doomed.size === 0) {
    const deleted = state.stack.action === 'DELETE';
    changeStack(transaction, {
      complete: deleted ? null : state.stack.target,
      ...(deleted && { deleted_at: transaction.now, live_name: state.stack.id }),
    });
    end(transaction, { status: 'COMPLETE', reason: `Stack ${state.stack.action} completed successfully` });
    return;
  }
  // No rule leads here; were one to, the stack must fail and not hang.
  const stuck = [...graph.waiting.keys()].filter((name) => !graph.current.has(name)).slice(0, 5);
  changeStack(transaction, { failures: [] });
  end(transaction, {
    status: 'FAILED',
    reason: `Defect: nothing runs and nothing can start; left are ${stuck.join(', ') || [...state.doomed].slice(0, 5).join(', ')}.`,
  });
}

export function end(transaction: Transaction, how: { status: 'COMPLETE' | 'FAILED'; reason: string }): void {
  const { state } = transaction;
  const [first] = state.stack.failures;
  changeStack(transaction, { phase: 'idle', status: how.status, reason: how.reason, deadline: null });
  state.graph = undefined;
  state.doomed.clear();
  cancelTimers(transaction);
  announceStack(transaction, how.status === 'FAILED' ? first?.failure : undefined);
}

export function cancelTimers(transaction: Transaction): void {
  const { action, traversal } = transaction.state.stack;
  addEffect(transaction, { kind: 'cancel timer', timer: 'deadline', traversal });
  if (action === 'DELETE') addEffect(transaction, { kind: 'cancel timer', timer: 'grace', traversal });
}

function failedAction({ state }: Transaction, name: string): string {
  for (const id of state.byName.get(name) ?? []) {
    const resource = state.resources.get(id);
    if (resource?.status === 'FAILED') return resource.action;
  }
  return state.stack.action;
}
