/**
 * Hooks: points where a resource waits for a client to continue. The wait is stored in a document; no process waits.
 *
 * | hook                      | fires                                                              | then            |
 * | ------------------------- | ------------------------------------------------------------------ | --------------- |
 * | pre-create, post-create   | while the stack is created; a retry that recreates a failed one    | made; used      |
 * |                           | waits after it only                                                |                 |
 * | pre-update, post-update   | before the comparison with the plan, so also if unchanged;         | compared; used  |
 * |                           | after an update was applied; not after a replacement               |                 |
 * | pre-delete, post-delete   | while the stack is deleted                                         | deleted; gone   |
 * | launching (lifecycle)     | once it is made, before anything uses it, in any action; before    | post-create, or |
 * |                           | post-create, since this wait outlives the traversal                | failed          |
 * | updating (lifecycle)      | before it is updated in place                                      | updated, failed |
 * | terminating (lifecycle)   | before it is deleted, in any action                                | deleted         |
 * A lifecycle hook has a deadline. Heartbeats move it, up to a last one; after the deadline, the default result
 * applies. A wait belongs to its traversal and ends with it, except for `launching`, which belongs to the incarnation.
 * A member in a warm pool is not in service: it waits at `launching` when it enters, and never at `terminating`.
 */
import { timeAfter } from '@anneal/contracts/readers/duration.ts';
import type { LifecycleHook } from '@anneal/contracts/plan.ts';
import { isWarm, type ResourceDocument, type StackDocument, type ExternalWait } from '../documents.ts';
import { addEffect, announceResource, changeResource, newId, type Transaction } from '../transaction.ts';

const plainHooks = ['pre-create', 'post-create', 'pre-update', 'post-update', 'pre-delete', 'post-delete'] as const;
type PlainHook = (typeof plainHooks)[number];
type HookName = PlainHook | LifecycleHook['transition'];

/** Limits as in EC2: a hundred heartbeats, and never more than two days. */
const heartbeats = 100;
const lastSeconds = 172_800;

/** Source of the hooks: the plan entry, or the resource as the plan last declared it. */
interface Declares {
  readonly hooks?: readonly string[] | undefined;
  readonly lifecycle_hooks?: readonly LifecycleHook[] | undefined;
}

/** Begins a wait at a hook. False when the resource has no such hook, or has passed it. */
export function holdAt(
  transaction: Transaction,
  resource: ResourceDocument,
  name: HookName,
  declares: Declares = resource,
): boolean {
  const { stack } = transaction.state;
  if (hasPassed(stack, resource, name)) return false;
  // A traversal that does not converge has no next step to hold back. `launching` waits even then.
  if (stack.phase !== 'converging' && name !== 'launching') return false;
  if (isPlain(name)) {
    if (!declares.hooks?.includes(name)) return false;
    const verb = name.slice(name.indexOf('-') + 1).toUpperCase();
    if (verb !== 'UPDATE' && verb !== stack.action) return false;
    hold(transaction, resource, {
      reason: `${verb} paused until Hook ${name} is cleared`,
      waiting: { name, kind: 'hook', deadline: null, last: null, default: null },
    });
    return true;
  }
  const declared = declares.lifecycle_hooks?.find(({ transition }) => transition === name);
  if (!declared || (isWarm(resource) && name !== 'updating')) return false;
  const now = transaction.tools.now;
  const last = declared.global_timeout ?? Math.min(declared.heartbeat_timeout * heartbeats, lastSeconds);
  hold(transaction, resource, {
    reason: `Waiting for lifecycle hook ${name}`,
    waiting: {
      name,
      kind: 'lifecycle',
      deadline: timeAfter(now, Math.min(declared.heartbeat_timeout, last)),
      last: timeAfter(now, last),
      default: declared.default_result,
    },
  });
  return true;
}

function hold(
  transaction: Transaction,
  resource: ResourceDocument,
  how: { reason: string; waiting: Omit<ExternalWait, 'since' | 'token' | 'traversal'> },
): void {
  const hook: ExternalWait = {
    ...how.waiting,
    since: transaction.now,
    token: newId(transaction, `hook ${how.waiting.name} ${resource.id}`),
    traversal: transaction.state.stack.traversal,
  };
  const held = changeResource(transaction, resource.id, { hook });
  announce(transaction, held, hook, { state: 'waiting', reason: how.reason });
  setTimer(transaction, held, hook);
}

/** Sets the timer that ends the wait, if the wait has a deadline. */
export function setTimer(
  transaction: Transaction,
  { id }: ResourceDocument,
  { token, deadline, traversal }: ExternalWait,
): void {
  if (deadline !== null)
    addEffect(transaction, { kind: 'timer', timer: { kind: 'hook', resource: id, token }, at: deadline, traversal });
}

/** Reports the beginning or the end of a wait as an event of the resource. */
export function announce(
  transaction: Transaction,
  resource: ResourceDocument,
  hook: ExternalWait,
  { state, reason, result }: { state: 'waiting' | 'cleared'; reason: string; result?: 'continue' | 'abandon' },
): void {
  const { kind, name, token, deadline } = hook;
  const declared = resource.lifecycle_hooks.find(({ transition }) => transition === name);
  const metadata = kind === 'lifecycle' && state === 'waiting' ? declared?.metadata : undefined;
  const more = { ...(result && { result }), ...(metadata && { metadata }) };
  const reported = { state, kind, name, token, deadline, default: hook.default, ...more };
  announceResource(transaction, { ...resource, started_at: null }, { reason, hook: reported });
}

/** True when the resource has passed the hook in the running traversal. */
export const hasPassed = (stack: StackDocument, { passed }: ResourceDocument, name: string): boolean =>
  passed?.traversal === stack.traversal && passed.hooks.includes(name);

/** Ends the wait and remembers the hook for the running traversal, so that the resource does not wait at it twice. */
export function markPassed(transaction: Transaction, resource: ResourceDocument, name: string): ResourceDocument {
  const { traversal } = transaction.state.stack;
  const before = resource.passed?.traversal === traversal ? resource.passed.hooks : [];
  return changeResource(transaction, resource.id, { passed: { traversal, hooks: [...before, name] }, hook: null });
}

/** Ends a wait because its traversal ended or no longer needs it. */
export function dropWait(transaction: Transaction, resource: ResourceDocument): ResourceDocument {
  const dropped = changeResource(transaction, resource.id, { hook: null });
  const reason = 'Failure occurred while waiting.';
  if (resource.hook) announce(transaction, dropped, resource.hook, { state: 'cleared', reason });
  return dropped;
}

/** Ends all waits that belong to a traversal. */
export function dropWaits(transaction: Transaction): void {
  for (const id of transaction.state.held) {
    const resource = transaction.state.resources.get(id);
    if (resource?.hook && resource.hook.name !== 'launching') dropWait(transaction, resource);
  }
}

/** True for a hook that only a client clears; false for a lifecycle hook, which has a deadline. */
export const isPlain = (name: string): name is PlainHook => (plainHooks as readonly string[]).includes(name);
