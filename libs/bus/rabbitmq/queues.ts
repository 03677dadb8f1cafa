/** The operators' view of the queues, without the management plugin. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { BrokerQueues } from '../broker.ts';
import type { QueueMeasure } from '../port.ts';
import { arrivalOf } from './consume/delivery.ts';
import { type QuestionChannel, isMissing } from './channel.ts';
import type { Look } from './peek.ts';
import type { RabbitNames } from './names.ts';
import type { QueueRegistry } from './registry.ts';
import type { RabbitRetries } from './consume/retries.ts';
import type { Taker } from './consume/consumer.ts';

interface Parts {
  readonly names: RabbitNames;
  readonly asker: QuestionChannel;
  readonly look: Look;
  readonly registry: QueueRegistry;
  readonly retries: RabbitRetries;
  readonly takers: ReadonlySet<Taker>;
  readonly declare: (queue: string) => Promise<void>;
  readonly forget: (queue: string) => void;
  readonly now: () => Date;
}

interface Counts {
  readonly ready: number;
  readonly consumers: number;
}

/** Without a consumer the first message stays the first, so its time is kept for this long. */
const headKeptMs = 10_000;

/** The operators' view of the queues. */
export class RabbitQueues implements BrokerQueues {
  readonly declare: (queue: string) => Promise<void>;
  readonly #parts: Parts;
  readonly #heads = new Map<
    string,
    { readonly sentAt: number | undefined; readonly readAt: number; readonly ready: number }
  >();

  constructor(parts: Parts) {
    this.#parts = parts;
    this.declare = parts.declare;
  }

  /**
   * Messages move while they are counted: from the queue to a consumer, into the waits, and back. So messages in hand
   * are read before the waits, the waits before the queue, and then those in hand again. A moving message may be
   * counted twice, but is never missed.
   */
  async measure(queue: string): Promise<QueueMeasure> {
    const { names, retries, now } = this.#parts;
    const own = this.#takersOf(queue);
    const offered = (): number => own.reduce((sum, taker) => sum + taker.offered, 0);
    const inHandBefore = offered();
    const later = await this.#waiting(queue);
    const counts = (await this.#count(names.queue(queue))) ?? { ready: 0, consumers: 0 };
    await Promise.all(own.map((taker) => taker.settled()));
    const parked = own.reduce((sum, taker) => sum + taker.inHand.length - taker.offered, 0);
    const inFlight = Math.max(inHandBefore, offered());
    const sentAt = await this.#oldest(queue, counts);
    return {
      name: queue,
      depth: counts.ready + Math.max(later, retries.out(queue)) + parked,
      inFlight,
      consumers: counts.consumers,
      oldestAgeMs: sentAt === undefined ? null : Math.max(0, now().getTime() - sentAt),
    };
  }

  async list(prefix = ''): Promise<QueueMeasure[]> {
    const measures: QueueMeasure[] = [];
    for (const { id } of await this.#parts.registry.list(prefix)) measures.push(await this.measure(id));
    return measures;
  }

  async peek(queue: string, limit: number): Promise<Buffer[]> {
    const { names, look } = this.#parts;
    const bound = Math.max(0, Math.trunc(limit));
    const inHand = this.#takersOf(queue).flatMap((taker) => taker.inHand.map(({ message }) => message.content));
    const first = inHand.slice(0, bound);
    const counts = await this.#count(names.queue(queue));
    if (!counts || counts.ready === 0 || counts.consumers > 0 || first.length === bound) return first;
    return [...first, ...(await look(queue, bound - first.length)).map(({ content }) => content)];
  }

  async purge(queue: string): Promise<number> {
    const { names, asker, retries } = this.#parts;
    this.#heads.delete(queue);
    retries.forget(queue);
    let dropped = 0;
    for (const name of [...(await this.#retryQueues(queue)), names.queue(queue)]) {
      try {
        dropped += (await asker.ask((channel) => channel.purgeQueue(name))).messageCount;
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
    return dropped;
  }

  async remove(queue: string): Promise<void> {
    const { names, asker, retries, registry, forget } = this.#parts;
    const counts = await this.#count(names.queue(queue));
    if (counts && counts.consumers > 0) {
      throw new AnnealError('Conflict', `${queue} has ${counts.consumers} consumers; stop them first.`);
    }
    const waits = await this.#retryQueues(queue);
    for (const name of waits) await this.#awaitLeader(name);
    for (const name of [names.queue(queue), ...waits]) await asker.ask((channel) => channel.deleteQueue(name));
    this.#heads.delete(queue);
    retries.forget(queue);
    forget(queue);
    await registry.remove(queue);
  }

  #takersOf(queue: string): Taker[] {
    return [...this.#parts.takers].filter((taker) => taker.queue === queue);
  }

  /** The queues of the broker in which messages wait for their next attempt. */
  async #retryQueues(queue: string): Promise<string[]> {
    const { names, registry } = this.#parts;
    const levels = (await registry.get(queue))?.levels ?? [];
    return levels.map((level) => names.retry(queue, level));
  }

  /**
   * Before a queue of waits is deleted, because RabbitMQ 3.10 that deletes one in the moment of its election, just after
   * a start, loses the process that serves all of them. A queue of waits that is declared meanwhile stays dead.
   */
  async #awaitLeader(name: string): Promise<void> {
    const { asker } = this.#parts;
    try {
      // Only the leader hands out a message.
      await asker.ask(async (channel) => {
        const message = await channel.get(name);
        if (message) channel.nack(message);
      });
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
  }

  async #count(name: string): Promise<Counts | undefined> {
    try {
      const { messageCount, consumerCount } = await this.#parts.asker.ask((channel) => channel.checkQueue(name));
      return { ready: messageCount, consumers: consumerCount };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #waiting(queue: string): Promise<number> {
    let sum = 0;
    for (const name of await this.#retryQueues(queue)) sum += (await this.#count(name))?.ready ?? 0;
    return Math.max(sum, this.#parts.retries.out(queue));
  }

  /** When the oldest message was sent, in milliseconds; undefined when it is not known or there is none. */
  async #oldest(queue: string, { ready, consumers }: Counts): Promise<number | undefined> {
    const inHand = this.#takersOf(queue).flatMap((taker) => taker.inHand.flatMap(({ sentAt }) => sentAt ?? []));
    if (inHand.length > 0) return Math.min(...inHand);
    // While there are consumers, a look would take the first messages, and later ones would overtake them.
    if (ready === 0 || consumers > 0) return undefined;
    const known = this.#heads.get(queue);
    const readAt = this.#parts.now().getTime();
    if (known && known.ready <= ready && readAt - known.readAt < headKeptMs) return known.sentAt;
    const [head] = await this.#parts.look(queue, 1);
    const sentAt = head && arrivalOf(queue, head).sentAt;
    this.#heads.set(queue, { sentAt, readAt, ready });
    return sentAt;
  }
}
