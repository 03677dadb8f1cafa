/**
 * The engine: `step(state, inputs) -> changes`. A function of data: the same state and inputs give the same changes.
 *
 * The state machine of a stack is the phase of its traversal. `traversal/transitions.ts` holds, as data, what each input
 * does in each phase.
 *
 * `idle`: no traversal runs, and nothing is in flight. Entered when a traversal ends, COMPLETE or FAILED; an action
 * leaves it. Operators note facts about resources here: unhealthy, skipped.
 *
 * `converging`: an action runs. The engine dispatches whatever the graph allows. It leaves the phase when all nodes are
 * done (COMPLETE; a CHECK that found failures is FAILED), when a leaf fails (draining), or when the deadline passes
 * (FAILED, or the failure policy). A newer action overtakes it: the engine rebuilds the graph, a resource in flight
 * continues in the new traversal once its response is in. A nested stack, and a resource whose type announces
 * `supersedes`, receives the newer request at once (`resources/overtake.ts`).
 *
 * `draining`: a leaf failed, or the action was cancelled. The engine dispatches nothing; requests in flight keep their
 * results. It leaves the phase when nothing is in flight any more, when the deadline passes, or by a newer action. With
 * the policy `rollback` a CREATE, UPDATE, ADOPT or RESTORE leaves it at once: the rollback awaits the requests in
 * flight, resource by resource. A cancelled stack drains too, but has reported FAILED: it accepts actions like an idle
 * one.
 *
 * `paused`: after draining, with the policy `pause`: the stack waits for an operator command, and its deadline is paused.
 * A nested stack never pauses.
 *
 * Responses, signals, hooks and retries depend on one resource: a response or retry is matched by its fence, a hook by its
 * token, any other timer by its traversal. One that matches nothing is ignored, except that the deadline of an older
 * traversal fails its own requests, and that an unsolicited answer of a nested stack updates the attributes. See
 * `update-node.ts`, `cleanup-node.ts`, `visit.ts`, `wait.ts` (hooks), `nested.ts`, `rolling.ts` (batches).
 *
 * Invariants, held after every step:
 * C1 A resource is only worked on when everything it requires is COMPLETE in this traversal, or in flight before it in
 *    the same queue of a provider (`graph/ahead.ts`).
 * C2 An incarnation is only deleted when no incarnation that exists uses it, unless its replacement waits for its place.
 * C3 At most one traversal of a stack is live; an older one only changes resources by the responses to its own
 *    requests.
 * C4 At most one request of an incarnation is pending. By its fence only a newer traversal may overtake it: in a nested
 *    stack, in a resource whose type announces `supersedes`, and in any other by a deletion whose grace is over.
 * C5 A live traversal has a request in flight, waits (for a hook, an operator command, a pause), ends in this step, or
 *    has ready nodes: then the step is partial.
 * C6 An object that a provider was ever asked to make is in a document until its deletion is answered.
 * C7 A replacement is complete, and the users of the original have moved to it, before the original is deleted;
 *    where the plan says `delete_first`, nothing else has its name any more when the replacement is requested.
 * C8 Unchanged resources are neither sent nor written; resources that every update renews are renewed once per update.
 * C9 External, retained and abandoned objects are never deleted; external objects are never made or changed.
 * C10 No more requests than the limit are in flight, and no more members of a rolling group than its batch change at a time.
 */
import { AnnealError, toFailure } from '@anneal/contracts/errors.ts';
import { systemOccasion } from '@anneal/contracts/origin.ts';
import { applyResourceAction } from './resources/resource-action.ts';
import { takeAtOnce } from './resources/inline-answers.ts';
import { retryTimer } from './resources/backoff.ts';
import { advance, isPartial } from './graph/graph.ts';
import { hookTimer } from './resources/hook.ts';
import { answerIfIdle, answerParent, takesUp } from './nested.ts';
import type { FromParent, Input, Outcome, Tools } from './protocol.ts';
import { takeResponse } from './resources/response.ts';
import { endPause } from './node/rolling.ts';
import { takeSignal } from './resources/signal.ts';
import type { State } from './state.ts';
import { announceGroup, beginTransaction, changeStack, setGroupTimers, type Transaction } from './transaction.ts';
import {
  beginCreate,
  beginDelete,
  beginUpdate,
  beginVisit,
  cancel,
  endGrace,
  failOverdue,
  requestRollback,
  retry,
  timeOut,
} from './traversal/traversal.ts';

const rememberedInputs = 32;

/**
 * Takes a batch of inputs, in order. `state` is changed in place. A caller that fails to record the changes must load
 * the documents again.
 *
 * A partial step has left ready nodes to the next one. Its caller records it, and steps again without inputs until a
 * step is not partial. A process may die in between, so a step of a stack that was just loaded, in which no input had an
 * effect, is partial too.
 */
