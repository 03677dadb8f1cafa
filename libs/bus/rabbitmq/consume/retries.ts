/**
 * Retries a message later: it goes, confirmed, to a queue of waits beside its own, and only then is it acknowledged.
 * When its wait ends, the broker returns it, also confirmed.
 */
import type { QueueRegistry } from '../registry.ts';
import type { Declarer } from '../declare.ts';
import { withoutBrokerHeaders } from './delivery.ts';
import { headers, idleMs, levelOf, type RabbitNames } from '../names.ts';
import type { LoggedAttempt } from './attempt-log.ts';
import type { RabbitPublisher } from '../publish/publisher.ts';
import type { TakenDelivery } from './consumer.ts';

/** All headers of a message have to fit into one frame. */
const historyBytes = 24 * 1024;
/** A message on its way from the waits to its queue is in neither count. It arrives well within this time. */
const wayMs = 300;

interface Parameters {
  readonly names: RabbitNames;
  readonly declarer: Declarer;
  readonly publisher: RabbitPublisher;
  readonly registry: QueueRegistry;
  readonly newId: () => string;
  readonly now: () => Date;
}

/** Sends messages to the queues of waits, from which the broker returns them. */
export class RabbitRetries {
  readonly #parameters: Parameters;
  /** Messages that this process sent to the waits and has not seen again, with the time when each is due. */
  readonly #out = new Map<string, Map<string, number>>();
  /** When this process last made a queue of waits. */
  readonly #made = new Map<string, number>();

  constructor(parameters: Parameters) {
    this.#parameters = parameters;
  }

  async put({ queue, arrival, attempt, history, delayMs }: TakenDelivery & { delayMs: number }): Promise<void> {
    const { names, publisher, newId, now } = this.#parameters;
    const waitMs = Math.max(1, Math.ceil(delayMs));
    const level = levelOf(waitMs);
    const waits = names.retry(queue, level);
    await this.#make(queue, level);
    const { properties, content } = arrival.message;
    const messageId = newId();
    const out = this.#out.get(queue) ?? new Map<string, number>();
    this.#out.set(queue, out.set(messageId, now().getTime() + waitMs));
    const kept = withoutBrokerHeaders(properties.headers);
    const letter = {
      exchange: '',
      key: waits,
      content,
      options: {
        persistent: true,
        mandatory: true,
        messageId,
        expiration: waitMs,
        headers: {
          [headers.origin]: properties.messageId,
          ...kept,
          [headers.attempts]: attempt,
          [headers.history]: historyHeader(history),
        },
      },
    };
    await publisher.send([letter]).catch((error: unknown) => {
      // The queue may not exist any more, so it is declared again the next time.
      this.#made.delete(waits);
      throw error;
    });
  }

  /** Declares the queue of waits, again from time to time, because an idle one is removed. */
  async #make(queue: string, level: number): Promise<void> {
    const { names, declarer, registry, now } = this.#parameters;
    const waits = names.retry(queue, level);
    const madeAt = this.#made.get(waits);
    if (madeAt !== undefined && now().getTime() - madeAt < idleMs / 2) return;
    await registry.addLevel(queue, level, 'queue');
    await declarer.make(waits, names.retryOptions(queue, level));
    this.#made.set(waits, now().getTime());
  }

  seen(queue: string, messageId: unknown): void {
    if (typeof messageId === 'string') this.#out.get(queue)?.delete(messageId);
  }

  forget(queue: string): void {
    this.#out.delete(queue);
    for (const waits of this.#made.keys()) if (waits.endsWith(`.${queue}`)) this.#made.delete(waits);
  }

  /** The number of this process's messages that wait or are on their way back. */
  out(queue: string): number {
    const out = this.#out.get(queue);
    if (!out) return 0;
    const now = this.#parameters.now().getTime();
    for (const [id, due] of out) if (due + wayMs < now) out.delete(id);
    if (out.size === 0) this.#out.delete(queue);
    return out.size;
  }
}

/** Keeps the first and the last entries, which say most. */
function historyHeader(history: readonly LoggedAttempt[]): string {
  const kept = [...history];
  let text = JSON.stringify(kept);
  while (kept.length > 1 && Buffer.byteLength(text) > historyBytes) {
    kept.splice(1, 1);
    text = JSON.stringify(kept);
  }
  return text;
}
