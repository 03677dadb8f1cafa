/** Actions that begin or end a traversal, and their effect on the running one: the table in the header of `step.ts`. */
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import { begin, beginRollback } from './begin.ts';
import { attemptOf, failLeaf } from './failure.ts';
import { end, fail } from './finish.ts';
import { revisit } from '../graph/node.ts';
import type { Input } from '../protocol.ts';
import { isNested, type StackAction, type StackDocument } from '../documents.ts';
import { emptyPlan } from '../state.ts';
import { addEffect, announceResource, changeResource, changeStack, newId, type Transaction } from '../transaction.ts';

type Given<K extends Input['kind']> = Extract<Input, { kind: K }>;

export function beginCreate(transaction: Transaction, input: Given<'create'>): void {
  const { stack } = transaction.state;
  // The stack's document exists before its first step. A duplicate finds the traversal already begun.
  if (stack.traversal === '') begin(transaction, stack.adopt ? 'ADOPT' : 'CREATE', input.plan);
}

export function beginUpdate(transaction: Transaction, input: Given<'update'>): void {
  const { state } = transaction;
  const { stack } = state;
  if (stack.deleted_at !== null) throw notFound(stack.name);
  if (stack.action === 'DELETE') throw notSupported('Updating', 'deleting');
  if (stack.suspended) throw notSupported('Updating', 'suspended');
  // When two scaling requests race, the second is dropped silently, as in Heat.
  if (input.scaled && stack.status !== 'COMPLETE') return;
  const unchanged = state.settled === input.target.plan && input.observe !== true;
  changeStack(transaction, {
    target: input.target,
    updated_at: transaction.now,
    ...(input.timeout_minutes !== undefined && { timeout_minutes: input.timeout_minutes }),
    ...(input.on_failure !== undefined && { on_failure: input.on_failure }),
    ...(input.tags !== undefined && { tags: input.tags }),
    ...(input.group !== undefined && { group: input.group }),
  });
  const { scaled } = input;
  begin(transaction, input.as ?? 'UPDATE', input.plan, { observe: input.observe ?? false }, { scaled });
  if (!unchanged) return;
  // All resources are known to match this plan: an empty graph is enough.
  const none = new Set<string>();
  state.graph = {
    waiting: new Map(),
    dependents: new Map(),
    current: new Map(),
    rolling: none,
    queued: none,
    temporary: none,
    first: new Set(),
  };
}

export function beginDelete(transaction: Transaction, input: { abandon?: boolean | undefined }): void {
  const { state, tools } = transaction;
  if (state.stack.deleted_at !== null) throw notFound(state.stack.name);
  const abandoned = input.abandon ?? false;
  if (state.stack.action === 'DELETE' && state.stack.phase === 'converging' && state.stack.abandoned === abandoned)
    return;
  begin(transaction, 'DELETE', emptyPlan(), { abandoned });
  if (state.inFlight.size > 0) {
    const at = new Date(tools.now + tools.graceMs).toISOString();
    addEffect(transaction, { kind: 'timer', timer: 'grace', at, traversal: state.stack.traversal });
  }
}

/** Begins a rollback that an operator requests. @throws AnnealError when there is nothing to roll back */
export function requestRollback(transaction: Transaction, input: Given<'rollback'>): void {
  const { stack } = transaction.state;
  if (stack.deleted_at !== null) throw notFound(stack.name);
  if (input.cancel && (stack.action !== 'UPDATE' || stack.status !== 'IN_PROGRESS')) throw cannotCancel(stack);
  const back: readonly StackAction[] = ['CREATE', 'UPDATE', 'ADOPT', 'RESTORE', 'ROLLBACK'];
  const complete = stack.status === 'COMPLETE';
  if (!back.includes(stack.action) || complete || (stack.action === 'ROLLBACK' && stack.status !== 'FAILED')) {
    const state = `${stack.action}_${stack.status}`;
    throw new AnnealError('NotSupported', `Rolling back when stack is ${state} is not supported.`);
  }
  beginRollback(transaction);
}

/** Ends the traversal at once. Requests in flight continue and keep their results; nested stacks are cancelled too. */
export function cancel(transaction: Transaction): void {
  const { state } = transaction;
  const { stack } = state;
  const nested = stack.parent !== null;
  const cancellable = nested || stack.action === 'UPDATE' || stack.action === 'CREATE' || stack.phase === 'paused';
  if (stack.status !== 'IN_PROGRESS' || !cancellable) throw cannotCancel(stack);
  const { deadline } = stack;
  end(transaction, { status: 'FAILED', reason: `Stack ${stack.action} cancelled` });
  const cancelled = changeStack(transaction, { traversal: newId(transaction) });
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    if (resource?.request && isNested(resource)) {
      addEffect(transaction, { kind: 'cancel', resource: id, fence: resource.request.fence });
    }
  }
  if (state.inFlight.size === 0 || deadline === null) return;
  changeStack(transaction, { phase: 'draining', deadline });
  addEffect(transaction, { kind: 'timer', timer: 'deadline', at: deadline, traversal: cancelled.traversal });
}

