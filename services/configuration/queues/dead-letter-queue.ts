/** Moves a message that was claimed too often to another queue of the user. */
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { MessageDocument } from '../collections.ts';
import { putMessages } from './put.ts';
import type { QueueContext } from './queue.ts';
import { queueId, type ResolvedQueue } from './names.ts';
import type { ClaimBounds } from './reserved-metadata.ts';

/**
 * Adds the message to the other queue before removing it here. Its id there is derived, so a repeat adds no second one.
 */
export async function moveToDeadLetters(
  context: QueueContext,
  options: ClaimBounds & { from: ResolvedQueue; message: MessageDocument },
): Promise<void> {
  const { from, message, deadLetterQueue, ttl } = options;
  const { project } = from;
  const queue = { id: queueId(project, deadLetterQueue), project, name: deadLetterQueue, host: null, role: null };
  const messages = [{ id: derivedId(`dead:${message.id}`, 'a'), body: message.body, ttl: ttl ?? message.ttl }];
  await putMessages(context, { queue, client_id: message.client_id, messages });
  await context.collections.messages.remove(message.id);
  await context.wake(queue);
}
