/**
 * Slows down repeated failures from one place: the first few are free, then each failure doubles the wait. A success
 * resets the count. Memory is bounded: the oldest place is dropped first.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';

/** The limits of attempts, and the clock. */
export interface AttemptOptions {
  now: () => number;
  /** The attempted action, for the message: `Logging in`. */
  what: string;
  free: number;
  longestWaitMs: number;
  mostPlaces?: number;
}

interface Record {
  failures: number;
  until: number;
  last: number;
}

/** Counts failures by place. */
export class Attempts {
  readonly #options: AttemptOptions;
  readonly #places = new Map<string, Record>();

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  /** @throws AnnealError LimitReached while the place has to wait. */
  check(place: string): void {
    const now = this.#options.now();
    const record = this.#places.get(place);
    if (!record || record.until <= now) return;
    const seconds = Math.ceil((record.until - now) / 1000);
    throw new AnnealError(
      'LimitReached',
      `${this.#options.what} failed ${record.failures} times from this address; the next attempt is possible in ${seconds} s.`,
      { details: { retry_after_seconds: seconds } },
    );
  }

  failed(place: string): void {
    const { now, free, longestWaitMs, mostPlaces = 10_000 } = this.#options;
    const at = now();
    const old = this.#places.get(place);
    // Reset the count long after the last failure, or one typing error a day would add up.
    const failures = old && at - old.last < 10 * longestWaitMs ? old.failures + 1 : 1;
    const wait = failures <= free ? 0 : Math.min(longestWaitMs, 1000 * 2 ** Math.min(failures - free - 1, 30));
    this.#places.delete(place);
    this.#places.set(place, { failures, until: at + wait, last: at });
    if (this.#places.size > mostPlaces) {
      const [oldest] = this.#places.keys();
      if (oldest !== undefined) this.#places.delete(oldest);
    }
  }

  succeeded(place: string): void {
    this.#places.delete(place);
  }
}
