/**
 * Ends waits during an outage of the broker, or of the database. An outage of up to a second counts as none, because a
 * connection that moves to another server of a cluster is back sooner.
 *
 * O1 A call that starts during a short outage waits for its end or for that second, and sends nothing before.
 * O2 A call that waits for an answer learns of a long outage within {@link lookMs}.
 */
import { hasCode, type AnnealError } from '@anneal/contracts/errors.ts';
import { BrokerAway, type BrokerOutage } from '../broker.ts';

/** A longer outage ends the waits. */
export const shortOutageMs = 1_000;
const lookMs = 100;
/** A broken connection is noticed by the next look of the driver, which follows at once. */
const noticedMs = 500;

interface OutagesOptions {
  /** The broker or the database. One inside the process has no outages, and then nothing here waits or ticks. */
  readonly source: { outage?(): BrokerOutage | undefined };
  readonly now: () => Date;
  /** Default: BrokerAway. */
  readonly error?: (message: string, since: string) => AnnealError;
}

/** Knows the outages of one broker or database. */
export class Outages {
  readonly #source: OutagesOptions['source'];
  readonly #now: () => Date;
  readonly #error: NonNullable<OutagesOptions['error']>;
  readonly #waiting = new Set<(error: AnnealError) => void>();
  #timer: NodeJS.Timeout | undefined;

  constructor({ source, now, error }: OutagesOptions) {
    this.#source = source;
    this.#now = now;
    this.#error = error ?? ((message, since) => new BrokerAway(message, { since }));
  }

  /** Waits while an outage is short (O1). @throws AnnealError Unavailable when it is long */
  async pass(): Promise<void> {
    while (this.#source.outage?.()) {
      this.refuse();
      await new Promise((resolve) => void setTimeout(resolve, lookMs));
    }
  }

  /** @throws AnnealError Unavailable during a long outage */
  refuse(): void {
    const error = this.#long();
    if (error) throw error;
  }

  /** Runs an operation after a short outage, and waits for it only until a long one. @throws what `pass` throws */
  async during<R>(run: () => Promise<R>): Promise<R> {
    if (!this.#source.outage) return run();
    await this.pass();
    const { promise: away, reject } = Promise.withResolvers<never>();
    const leave = this.watch(reject);
    try {
      return await Promise.race([run(), away]);
    } catch (error) {
      // An operation fails as the outage begins, perhaps a moment before it is noticed, and knows only its own connection.
      if (hasCode(error, 'Unavailable')) await this.#begun();
      throw error;
    } finally {
      leave();
    }
  }

  /** Waits a moment for an outage to be noticed. @throws what `pass` throws */
  async #begun(): Promise<void> {
    for (const end = performance.now() + noticedMs; performance.now() < end && !this.#source.outage?.();) {
      await new Promise((resolve) => void setTimeout(resolve, lookMs));
    }
    await this.pass();
  }

  /** Calls the listener, once, when an outage is long (O2). Returns a function that ends this. */
  watch(onLong: (error: AnnealError) => void): () => void {
    if (!this.#source.outage) return () => undefined;
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

  #leave(onLong: (error: AnnealError) => void): void {
    this.#waiting.delete(onLong);
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #long(): AnnealError | undefined {
    const outage = this.#source.outage?.();
    if (!outage || outage.forMs < shortOutageMs) return undefined;
    const since = new Date(this.#now().getTime() - outage.forMs).toISOString().replace(/\.\d+Z$/, 'Z');
    const lasts = `since ${since}, ${Math.round(outage.forMs / 1000)} s`;
    return this.#error(`${outage.reason} (${lasts}).`, since);
  }
}
