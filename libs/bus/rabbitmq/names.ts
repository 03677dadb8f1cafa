/** What stands on the broker: names, and the arguments of each kind of queue. A change here is a new topology version. */
import type { Options } from 'amqplib';
import type { Endpoint } from './url.ts';

/** From one version of it to the next; `../topology.ts` runs them. */
export const topologySteps: readonly (() => Promise<void>)[] = [];

export type QueueKind = 'queue' | 'group';

/** Our own headers. All that the broker counts is a hint; these are the count. */
export const headers = {
  /** Attempts that have ended. */
  attempts: 'x-anneal-attempts',
  /** JSON: one entry per failed attempt. */
  history: 'x-anneal-history',
  /** Of another attempt: the id of the message at its first. */
  origin: 'x-anneal-origin',
  /** Milliseconds since 1970. */
  sentAt: 'x-anneal-sent',
  subject: 'x-anneal-subject',
  /** Of a question: after it nobody waits for the answer. */
  expiresAt: 'x-anneal-expires',
} as const;

/**
 * Waits for another attempt stand in queues of doubling length, so that a short one is never stuck behind a long one: a
 * queue gives up its messages only from its head.
 */
const shortestLevelMs = 64;
const longestLevelMs = 2 ** 31;
/** A queue of waits goes when it has not been used for this long beyond its own length. */
export const idleMs = 10 * 60_000;

export const levelOf = (delayMs: number): number => {
  let level = shortestLevelMs;
  while (level < delayMs && level < longestLevelMs) level *= 2;
  return level;
};

/** Far more than the bus ever tries: the broker must not drop by its own count (RabbitMQ 4 would, at 20). */
const deliveryLimit = 1_000_000;

export class Names {
  readonly #prefix: string;
  readonly #hostQueues: Endpoint['hostQueues'];

  constructor({ prefix, hostQueues }: Pick<Endpoint, 'prefix' | 'hostQueues'>) {
    this.#prefix = prefix;
    this.#hostQueues = hostQueues;
  }

  queue(name: string): string {
    return this.#prefix + name;
  }

  /** The answers to the questions of one process. */
  replies(replica: string): string {
    return this.queue(`anneal.replies.${replica}`);
  }

  /** What one process hears without a group. */
  listener(replica: string, id: string): string {
    return this.queue(`anneal.listeners.${replica}.${id}`);
  }

  get events(): string {
    return `${this.#prefix}anneal.events`;
  }

  retry(name: string, level: number): string {
    return `${this.#prefix}anneal.retry.${level}.${name}`;
  }

  isQuorum(name: string): boolean {
    return this.#hostQueues === 'quorum' || !name.startsWith('host.');
  }

  queueOptions(name: string): Options.AssertQueue {
    return this.isQuorum(name)
      ? { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': deliveryLimit } }
      : { durable: true, arguments: { 'x-queue-type': 'classic' } };
  }

  /** Made and removed at once; `declare.ts` says why. */
  passing(id: string): string {
    return `${this.#prefix}anneal.passing.${id}`;
  }

  get passingOptions(): Options.AssertQueue {
    return { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-expires': idleMs } };
  }

  /**
   * Its messages go back to their queue when their time has come: confirmed there before they leave here, which only
   * quorum queues do. Classic ones lose what is on the way when the broker is killed.
   */
  retryOptions(queue: string, level: number): Options.AssertQueue {
    return {
      durable: true,
      arguments: {
        'x-queue-type': 'quorum',
        'x-dead-letter-exchange': '',
        'x-dead-letter-routing-key': this.queue(queue),
        'x-dead-letter-strategy': 'at-least-once',
        'x-overflow': 'reject-publish',
        'x-expires': Math.min(level + idleMs, 2 ** 32 - 1),
      },
    };
  }
}
