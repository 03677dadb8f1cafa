/** Actions that begin or end a traversal. `transitions.ts` decides whether each has an effect. */
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import { begin, beginRollback } from './begin.ts';
import { attemptOf, failLeaf } from '../node/failure.ts';
import { endTraversal, fail } from './finish.ts';
import { recallAll, withdrawRequest } from '../node/recall.ts';
import { revisit } from '../node/node.ts';
import type { Input } from '../protocol.ts';
import { isNested, isWarm, type StackDocument } from '../documents.ts';
import { emptyPlan } from '../state.ts';
import { effectOf, isRefusal, stackInputOf, type Refusal, type TransitionInput } from './transitions.ts';
import {
  addEffect,
  announceResource,
  changeResource,
  changeStack,
  newId,
  setGroupTimers,
  type Transaction,
} from '../transaction.ts';

type Given<K extends Input['kind']> = Extract<Input, { kind: K }>;

/** Begins the creation or adoption of a new stack. A duplicate does nothing. */
export function beginCreate(transaction: Transaction, input: Given<'create'>): void {
  const { stack } = transaction.state;
  // The stack's document exists before its first step. A duplicate finds the traversal already begun.
  if (!allows(transaction, 'create')) return;
  const isOperators = stack.parent === null && input.occasion?.operator !== undefined;
  begin(transaction, stack.adopt ? 'ADOPT' : 'CREATE', input.plan, isOperators ? { operators_only: true } : {});
}

/**
 * Begins an update, restore or scaling towards a new target. Overtakes a running traversal. @throws AnnealError when
 * the state of the stack does not allow it
 */
export function beginUpdate(transaction: Transaction, input: Given<'update'>): void {
  const { state } = transaction;
  if (!allows(transaction, stackInputOf(input))) return;
  // A member may enter service without any change of the plan.
  const holds = [...state.resources.values()].some(isWarm);
  const unchanged = state.settled === input.target.plan && input.observe !== true && !holds;
  changeStack(transaction, {
    target: input.target,
    updated_at: transaction.now,
    ...(input.timeout_minutes !== undefined && { timeout_minutes: input.timeout_minutes }),
    ...(input.on_failure !== undefined && { on_failure: input.on_failure }),
    ...(input.tags !== undefined && { tags: input.tags }),
    ...(input.group !== undefined && { group: input.group }),
  });
  const { scaling, timers = [] } = input;
  setGroupTimers(transaction, timers);
  begin(transaction, input.as ?? 'UPDATE', input.plan, { observe: input.observe ?? false }, { scaling });
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
    ahead: new Map(),
  };
}

/**
 * Begins the deletion of a stack. It waits at most the grace period for requests in flight. @throws AnnealError
 * NotFound when the stack is deleted
 */
export function beginDelete(transaction: Transaction, input: Given<'delete'>): void {
  if (allows(transaction, stackInputOf(input))) beginDeletion(transaction, input.abandon ?? false);
}

function beginDeletion(transaction: Transaction, abandoned: boolean): void {
  const { state, tools } = transaction;
  begin(transaction, 'DELETE', emptyPlan(), { abandoned });
  if (state.inFlight.size > 0) {
    const at = new Date(tools.now + tools.graceMs).toISOString();
    addEffect(transaction, { kind: 'timer', timer: { kind: 'grace' }, at, traversal: state.stack.traversal });
  }
}

/** Begins a rollback that an operator requests. @throws AnnealError when there is nothing to roll back */
export function requestRollback(transaction: Transaction, input: Given<'rollback'>): void {
  if (allows(transaction, stackInputOf(input))) beginRollback(transaction);
}

/**
 * Ends the traversal at once. Requests whose work has not begun are withdrawn, where their providers can. The others
 * continue and keep their results; nested stacks are cancelled too.
 */
export function cancel(transaction: Transaction): void {
  const { state } = transaction;
  const { stack } = state;
  if (!allows(transaction, 'cancel')) return;
  const { deadline } = stack;
  endTraversal(transaction, { status: 'FAILED', reason: `Stack ${stack.action} cancelled`, cancelled: true });
  const cancelled = changeStack(transaction, { traversal: newId(transaction, 'traversal') });
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    if (resource?.request && isNested(resource)) {
      addEffect(transaction, { kind: 'cancel', resource: id, fence: resource.request.fence });
    } else withdrawRequest(transaction, id);
  }
  recallAll(transaction);
  if (state.inFlight.size === 0 || deadline === null) return;
  changeStack(transaction, { phase: 'draining', deadline });
  const { traversal } = cancelled;
  addEffect(transaction, { kind: 'timer', timer: { kind: 'deadline' }, at: deadline, traversal });
}

/** Retries a failed action: the same action towards the same target. */
export function retry(transaction: Transaction): void {
  const { state } = transaction;
  const { stack } = state;
  if (!allows(transaction, 'retry')) return;
  if (stack.action === 'DELETE') beginDeletion(transaction, stack.abandoned);
  else if (stack.action === 'ROLLBACK') beginRollback(transaction);
  else begin(transaction, stack.action, state.plan, { observe: stack.observe });
}

/** Begins a visit. @throws AnnealError when another action is in progress or the state does not allow it */
export function beginVisit(transaction: Transaction, input: Given<'visit'>): void {
  const { state } = transaction;
  if (!allows(transaction, stackInputOf(input))) return;
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
  if (!allows(transaction, 'grace passed')) return;
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
  const { status, deadline } = state.stack;
  if (!allows(transaction, 'deadline passed')) return;
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

/** Whether the input has an effect on the stack now. @throws AnnealError when the stack refuses it */
export function allows({ state: { stack } }: Transaction, input: TransitionInput): boolean {
  const effect = effectOf(input, stack);
  if (isRefusal(effect)) throw refusalOf(effect, input, stack);
  return effect !== 'nothing';
}

const verbs: Readonly<Partial<Record<TransitionInput, string>>> = {
  update: 'Updating',
  restore: 'Updating',
  scale: 'Updating',
  check: 'Checking',
  suspend: 'Suspending',
  resume: 'Resuming',
  snapshot: 'Snapshotting',
  rollback: 'Rolling back',
  'cancel with rollback': 'Cancelling update',
  cancel: 'Cancelling update',
  retry: 'Retrying',
};

/** Worded as Heat's clients expect. */
function refusalOf(refusal: Refusal, input: TransitionInput, { name, action, status }: StackDocument): AnnealError {
  const verb = verbs[input] ?? input;
  switch (refusal) {
    case 'not found':
      return new AnnealError('NotFound', `The Stack (${name}) could not be found.`);
    case 'in progress':
      return new AnnealError('Conflict', `Stack ${name} already has an action (${action}) in progress.`);
    case 'deleting':
    case 'suspended':
      return new AnnealError('NotSupported', `${verb} a stack when it is ${refusal} is not supported.`);
    case 'of a snapshot':
      return new AnnealError('NotSupported', `${verb} a stack when it is making a snapshot is not supported.`);
    case 'not suspended':
      return new AnnealError('NotSupported', `State ('${action}', '${status}') invalid for resume`);
    case 'wrong state':
      return new AnnealError('NotSupported', `${verb} when stack is ${action}_${status} is not supported.`);
  }
}
