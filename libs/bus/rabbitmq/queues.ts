/** The operators' view of the queues, without the management plugin. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Broker } from '../broker.ts';
import type { QueueMeasure } from '../port.ts';
import { arrivalOf } from './delivery.ts';
import { type QuestionChannel, isMissing } from './channel.ts';
import type { Look } from './peek.ts';
import type { RabbitNames } from './names.ts';
import type { QueueRegistry } from './registry.ts';
import type { RabbitRetries } from './retries.ts';
import type { Taker } from './consumer.ts';

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
export function createRabbitQueues(parts: Parts): Broker['queues'] {
  const { names, asker, look, registry, retries, takers, now } = parts;
  const heads = new Map<
    string,
    { readonly sentAt: number | undefined; readonly readAt: number; readonly ready: number }
  >();

  const takersOf = (queue: string): Taker[] => [...takers].filter((taker) => taker.queue === queue);

  const count = async (queue: string): Promise<Counts | undefined> => {
    try {
      const { messageCount, consumerCount } = await asker.ask((channel) => channel.checkQueue(queue));
      return { ready: messageCount, consumers: consumerCount };
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  };

  const waiting = async (queue: string): Promise<number> => {
    const levels = (await registry.get(queue))?.levels ?? [];
    let sum = 0;
    for (const level of levels) sum += (await count(names.retry(queue, level)))?.ready ?? 0;
    return Math.max(sum, retries.out(queue));
  };

  const oldest = async (queue: string, { ready, consumers }: Counts): Promise<number | undefined> => {
    const inHand = takersOf(queue).flatMap((taker) => taker.inHand.flatMap(({ sentAt }) => sentAt ?? []));
    if (inHand.length > 0) return Math.min(...inHand);
    // While there are consumers, a look would take the first messages, and later ones would overtake them.
    if (ready === 0 || consumers > 0) return undefined;
    const known = heads.get(queue);
    const readAt = now().getTime();
    if (known && known.ready <= ready && readAt - known.readAt < headKeptMs) return known.sentAt;
    const [head] = await look(queue, 1);
    const sentAt = head && arrivalOf(queue, head).sentAt;
    heads.set(queue, { sentAt, readAt, ready });
    return sentAt;
  };

  /**
   * Messages move while they are counted: from the queue to a consumer, into the waits, and back. So messages in hand
   * are read before the waits, the waits before the queue, and then those in hand again. A moving message may be
   * counted twice, but is never missed.
   */
  const measure = async (queue: string): Promise<QueueMeasure> => {
    const own = takersOf(queue);
    const offered = (): number => own.reduce((sum, taker) => sum + taker.offered, 0);
    const inHandBefore = offered();
    const later = await waiting(queue);
    const counts = (await count(names.queue(queue))) ?? { ready: 0, consumers: 0 };
    await Promise.all(own.map((taker) => taker.settled()));
    const parked = own.reduce((sum, taker) => sum + taker.inHand.length - taker.offered, 0);
    const inFlight = Math.max(inHandBefore, offered());
    const sentAt = await oldest(queue, counts);
    return {
      name: queue,
      depth: counts.ready + Math.max(later, retries.out(queue)) + parked,
      inFlight,
      consumers: counts.consumers,
      oldestAgeMs: sentAt === undefined ? null : Math.max(0, now().getTime() - sentAt),
    };
  };

  const purge = async (queue: string): Promise<number> => {
    heads.delete(queue);
    retries.forget(queue);
    let dropped = 0;
    const levels = (await registry.get(queue))?.levels ?? [];
    for (const name of [...levels.map((level) => names.retry(queue, level)), names.queue(queue)]) {
      try {
        dropped += (await asker.ask((channel) => channel.purgeQueue(name))).messageCount;
      } catch (error) {
        if (!isMissing(error)) throw error;
      }
    }
    return dropped;
  };

  return {
    declare: parts.declare,
    measure,
    purge,
    async list(prefix = '') {
      const measures: QueueMeasure[] = [];
      for (const { id } of await registry.list(prefix)) measures.push(await measure(id));
      return measures;
    },
    async peek(queue, limit) {
      const bound = Math.max(0, Math.trunc(limit));
      const inHand = takersOf(queue).flatMap((taker) => taker.inHand.map(({ message }) => message.content));
      const first = inHand.slice(0, bound);
      const counts = await count(names.queue(queue));
      if (!counts || counts.ready === 0 || counts.consumers > 0 || first.length === bound) return first;
      return [...first, ...(await look(queue, bound - first.length)).map(({ content }) => content)];
    },
    async remove(queue) {
      const counts = await count(names.queue(queue));
      if (counts && counts.consumers > 0) {
        throw new AnnealError('Conflict', `${queue} has ${counts.consumers} consumers; stop them first.`);
      }
      const levels = (await registry.get(queue))?.levels ?? [];
      const all = [names.queue(queue), ...levels.map((level) => names.retry(queue, level))];
      for (const name of all) await asker.ask((channel) => channel.deleteQueue(name));
      heads.delete(queue);
      retries.forget(queue);
      parts.forget(queue);
      await registry.remove(queue);
    },
  };
}
