/** How a traversal begins, is overtaken, and runs out of time. */
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import { cancelTimers, end, failLeaf } from './finish.ts';
import type { Input } from './protocol.ts';
import { emptyPlan, type PendingRequest, type StackAction } from './state.ts';
import { addEffect, announceStack, changeResource, changeStack, newId, type Transaction } from './transaction.ts';

const defaultTimeoutMinutes = 60;

function begin(transaction: Transaction, action: StackAction, plan: Plan): void {
  const { state, tools } = transaction;
  const minutes = state.stack.timeout_minutes ?? defaultTimeoutMinutes;
  const deadline = new Date(tools.now + minutes * 60_000).toISOString();
  if (state.stack.phase !== 'idle') cancelTimers(transaction);
  state.plan = plan;
  state.graph = undefined;
  const stack = changeStack(transaction, {
    action,
    status: 'IN_PROGRESS',
    reason: `Stack ${action} started`,
    phase: 'converging',
    traversal: newId(transaction),
    deadline,
    failures: [],
  });
  announceStack(transaction);
  addEffect(transaction, { kind: 'timer', timer: 'deadline', at: deadline, traversal: stack.traversal });
}

export function beginCreate(transaction: Transaction, input: Extract<Input, { kind: 'create' }>): void {
  // The stack's document was made, with its name, before its first step; a repeat finds it on its way.
  if (transaction.state.stack.traversal === '') begin(transaction, 'CREATE', input.plan);
}

export function beginUpdate(transaction: Transaction, input: Extract<Input, { kind: 'update' }>): void {
  const { stack } = transaction.state;
  if (stack.deleted_at !== null) throw notFound(stack.name);
  if (stack.action === 'DELETE') {
    throw new AnnealError('NotSupported', 'Updating a stack when it is deleting is not supported.');
  }
  if (stack.action === 'SUSPEND') {
    throw new AnnealError('NotSupported', 'Updating a stack when it is suspended is not supported.');
  }
  changeStack(transaction, {
    target: input.target,
    updated_at: transaction.now,
    ...(input.timeout_minutes !== undefined && { timeout_minutes: input.timeout_minutes }),
    ...(input.on_failure !== undefined && { on_failure: input.on_failure }),
    ...(input.tags !== undefined && { tags: input.tags }),
  });
  begin(transaction, 'UPDATE', input.plan);
}

export function beginDelete(transaction: Transaction): void {
  const { state, tools } = transaction;
  if (state.stack.deleted_at !== null) throw notFound(state.stack.name);
  if (state.stack.action === 'DELETE' && state.stack.phase === 'converging') return;
  begin(transaction, 'DELETE', emptyPlan());
  if (state.inFlight.size > 0) {
    addEffect(transaction, {
      kind: 'timer',
      timer: 'grace',
      at: new Date(tools.now + tools.graceMs).toISOString(),
      traversal: state.stack.traversal,
    });
  }
}

/** A deletion has waited long enough for what still ran: it takes over, with a higher fence. */
export function endGrace(transaction: Transaction): void {
  const { state } = transaction;
  if (state.stack.action !== 'DELETE' || state.stack.phase !== 'converging') return;
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    if (!resource?.request || resource.request.action === 'delete') continue;
    changeResource(transaction, id, {
      status: 'FAILED',
      reason: `${resource.action} aborted (user triggered cancel)`,
      request: null,
      finished_at: transaction.now,
    });
    transaction.cleanups.push(id);
  }
}

/** The deadline has passed. What still runs is marked as failed, so that each has an exit; a late answer is ignored. */
export function timeOut(transaction: Transaction): void {
  const { state } = transaction;
  if (state.stack.phase === 'idle') return;
  for (const id of state.inFlight) {
    const resource = state.resources.get(id);
    if (!resource?.request) continue;
    const failure: Failure = {
      code: 'DeadlineExceeded',
      message: `${resource.action} was not answered before the stack's deadline, ${state.stack.deadline ?? ''}`,
      remedy: 'Look at what it waited for, or allow it more time.',
    };
    failLeaf(transaction, id, { action: resource.action, failure, attempted: attemptOf(resource.request) });
  }
  end(transaction, { status: 'FAILED', reason: 'Timed out' });
}

export const attemptOf = (request: PendingRequest): JsonObject | null =>
  request.action === 'update' ? request.properties : null;

const notFound = (name: string): AnnealError => new AnnealError('NotFound', `The Stack (${name}) could not be found.`);
