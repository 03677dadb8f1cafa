/**
 * The engine: `step(state, inputs) -> changes`. A function of data: the same state and inputs give the same changes.
 *
 * The state machine of a stack is the phase of its traversal:
 * - `idle`: no traversal runs. Entered when one ends, COMPLETE or FAILED; nothing is in flight; left by a requested action.
 * - `converging`: entered when an action is accepted; dispatches whatever the graph allows; left when all nodes are done
 *   (COMPLETE), a leaf fails (draining), or the deadline passes. A newer action overtakes it: the graph is built anew, and
 *   a resource in flight goes on in the new traversal once its answer is in.
 * - `draining`: a leaf failed; nothing is dispatched, what runs is awaited and keeps its result; left when nothing is in
 *   flight any more (FAILED), when the deadline passes, or by a newer action.
 *
 * | phase      | create | update      | delete      | response              | deadline           | grace            |
 * | ---------- | ------ | ----------- | ----------- | --------------------- | ------------------ | ---------------- |
 * | idle       | begin¹ | begin²      | begin³      | note a late object    | ignored            | ignored          |
 * | converging | -      | overtake²   | overtake⁴   | record, then dispatch | fail "Timed out"   | delete takes over|
 * | draining   | -      | overtake²   | overtake    | record, then end?     | fail "Timed out"   | ignored          |
 * ¹ only the first time. ² refused while deleting and once deleted. ³ refused once deleted. ⁴ of a deletion: nothing.
 * A timer of an older traversal is ignored everywhere; so is a response whose fence is not the pending one.
 *
 * Invariants, held after every step:
 * C1 A resource is only worked on when everything it requires is COMPLETE in this traversal.
 * C2 An incarnation is only deleted when no incarnation that exists uses it.
 * C3 At most one traversal of a stack is live; an older one changes nothing but what its own requests answer.
 * C4 At most one request of an incarnation is pending; only a deletion whose grace is over may overtake it, by its fence.
 * C5 A live traversal has something in flight, or ends in this step.
 * C6 What a provider was ever asked to make is in a document until its deletion is answered.
 * C7 A replacement is complete, and what used the original has moved to it, before the original is deleted.
 * C8 Unchanged resources are neither sent nor written.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { advance } from './converge.ts';
import type { Input, Outcome, Tools } from './protocol.ts';
import { takeResponse } from './response.ts';
import { takeSignal } from './signal.ts';
import type { State } from './state.ts';
import { beginTransaction, changeStack, type Transaction } from './transaction.ts';
import { beginCreate, beginDelete, beginUpdate, endGrace, timeOut } from './traversal.ts';

const rememberedInputs = 32;

/**
 * Takes a batch of inputs, in order. `state` is changed in place and belongs to the caller as long as the changes are
 * recorded; who fails to record them must load the documents again.
 */
export function step(state: State, inputs: readonly Input[], tools: Tools): Outcome {
  const transaction = beginTransaction(state, tools);
  const refusals = new Map<string, AnnealError>();
  for (const input of inputs) {
    transaction.input = input.id;
    transaction.ids = 0;
    if (isRemembered(input)) {
      if (state.stack.recent.includes(input.id)) continue;
      try {
        take(transaction, input);
      } catch (error) {
        if (!(error instanceof AnnealError)) throw error;
        refusals.set(input.id, error);
        continue;
      }
      changeStack(transaction, { recent: [...state.stack.recent, input.id].slice(-rememberedInputs) });
    } else {
      take(transaction, input);
    }
    advance(transaction);
  }
  return { changes: transaction.changes, refusals };
}

/** Whether a repeat must be told by its id; the others are told by fence and traversal. */
const isRemembered = ({ kind }: Input): boolean => kind !== 'response' && kind !== 'timer';

function take(transaction: Transaction, input: Input): void {
  switch (input.kind) {
    case 'create':
      beginCreate(transaction, input);
      return;
    case 'update':
      beginUpdate(transaction, input);
      return;
    case 'delete':
      beginDelete(transaction);
      return;
    case 'response':
      takeResponse(transaction, input.response);
      return;
    case 'signal':
      takeSignal(transaction, input);
      return;
    case 'timer':
      if (input.traversal !== transaction.state.stack.traversal) return;
      if (input.timer === 'deadline') timeOut(transaction);
      if (input.timer === 'grace') endGrace(transaction);
      return;
    default:
      throw new AnnealError('NotSupported', `The action ${input.kind} is not supported.`);
  }
}
