/** The start of the limit on waiting in a queue. */
import type { MessageDocument } from '../../collections.ts';
import type { MessageQueue } from '../../queues/message-queue.ts';
import { requestIn, waitDueAt } from '../decisions/run-limits.ts';
import type { RunContext } from './run-context.ts';
import { lookBy } from './run-timer.ts';

/**
 * Notes that the host can take a request from now on. Nothing changes for a request that it has taken, and when a
 * client takes it meanwhile: then another limit applies.
 */
export async function limitWait(context: RunContext, queue: MessageQueue, message: MessageDocument): Promise<void> {
  const request = requestIn(message);
  if (!request || queue.owner === null || message.taken_at !== undefined) return;
  const first_at = context.queues.now();
  await Promise.all([
    message.first_at === undefined && context.collections.messages.replace({ ...message, first_at }, message.version),
    lookBy(context, queue.owner, waitDueAt(context, request, message.first_at ?? first_at)),
  ]);
}
