/**
 * Limits on users' queues. The queues of hosts have no such limits, because a refused config would be lost.
 *
 * Bytes are counted from the oldest message on: each message stores how many bytes its queue had received before it,
 * and the queue stores how many it has received. The count never decreases, so it cannot drift. When newer messages are
 * deleted before the oldest one, their bytes become free when the oldest one is removed.
 */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Admission, Admit } from '@anneal/runtime/service/project-quotas.ts';
import type { ConfigurationCollections, MessageDocument, QueueDocument } from '../collections.ts';

interface Limit {
  readonly most: number;
  /** The name of the setting. */
  readonly setting: string;
}

export interface QueueLimits {
  /** Admits a queue within the quota of its project. The queues of hosts do not count. */
  readonly admitQueue: Admit;
  /** Limit per queue. */
  readonly messages: Limit;
  readonly bytes: Limit;
  /** Bytes of all messages of one post. */
  readonly post: Limit;
  /** Seconds that a message may live in a dead-letter queue. */
  readonly deadLetterSeconds: Limit;
}

/** More than there are replicas: {@link Admission.roomy}. */
export const roomyQuota = 100;

export const isQuotaRefusal = (error: unknown): boolean => hasCode(error, 'QuotaExceeded');

/** The admission of a new queue of a project. */
export const admissionOfQueue = ({ queues }: Pick<ConfigurationCollections, 'queues'>, project: string): Admission => ({
  wanted: 1,
  roomy: roomyQuota,
  count: () => queues.count({ host_id: null, project }),
  refusal: ({ there, limit: { most, setting } }) =>
    new AnnealError(
      'QuotaExceeded',
      `Cannot create the queue: the project has ${there} queues and the limit is ${most} (${setting}). Delete some queues first.`,
    ),
});

/** @throws AnnealError TooLarge for a post with more bytes than allowed. */
export function refusePost(messages: unknown, { post: { most, setting } }: QueueLimits): void {
  const size = Buffer.byteLength(JSON.stringify(messages));
  if (size <= most) return;
  throw new AnnealError(
    'TooLarge',
    `Message collection size is too large. Max size ${most} (${setting}), it has ${size}.`,
  );
}

/** @throws AnnealError LimitReached */
export async function refuseMessages(
  { messages }: Pick<ConfigurationCollections, 'messages'>,
  limits: QueueLimits,
  about: { queue: QueueDocument; oldest: MessageDocument | undefined; added: { messages: number; bytes: number } },
): Promise<void> {
  const { queue, oldest, added } = about;
  if (!oldest) return;
  const refuse = (there: number, what: 'messages' | 'bytes'): never => {
    const { most, setting } = limits[what];
    throw new AnnealError(
      'LimitReached',
      `Queue ${queue.name} has ${there} ${what}; with ${added[what]} more it would exceed its ${most} (${setting}). Take or delete messages first.`,
    );
  };
  // The distance between the oldest and the next sequence number bounds the count, so most posts need not count.
  const atMost = queue.next - oldest.sequence;
  const bytes = (queue.bytes ?? 0) - (oldest.bytes_before ?? 0);
  const isNear = atMost + added.messages > limits.messages.most || bytes + added.bytes > limits.bytes.most;
  if (!isNear) return;
  const count = await messages.count({ queue: queue.id });
  if (count + added.messages > limits.messages.most) refuse(count, 'messages');
  // No message is larger than a post, unless the setting was lowered since.
  const atMostBytes = Math.min(bytes, count * limits.post.most);
  if (atMostBytes + added.bytes > limits.bytes.most) refuse(atMostBytes, 'bytes');
}
