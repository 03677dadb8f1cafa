/**
 * A nested stack is a stack whose parent is a resource. It takes the requests of that resource as its own actions, and
 * answers each when its traversal ends.
 *
 * | fence of the request        | what is done                                                                     |
 * | --------------------------- | -------------------------------------------------------------------------------- |
 * | lower than the last         | dropped                                                                          |
 * | the last, and it runs       | nothing: the answer is to come                                                   |
 * | the last, and it has ended  | answered again, from what is stored                                              |
 * | higher                      | taken up; what runs is overtaken                                                 |
 * A request that is refused is answered with the refusal. When the nested stack acts by itself (scaling, or a person who
 * asks it directly) its answers come unasked, with the last fence: the resource takes the attributes from them, and knows
 * by them that it has to be updated when something in the nested stack is not whole.
 */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { ResourceResponse } from '@anneal/contracts/resource.ts';
import type { ParentLink, StackDocument } from './documents.ts';
import type { Effect } from './protocol.ts';
import { addEffect, changeStack, type Transaction } from './transaction.ts';

/** Whether the request is new, and is to be taken up now. */
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

/** Says how the nested stack is; nothing, in a stack of its own. */
export function answerParent(transaction: Transaction, refusal: Failure | null = null): void {
  const { parent, status, reason, failures } = transaction.state.stack;
  if (!parent) return;
  const failed = refusal !== null || status === 'FAILED';
  // One that was cancelled, or waited for too long, has no leaf that failed.
  const bare = failed && failures.length === 0 ? { code: 'ResourceFailed', message: reason } : null;
  transaction.answered = true;
  changeStack(transaction, {});
  addEffect(transaction, { kind: 'answer', parent, status: failed ? 'failed' : 'complete', failure: refusal ?? bare });
}

/** The request was taken up and began nothing: it is so already. */
export function answerIfIdle(transaction: Transaction): void {
  if (transaction.answered || transaction.state.stack.status === 'IN_PROGRESS') return;
  answerParent(transaction);
}

/** An answer as it goes to the stack around it; what it shows of itself comes with `attributes`. */
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
    sequence: stack.event_sequence,
    ...(failure && { error: failure }),
    // What is refused has nothing to do with what failed before.
    ...(status === 'failed' && !failure && { failures: [...stack.failures] }),
  };
}
