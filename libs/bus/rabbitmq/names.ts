/**
 * The topology on the broker: names, and the arguments of each kind of queue. A change here is a new topology version.
 */
import type { Options } from 'amqplib';
import type { BrokerEndpoint } from './url.ts';

/** Steps from one version of the topology to the next; `../topology.ts` runs them. */
export const rabbitTopologySteps: readonly (() => Promise<void>)[] = [];

/** The arguments for the declaration of a queue. */
export interface DeclareOptions extends Options.AssertQueue {
  /** The arguments that earlier versions declared. A queue that has them is used as it is. */
  readonly earlier?: Options.AssertQueue;
}

/** A queue of requests or responses, or the queue of a group of event listeners. */
export type QueueKind = 'queue' | 'group';

/** Our own headers. The broker's counts are only a hint; these are exact. */
export const headers = {
  /** Attempts that have ended. */
  attempts: 'x-anneal-attempts',
  /** JSON: one entry per failed attempt. */
  history: 'x-anneal-history',
  /** On a retry: the id of the message at its first attempt. */
  origin: 'x-anneal-origin',
  /** Milliseconds since 1970. */
  sentAt: 'x-anneal-sent',
  subject: 'x-anneal-subject',
  /** On a question: the time after which its requester no longer waits. */
  expiresAt: 'x-anneal-expires',
  /** On a message that the broker gave up: the reason. Its consumer makes it a dead letter. */
  givenUp: 'x-anneal-given-up',
  /** The number of such returns. */
  returns: 'x-anneal-returns',
} as const;

/**
 * Retries wait in queues of doubling length, so that a short wait is never stuck behind a long one, because a queue
 * releases its messages only from its head.
 */
const shortestLevelMs = 64;
const longestLevelMs = 2 ** 31;
/** An idle queue of waits is removed after its own length plus this time. */
export const idleMs = 10 * 60_000;

/** The length of the wait that serves a delay: the next longer of a few, up to the longest. In milliseconds. */
export const levelOf = (delayMs: number): number => {
  let level = shortestLevelMs;
  while (level < delayMs && level < longestLevelMs) level *= 2;
  return level;
};

/** Far more than the bus ever tries. The broker must not drop a message by its own count (RabbitMQ 4 does so at 20). */
const deliveryLimit = 1_000_000;

/** The names of queues and exchanges under a prefix. */
export class RabbitNames {
  readonly #prefix: string;
  readonly #hostQueues: BrokerEndpoint['hostQueues'];

  constructor({ prefix, hostQueues }: Pick<BrokerEndpoint, 'prefix' | 'hostQueues'>) {
    this.#prefix = prefix;
    this.#hostQueues = hostQueues;
  }

  queue(name: string): string {
    return this.#prefix + name;
  }

  /** The inbox for answers to the questions of one process. */
  replies(replica: string): string {
    return this.queue(`anneal.replies.${replica}`);
  }

  /** The queue of one listener without a group. */
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

  queueOptions(name: string): DeclareOptions {
    const earlier = this.#firstOptions(name);
    const dead = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': this.rejected };
    return { ...earlier, arguments: { ...(earlier.arguments as object), ...dead }, earlier };
  }

  /** The arguments before there was a queue of rejected messages. A queue keeps its arguments for ever. */
  #firstOptions(name: string): Options.AssertQueue {
    return this.isQuorum(name)
      ? { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': deliveryLimit } }
      : { durable: true, arguments: { 'x-queue-type': 'classic' } };
  }

  /** Messages that a foreign consumer rejected without returning them, from all queues (`rejected.ts`). */
  get rejected(): string {
    return `${this.#prefix}anneal.rejected`;
  }

  get rejectedOptions(): Options.AssertQueue {
    return this.#firstOptions('anneal.rejected');
  }

  /** The name in the port of a queue of ours at the broker. Undefined for another installation's. */
  portNameOf(nameAtBroker: string): string | undefined {
    return nameAtBroker.startsWith(this.#prefix) ? nameAtBroker.slice(this.#prefix.length) : undefined;
  }

  /** A queue that is declared and removed at once; `declare.ts` says why. */
  passing(id: string): string {
    return `${this.#prefix}anneal.passing.${id}`;
  }

  get passingOptions(): Options.AssertQueue {
    return { durable: true, arguments: { 'x-queue-type': 'quorum', 'x-expires': idleMs } };
  }

  /**
   * Messages return to their queue after their wait. They are confirmed there before they leave here, which only quorum
   * queues do. Classic queues lose messages on the way when the broker is killed.
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
