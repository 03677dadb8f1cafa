/**
 * A nested stack is a stack whose parent is a resource. It takes the requests of that resource as its own actions, and
 * answers each when its traversal ends.
 *
 * | fence of the request        | action                                                                           |
 * | --------------------------- | -------------------------------------------------------------------------------- |
 * | lower than the last         | dropped                                                                          |
 * | the last, and it runs       | nothing: the answer follows later                                                |
 * | the last, and it has ended  | answered again, from the stored documents                                        |
 * | higher                      | accepted; it overtakes the running action                                        |
 * A refused request is answered with the refusal. When the nested stack acts by itself (scaling, or an operator who
 * calls it directly), it sends unsolicited answers with the last fence. The resource takes the attributes from them. A
 * failed one also marks the resource for the next update.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { ParentLink, StackDocument } from './documents.ts';
import type { Effect } from './protocol.ts';
import { addEffect, changeStack, type Transaction } from './transaction.ts';

/** Whether the request is new and must run now. A duplicate of a finished request is answered again here. */
export function takesUp(transaction: Transaction, link: ParentLink): boolean {
  const { stack } = transaction.state;
  const last = stack.parent?.fence ?? 0;
  const begun = stack.traversal !== '';
  if (link.fence < last) return false;
  if (link.fence === last && begun) {
    if (stack.status !== 'IN_PROGRESS') answerParent(transaction);
    return false;
  }
  changeStack(transaction, { parent: link });
  return true;
}

/** Reports the status of a nested stack to its parent stack; does nothing in a stack without one. */
export function answerParent(transaction: Transaction, refusal: Failure | null = null): void {
  const { parent, status, reason, failures } = transaction.state.stack;
  if (!parent) return;
  const failed = refusal !== null || status === 'FAILED';
  // A cancelled or timed out traversal may have no failed leaf.
  const bare = failed && failures.length === 0 ? { code: 'ResourceFailed', message: reason } : null;
  transaction.answered = true;
  changeStack(transaction, {});
  addEffect(transaction, { kind: 'answer', parent, status: failed ? 'failed' : 'complete', failure: refusal ?? bare });
}

/** Answers a request that began no action, because the stack is already in the requested state. */
export function answerIfIdle(transaction: Transaction): void {
  if (transaction.answered || transaction.state.stack.status === 'IN_PROGRESS') return;
  answerParent(transaction);
}

/** The response to the parent stack. Its `attributes` are added separately. */
export function responseOf(
  { parent, status, failure }: Extract<Effect, { kind: 'answer' }>,
  stack: StackDocument,
): ResourceResponse {
  return {
    resource_id: parent.resource_id,
    stack_id: parent.stack_id,
    action: parent.action,
    fence: parent.fence,
    status,
    physical_id: stack.id,
    // Both numbers only grow; the clock also where a change has no event.
    sequence: stack.event_sequence + stack.clock,
    ...(failure && { error: failure }),
    // A refusal is unrelated to earlier failures.
    ...(status === 'failed' && !failure && { failures: [...stack.failures] }),
  };
}
