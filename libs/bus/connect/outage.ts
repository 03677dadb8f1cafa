/**
 * Ends waits during an outage of the broker. An outage of up to a second counts as none, because a connection that moves
 * to another server of a cluster is back sooner.
 *
 * O1 A call that starts during a short outage waits for its end or for that second, and sends nothing before.
 * O2 A call that waits for an answer learns of a long outage within {@link lookMs}.
 */
import { BrokerAway, type Broker } from '../broker.ts';

const shortMs = 1_000;
const lookMs = 100;

/** Knows the outages of one broker. A broker inside the process has none, and then nothing here waits or ticks. */
export class Outages {
  readonly #broker: Pick<Broker, 'outage'>;
  readonly #now: () => Date;
  readonly #waiting = new Set<(error: BrokerAway) => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ broker, now }: { broker: Pick<Broker, 'outage'>; now: () => Date }) {
    this.#broker = broker;
    this.#now = now;
  }

  /** Waits while an outage is short (O1). @throws BrokerAway when it is long */
  async pass(): Promise<void> {
    while (this.#broker.outage?.()) {
      this.refuse();
      await new Promise((resolve) => void setTimeout(resolve, lookMs));
    }
  }

  /** @throws BrokerAway during a long outage */
  refuse(): void {
    const error = this.#long();
    if (error) throw error;
  }

  /** Calls the listener, once, when an outage is long (O2). Returns a function that ends this. */
  watch(onLong: (error: BrokerAway) => void): () => void {
    if (!this.#broker.outage) return () => undefined;
    this.#waiting.add(onLong);
    this.#timer ??= setInterval(() => this.#look(), lookMs);
    return () => this.#leave(onLong);
  }

  #look(): void {
    const error = this.#long();
    if (!error) return;
    for (const onLong of this.#waiting) {
      this.#leave(onLong);
      onLong(error);
    }
  }

  #leave(onLong: (error: BrokerAway) => void): void {
    this.#waiting.delete(onLong);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #long(): BrokerAway | undefined {
    const outage = this.#broker.outage?.();
    if (!outage || outage.forMs < shortMs) return undefined;
    const since = new Date(this.#now().getTime() - outage.forMs).toISOString().replace(/\.\d+Z$/, 'Z');
    const lasts = `since ${since}, ${Math.round(outage.forMs / 1000)} s`;
    return new BrokerAway(`${outage.reason} (${lasts}).`, { since });
  }
}
