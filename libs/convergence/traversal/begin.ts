/** How a traversal begins. Which actions begin one, and when: `traversal.ts`. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Plan } from '@anneal/contracts/plan.ts';
import { systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import type { StackSink } from '@anneal/contracts/stack-sink.ts';
import { goesToNothing, isVisit, type Scaling, type StackAction, type StackDocument } from '../documents.ts';
import { emptyPlan } from '../state.ts';
import type { ScalingReport } from '../protocol.ts';
import { addEffect, announceStack, changeStack, newId, type Transaction } from '../transaction.ts';
import { dropWaits } from '../node/wait.ts';

const defaultTimeoutMinutes = 60;

/** Begins a traversal; it overtakes a running one. */
export function begin(
  transaction: Transaction,
  action: StackAction,
  plan: Plan,
  more: Partial<StackDocument> = {},
  details: { scaling?: Scaling | undefined; occasion?: Occasion | undefined } = {},
): void {
  const { state, tools } = transaction;
  const minutes = state.stack.timeout_minutes ?? defaultTimeoutMinutes;
  const own = new Date(tools.now + minutes * 60_000).toISOString();
  // An action that the nested stack starts by itself does not share the deadline of the last request of its parent.
  const deadline = (transaction.isAsked ? state.stack.parent?.deadline : undefined) ?? own;
  const { snapshot } = state.stack;
  const reports = scalingReports(state.stack, action, details.scaling);
  cancelTimers(transaction, { deadline: !leavesBehind(transaction, deadline) });
  dropWaits(transaction);
  if (snapshot) {
    addEffect(transaction, { kind: 'snapshot', snapshot, status: 'FAILED', reason: 'A newer action overtook it.' });
  }
  const asked = details.occasion ?? transaction.acting ?? systemOccasion();
  const operators_only = operatorsOnly({ ...state.stack, ...more }, action, asked);
  const occasion = withRights(transaction, action, { asked, operators_only });
  // From here on the traversal acts.
  transaction.acting = undefined;
  const sinks = sinksFor(transaction, action, plan);
  state.plan = plan;
  state.graph = undefined;
  const stack = changeStack(transaction, {
    action,
    status: 'IN_PROGRESS',
    reason: `Stack ${action} started`,
    phase: 'converging',
    traversal: newId(transaction, 'traversal'),
    occasion,
    finished_at: null,
    cancelled: false,
    deadline,
    failures: [],
    inherited: 0,
    batch: null,
    abandoned: false,
    observe: false,
    suspended: action === 'SUSPEND' || (action === 'SNAPSHOT' && state.stack.suspended),
    snapshot: null,
    // The rollback of the tree does not cover an action that the nested stack starts by itself.
    ...(!transaction.isAsked && state.stack.parent?.restores && { parent: { ...state.stack.parent, restores: false } }),
    ...more,
    ...(state.stack.operators_only && { operators_only }),
    ...(reports.length > 0 && { scaling: details.scaling ?? null }),
  });
  announceStack(transaction, { scaling: reports, sinks });
  addEffect(transaction, { kind: 'timer', timer: { kind: 'deadline' }, at: deadline, traversal: stack.traversal });
}

/** Whether every plan of a stack came from operators. It stays false, because a later update may keep parts of a plan. */
const operatorsOnly = (stack: StackDocument, action: StackAction, { operator }: Occasion): boolean =>
  stack.operators_only === true && (operator !== undefined || !['UPDATE', 'RESTORE'].includes(action));

/**
 * The occasion with the operator for whom the stack acts, or without one. An operator who acts on a stack with the plan
 * of another user lends it no rights, except to delete it. A nested stack acts for an operator only when its parent does.
 */
function withRights(
  { isAsked, state: { stack } }: Transaction,
  action: StackAction,
  { asked, operators_only }: { asked: Occasion; operators_only: boolean },
): Occasion {
  const lends = stack.parent === null ? operators_only || action === 'DELETE' : isAsked;
  if (lends || asked.operator === undefined) return asked;
  const { operator: _, ...rest } = asked;
  return rest;
}

/** The event sinks that a traversal towards a plan reports. The events of a deletion go where those before it went. */
function sinksFor({ state }: Transaction, action: StackAction, plan: Plan): readonly StackSink[] | undefined {
  const { stack, plan: before } = state;
  if (stack.parent !== null || isVisit(action) || goesToNothing({ action, complete: stack.complete })) return undefined;
  return plan.event_sinks ?? (before.event_sinks && []);
}

/**
 * Reports of the first event of a traversal about scalings: the end of one that it overtakes, and the start of its own. An update without a scaling of its own keeps the members of the running one, and so continues it.
 */
function scalingReports({ scaling: running }: StackDocument, action: StackAction, own?: Scaling): ScalingReport[] {
  const message = `The action ${action} of the group superseded it.`;
  const ends = running && (own !== undefined || action !== 'UPDATE');
  return [
    ...(ends ? [{ ...running, stage: 'failed' as const, failure: { code: 'Superseded', message } }] : []),
    ...(own ? [{ ...own, stage: 'started' as const }] : []),
  ];
}

/** Whether a request in flight has an earlier deadline than the new traversal: then the old timer must stay. */
const leavesBehind = ({ state }: Transaction, deadline: string): boolean =>
  [...state.inFlight].some((id) => (state.resources.get(id)?.request?.deadline ?? deadline) < deadline);

/** Begins an ordinary traversal to the last complete target; to an empty plan when there is none. */
export function beginRollback(transaction: Transaction, how: { keepFailures?: boolean } = {}): void {
  const { state } = transaction;
  const { complete, failures } = state.stack;
  if (complete && !state.complete)
    throw new AnnealError('Defect', 'The plan of what was last complete was not loaded.');
  if (complete) changeStack(transaction, { target: complete });
  // The old failures explain the rollback; new failures are added after them.
  const kept = how.keepFailures ? failures : [];
  const occasion = occasionOfRollback(transaction, how);
  const more = { updated_at: transaction.now, adopt: null, failures: kept, inherited: kept.length };
  begin(transaction, 'ROLLBACK', state.complete ?? emptyPlan(), more, { occasion });
}

/** A rollback that begins by itself is caused by the failure, and keeps the id of the request that failed. */
function occasionOfRollback(
  { acting, state: { stack } }: Transaction,
  { keepFailures = false }: { keepFailures?: boolean },
): Occasion | undefined {
  if (keepFailures) {
    const reason = stack.failures[0]?.failure.message ?? stack.reason;
    const failed = stack.occasion;
    const operator = failed?.operator !== undefined && { operator: failed.operator };
    return { ...systemOccasion('failure', { id: failed?.cause.id ?? null, reason }), ...operator };
  }
  if (acting?.cause.kind !== 'request') return acting;
  return { ...acting, cause: { ...acting.cause, kind: 'rollback' } };
}

/** Cancels the timers of the running traversal. `deadline`: also its deadline. */
export function cancelTimers(transaction: Transaction, { deadline }: { deadline: boolean } = { deadline: true }): void {
  const { action, traversal, phase } = transaction.state.stack;
  if (phase === 'idle' || traversal === '') return;
  if (deadline) addEffect(transaction, { kind: 'cancel timer', timer: { kind: 'deadline' }, traversal });
  if (action === 'DELETE') addEffect(transaction, { kind: 'cancel timer', timer: { kind: 'grace' }, traversal });
  if (transaction.state.stack.batch?.until)
    addEffect(transaction, { kind: 'cancel timer', timer: { kind: 'batch' }, traversal });
}