export function step(state: State, inputs: readonly Input[], tools: Tools): Outcome {
  const transaction = beginTransaction(state, tools);
  const refusals = new Map<string, AnnealError>();
  for (const input of inputs) {
    transaction.input = input.id;
    transaction.answered = false;
    const parent = 'parent' in input ? input.parent : undefined;
    transaction.isAsked = parent !== undefined;
    transaction.acting = input.occasion;
    let isTaken = true;
    if (parent) isTaken = takeRequest(transaction, input, refusals);
    else if (isRemembered(input)) {
      if (state.stack.recent.includes(input.id)) {
        // Another party answers this signal. It knows the repeat, and answers again; the sender may have lost the answer.
        // The change, of nothing, lets the step be recorded with its effect.
        if (input.kind === 'signal' && input.asked && attempt(transaction, input, refusals))
          changeStack(transaction, {});
        continue;
      }
      if (!attempt(transaction, input, refusals)) continue;
      changeStack(transaction, { recent: [...state.stack.recent, input.id].slice(-rememberedInputs) });
    } else {
      take(transaction, input);
    }
    if (isTaken) proceed(transaction);
    if (parent) answerIfIdle(transaction);
  }
  if (inputs.length === 0) proceed(transaction);
  return { changes: transaction.changes, refusals, isPartial: isPartial(state, tools) };
}

function proceed(transaction: Transaction): void {
  transaction.acting = undefined;
  advance(transaction);
  while (takeAtOnce(transaction)) advance(transaction);
}

/** Whether duplicates are detected by input id. Responses and timers carry a fence, token or traversal instead. */
const isRemembered = ({ kind }: Input): boolean => kind !== 'response' && kind !== 'timer';

/** False when the input was refused: then nothing was changed, except that an event may report the refusal. */
function attempt(transaction: Transaction, input: Input, refusals: Map<string, AnnealError>): boolean {
  try {
    take(transaction, input);
    return true;
  } catch (error) {
    if (!(error instanceof AnnealError)) throw error;
    refusals.set(input.id, error);
    return false;
  }
}

/**
 * An action that the parent stack requests. Its fence identifies it, and it is answered whatever its outcome is. False
 * when it was a repeat or was refused.
 */
function takeRequest(transaction: Transaction, input: Input & FromParent, refusals: Map<string, AnnealError>): boolean {
  const link = input.parent;
  const { stack } = transaction.state;
  if (input.kind === 'cancel') {
    // The cancel ends the request with this fence, if that still runs.
    const runs = link?.fence === stack.parent?.fence && stack.status === 'IN_PROGRESS';
    const isTaken = runs && attempt(transaction, input, refusals);
    transaction.answered = true;
    return isTaken;
  }
  if (!link || !takesUp(transaction, link)) {
    transaction.answered = true;
    return false;
  }
  // A deletion that was answered, and is requested again with a higher fence, is done.
  if (input.kind === 'delete' && transaction.state.stack.deleted_at !== null) return false;
  if (attempt(transaction, input, refusals)) return true;
  answerParent(transaction, toFailure(refusals.get(input.id)));
  return false;
}

function take(transaction: Transaction, input: Input): void {
  switch (input.kind) {
    case 'create':
      beginCreate(transaction, input);
      return;
    case 'update':
      beginUpdate(transaction, input);
      return;
    case 'delete':
      beginDelete(transaction, input);
      return;
    case 'visit':
      beginVisit(transaction, input);
      return;
    case 'rollback':
      requestRollback(transaction, input);
      return;
    case 'cancel':
      cancel(transaction);
      return;
    case 'retry':
      retry(transaction);
      return;
    case 'resource':
      applyResourceAction(transaction, input);
      return;
    case 'response':
      takeResponse(transaction, input.response);
      return;
    case 'signal':
      takeSignal(transaction, input);
      return;
    case 'group':
      noteGroup(transaction, input);
      return;
    case 'timer':
      takeTimer(transaction, input);
  }
}

/** Stores a decision about a group, reports it, and sets the timers of the group. A deleted group takes none. */
function noteGroup(transaction: Transaction, input: Extract<Input, { kind: 'group' }>): void {
  if (transaction.state.stack.deleted_at !== null) return;
  changeStack(transaction, { group: input.group });
  for (const report of input.reports) announceGroup(transaction, report);
  setGroupTimers(transaction, input.timers);
}

function takeTimer(transaction: Transaction, { timer, traversal, failure }: Extract<Input, { kind: 'timer' }>): void {
  const { resources, stack } = transaction.state;
  const isOfTraversal = traversal === stack.traversal;
  switch (timer.kind) {
    case 'retry': {
      const resource = resources.get(timer.resource);
      if (resource) retryTimer(transaction, resource, timer.fence);
      return;
    }
    case 'hook': {
      const resource = resources.get(timer.resource);
      if (!resource) return;
      transaction.acting = systemOccasion('timer', { reason: 'the deadline of the hook passed' });
      hookTimer(transaction, resource, timer.token);
      return;
    }
    case 'deadline': {
      const reason = failure?.message ?? 'the deadline of the action passed';
      transaction.acting = systemOccasion(failure ? 'failure' : 'timer', { reason });
      if (isOfTraversal) timeOut(transaction, failure);
      else failOverdue(transaction);
      return;
    }
    case 'grace':
      if (isOfTraversal) endGrace(transaction);
      return;
    case 'batch':
      if (isOfTraversal) endPause(transaction);
  }
}
