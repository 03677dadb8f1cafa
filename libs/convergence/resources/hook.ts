/** The end of a wait at a hook: a client completes it, or its deadline passes. The hooks themselves: `wait.ts`. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { failLeaf } from '../node/failure.ts';
import { revisit } from '../node/node.ts';
import type { ResourceDocument, ExternalWait } from '../documents.ts';
import { changeResource, changeStack, type Transaction } from '../transaction.ts';
import { announce, holdAt, isPlain, markPassed, setTimer } from '../node/wait.ts';

/** Clears a hook for a client. @throws AnnealError when the resource does not wait at it. */
export function clearHook(transaction: Transaction, resource: ResourceDocument, name: string): void {
  if (!isPlain(name)) throw new AnnealError('InvalidRequest', `Invalid hook type "${name}" for ${resource.name}`);
  if (resource.hook?.name !== name) {
    throw new AnnealError('InvalidRequest', `The "${name}" hook is not defined on ${resource.name}`);
  }
  pass(transaction, resource, resource.hook, { reason: `Hook ${name} is cleared`, result: 'continue' });
}

/**
 * Completes a lifecycle hook for a client. `abandon` fails the resource, unless it is being deleted. @throws
 * AnnealError Conflict when the resource does not wait for this hook with this token
 */
export function completeHook(
  transaction: Transaction,
  resource: ResourceDocument,
  given: { hook: string; token: string; result: 'continue' | 'abandon' },
): void {
  const hook = lifecycleOf(resource, given);
  finishWait(transaction, resource, hook, given.result, `Lifecycle hook ${hook.name}: ${given.result}`);
}

/**
 * Moves the deadline of a lifecycle hook by its heartbeat time, but never beyond the latest deadline of the wait.
 * @throws AnnealError Conflict when the resource does not wait for this hook with this token
 */
export function heartbeat(
  transaction: Transaction,
  resource: ResourceDocument,
  given: { hook: string; token: string },
): void {
  const hook = lifecycleOf(resource, given);
  const declared = resource.lifecycle_hooks.find(({ transition }) => transition === hook.name);
  const step = (declared?.heartbeat_timeout ?? 0) * 1000;
  const at = Math.min(transaction.tools.now + step, Date.parse(hook.last ?? hook.since));
  const moved = { ...hook, deadline: new Date(at).toISOString() };
  setTimer(transaction, changeResource(transaction, resource.id, { hook: moved }), moved);
}

function lifecycleOf(resource: ResourceDocument, given: { hook: string; token: string }): ExternalWait {
  const { hook } = resource;
  if (hook?.kind === 'lifecycle' && hook.name === given.hook && hook.token === given.token) return hook;
  throw new AnnealError('Conflict', `${resource.name} does not wait for ${given.hook} with this token.`);
}

/** Handles the timer of a wait. Heartbeats may have moved the deadline since the timer was set. */
export function hookTimer(transaction: Transaction, resource: ResourceDocument, token: string): void {
  const { hook } = resource;
  if (!hook || hook.token !== token || hook.deadline === null) return;
  if (Date.parse(hook.deadline) > transaction.tools.now) {
    setTimer(transaction, resource, hook);
    // Makes the step record the new timer: the clock of the process that fired the old one may have been ahead.
    changeStack(transaction, {});
    return;
  }
  const result = hook.default ?? 'abandon';
  finishWait(transaction, resource, hook, result, `Lifecycle hook ${hook.name} timed out: ${result}`);
}

function finishWait(
  transaction: Transaction,
  resource: ResourceDocument,
  hook: ExternalWait,
  result: 'continue' | 'abandon',
  reason: string,
): void {
  pass(transaction, resource, hook, { reason, result });
  // The resource counts as created only now.
  if (hook.name === 'launching' && result === 'continue') {
    const launched = transaction.state.resources.get(resource.id);
    if (launched) holdAt(transaction, launched, 'post-create');
  }
  // The deletion continues, whatever the result was.
  if (result === 'continue' || hook.name === 'terminating') return;
  failLeaf(transaction, resource.id, {
    action: hook.name === 'updating' ? 'UPDATE' : 'CREATE',
    failure: { code: 'ResourceFailed', message: `${reason}.` },
  });
}

function pass(
  transaction: Transaction,
  resource: ResourceDocument,
  hook: ExternalWait,
  how: { reason: string; result: 'continue' | 'abandon' },
): void {
  const passed = markPassed(transaction, resource, hook.name);
  announce(transaction, passed, hook, { state: 'cleared', ...how });
  revisit(transaction, passed);
}
