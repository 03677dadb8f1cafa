/** Zaqar's reserved metadata of a user's queue: what Anneal honours of it, and its values. Pure. */
import { numberOf } from '@anneal/contracts/exact-number.ts';
import { mostMessageDelay } from '@anneal/contracts/calls/queues.ts';
import { AnnealError, type Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { QueueLimits } from './limits.ts';
import type { MessageQueue } from './message-queue.ts';

const queueName = /^[A-Za-z0-9_-]{1,64}$/;

export interface ClaimBounds {
  readonly most: number;
  readonly deadLetterQueue: string;
  /** Seconds. Undefined keeps the time to live of the message. */
  readonly ttl: number | undefined;
}

/** Undefined when the queue does not limit claims. */
export function claimBounds(metadata: JsonObject): ClaimBounds | undefined {
  const { _max_claim_count: count, _dead_letter_queue: name, _dead_letter_queue_messages_ttl: ttl } = metadata;
  const most = numberOf(count);
  if (most === undefined || typeof name !== 'string') return undefined;
  return { most, deadLetterQueue: name, ttl: numberOf(ttl) };
}

/** Seconds by which the queue delays a message that names no delay itself. */
export function defaultDelay({ _default_message_delay: seconds }: JsonObject): number {
  return numberOf(seconds) ?? 0;
}

/** Zaqar's default, for a queue that names none. */
const usualTtl = 3600;
/** Zaqar's limits of the default, in seconds. */
const ttlBounds = { least: 60, most: 1_209_600 };

/** Seconds that a message lives that names no time itself. */
export function defaultTtl({ _default_message_ttl: seconds }: JsonObject): number {
  return numberOf(seconds) ?? usualTtl;
}

/** @throws AnnealError TooLarge for a post with more bytes than its queue takes at once. */
export function refuseLargePost({ name, metadata }: { name: string; metadata: JsonObject }, bytes: number): void {
  const most = numberOf(metadata['_max_messages_post_size']);
  if (most === undefined || bytes <= most) return;
  throw new AnnealError(
    'TooLarge',
    `Message collection size is too large. Max size ${most} (_max_messages_post_size of queue ${name}), it has ${bytes}.`,
  );
}

/** @throws AnnealError InvalidRequest that names each key. */
export function checkMetadata(
  queue: MessageQueue,
  metadata: JsonObject,
  { deadLetterSeconds, post }: Pick<QueueLimits, 'deadLetterSeconds' | 'post'>,
): void {
  const wrong = (key: string, valid: (value: Json) => boolean, rule: string): Mistake[] => {
    const value = metadata[key];
    if (value === undefined || value === null) return [];
    if (queue.owner !== null) {
      return [
        { code: 'HostQueue', path: key, message: 'a queue of a host keeps its messages until they are answered' },
      ];
    }
    return valid(value) ? [] : [{ code: 'InvalidMetadata', path: key, message: `must be ${rule}` }];
  };
  const count =
    (most: number, least = 1) =>
    (value: Json) =>
      Number.isInteger(numberOf(value)) && Number(value) >= least && Number(value) <= most;
  const isOther = (value: Json) => typeof value === 'string' && queueName.test(value) && value !== queue.name;
  const mistakes = [
    ...wrong(
      '_default_message_delay',
      count(mostMessageDelay, 0),
      `an integer number of seconds, at most ${mostMessageDelay}`,
    ),
    ...wrong(
      '_default_message_ttl',
      count(ttlBounds.most, ttlBounds.least),
      `an integer number of seconds, from ${ttlBounds.least} to ${ttlBounds.most}`,
    ),
    ...wrong(
      '_max_messages_post_size',
      count(post.most),
      `an integer number of bytes, at most ${post.most} (${post.setting})`,
    ),
    ...wrong('_max_claim_count', count(1_000_000), 'an integer of at least 1'),
    ...wrong('_dead_letter_queue', isOther, 'the name of another queue: 1 to 64 letters, digits, "_" and "-"'),
    ...wrong(
      '_dead_letter_queue_messages_ttl',
      count(deadLetterSeconds.most),
      `an integer number of seconds, at most ${deadLetterSeconds.most} (${deadLetterSeconds.setting})`,
    ),
  ];
  if (mistakes.length === 0) return;
  const text = mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
  throw new AnnealError('InvalidRequest', `Cannot set the metadata of queue ${queue.name}: ${text}`, { mistakes });
}
