/** The form in which a client receives a host's request, and the timers that start when it does. */
import { hostRequestSchema, type QueueMessage } from '@anneal/contracts/configuration.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { MessageDocument } from '../collections.ts';
import { firstMessage, shownMessage, type QueueContext } from './queue.ts';
import type { ResolvedQueue } from './names.ts';
import type { RunContext } from '../deployments/run-context.ts';
import { limitAnswer } from '../deployments/run-timer.ts';
import { handedOut } from '../deployments/time-limit.ts';

export const claimTimer = (messageId: string): string => `claim:${messageId}`;

/** Shows a message, with the remaining time in a request to a host. */
export function handOut(context: QueueContext, queue: ResolvedQueue, message: MessageDocument): QueueMessage {
  const plain = shownMessage(context, message);
  if (queue.role !== 'requests') return plain;
  const request = hostRequestSchema.safeParse(plain.body);
  if (!request.success) return plain;
  const now = context.now();
  const body = handedOut(request.data, { now, takenAt: message.taken_at ?? now });
  return { ...plain, body: body as unknown as Json };
}

/** Counts a host's read of its queue as taking the first request, because some hosts apply requests without a claim. */
export async function recordContact(context: RunContext, queue: ResolvedQueue): Promise<void> {
  const first = await firstMessage(context.queues, queue);
  if (!first || first.taken_at !== undefined) return;
  const looked = await context.collections.messages.replace(
    { ...first, taken_at: context.queues.now() },
    first.version,
  );
  if (looked) await context.timers().set(limitAnswer(looked));
}

/** Sets the timers that wake waiting clients when the claim ends and that fail the run without an answer. */
export async function watchClaimed(context: RunContext, queue: ResolvedQueue, message: MessageDocument): Promise<void> {
  const claim = {
    id: claimTimer(message.id),
    dueAt: message.claim_expires_at,
    data: { message: message.id, host: queue.host?.id ?? '' },
  };
  const first = message.claim_count === 1;
  await context.timers().set([claim, ...(first ? limitAnswer(message) : [])]);
}