/** Retries a failed action: the same action towards the same target. */
export function retry(transaction: Transaction): void {
  const { state } = transaction;
  const { stack } = state;
  if (stack.deleted_at !== null) throw notFound(stack.name);
  const failed = stack.status === 'FAILED' || stack.phase === 'paused';
  if (!failed) {
    if (stack.status === 'IN_PROGRESS') throw inProgress(stack);
    throw new AnnealError('NotSupported', `Retrying when stack is ${stack.action}_${stack.status} is not supported.`);
  }
  if (stack.action === 'SNAPSHOT') throw notSupported('Retrying', 'making a snapshot');
  if (stack.action === 'DELETE') beginDelete(transaction, { abandon: stack.abandoned });
  else if (stack.action === 'ROLLBACK') beginRollback(transaction);
  else begin(transaction, stack.action, state.plan, { observe: stack.observe });
}

export function beginVisit(transaction: Transaction, input: Given<'visit'>): void {
  const { state } = transaction;
  const { stack } = state;
  const verb = { CHECK: 'Checking', SUSPEND: 'Suspending', RESUME: 'Resuming', SNAPSHOT: 'Snapshotting' }[input.action];
  if (stack.deleted_at !== null) throw notFound(stack.name);
  if (stack.status === 'IN_PROGRESS') throw inProgress(stack);
  if (stack.action === 'DELETE') throw notSupported(verb, 'deleting');
  // CHECK would overwrite the SUSPEND states, so that RESUME could not find the suspended resources.
  if (input.action === 'CHECK' && stack.suspended) throw notSupported(verb, 'suspended');
  if (input.action === 'RESUME' && !stack.suspended && stack.action !== 'RESUME') {
    throw new AnnealError('NotSupported', `State ('${stack.action}', '${stack.status}') invalid for resume`);
  }
  // Already in the requested state.
  if (
    (input.action === 'SUSPEND' || input.action === 'RESUME') &&
    stack.action === input.action &&
    stack.status === 'COMPLETE'
  ) {
    return;
  }
  const snapshot = 'snapshot' in input ? input.snapshot : null;
  begin(transaction, input.action, state.plan, { snapshot });
  if (snapshot) {
    const reason = 'Stack SNAPSHOT started';
    addEffect(transaction, { kind: 'snapshot', snapshot, status: 'IN_PROGRESS', reason });
  }
}

/** Ends the grace period of a deletion: it takes over from requests in flight, with a higher fence. */
export function endGrace(transaction: Transaction): void {
  const { state } = transaction;
  if (state.stack.action !== 'DELETE' || state.stack.phase !== 'converging') return;
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    // A deletion does not take over another deletion, nor its own snapshot. An abandoning one awaits nothing.
    const ours = resource?.request?.action === 'delete' || resource?.request?.traversal === state.stack.traversal;
    if (!resource?.request || (ours && !state.stack.abandoned)) continue;
    const message = `${resource.action} aborted (user triggered cancel)`;
    const aborted = changeResource(transaction, id, {
      status: 'FAILED',
      reason: message,
      failure: { code: 'Superseded', message },
      request: null,
      finished_at: transaction.now,
    });
    announceResource(transaction, aborted);
    revisit(transaction, aborted);
  }
}

/**
 * Times the traversal out; a `failure` ends it early for that reason. Resources with a request in flight are marked as
 * failed, so that none stays in progress for ever; late responses are ignored.
 */
export function timeOut(transaction: Transaction, failure?: Failure): void {
  const { state } = transaction;
  const { phase, status, deadline } = state.stack;
  if (phase === 'idle' || phase === 'paused') return;
  for (const id of state.inFlight) {
    const { request } = state.resources.get(id) ?? {};
    const traversal = status === 'FAILED' ? request?.traversal : undefined;
    if (request) failUnanswered(transaction, id, { deadline, traversal, failure });
  }
  // A cancelled traversal has failed before; it ends as soon as nothing is in flight.
  if (status === 'IN_PROGRESS') fail(transaction, failure?.message ?? 'Timed out');
}

/** Fails overdue requests of an overtaken traversal; the running traversal continues with their resources. */
export function failOverdue(transaction: Transaction): void {
  const { state, now } = transaction;
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    // Nested stacks have deadlines of their own, and report them.
    if (!resource?.request || resource.request.deadline > now || isNested(resource)) continue;
    failUnanswered(transaction, id, resource.request);
    const failed = state.resources.get(id);
    if (failed) revisit(transaction, failed);
  }
}

/** `traversal`: the one that sent the request, if it need not be the running one. */
function failUnanswered(
  transaction: Transaction,
  id: string,
  given: { deadline: string | null; traversal: string | undefined; failure?: Failure | undefined },
): void {
  const resource = transaction.state.resources.get(id);
  if (!resource?.request) return;
  const { deadline, traversal } = given;
  const failure: Failure = given.failure ?? {
    code: 'DeadlineExceeded',
    message: `${resource.action} was not answered before the stack's deadline, ${deadline ?? ''}`,
    remedy: 'Check the object that it waited for, or raise the timeout.',
  };
  const attempted = attemptOf(resource.request, resource);
  failLeaf(transaction, id, {
    action: resource.action,
    failure,
    attempted,
    ...(traversal !== undefined && { traversal }),
  });
}

const notFound = (name: string): AnnealError => new AnnealError('NotFound', `The Stack (${name}) could not be found.`);
const notSupported = (verb: string, state: string): AnnealError =>
  new AnnealError('NotSupported', `${verb} a stack when it is ${state} is not supported.`);
const cannotCancel = ({ action, status }: StackDocument): AnnealError =>
  new AnnealError('NotSupported', `Cancelling update when stack is ${action}_${status} is not supported.`);
export const inProgress = ({ name, action }: StackDocument): AnnealError =>
  new AnnealError('Conflict', `Stack ${name} already has an action (${action}) in progress.`);
