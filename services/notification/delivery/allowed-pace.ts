/**
 * Keeps the rate that a listener has allowed (`WebHook-Allowed-Rate`, requests per minute): in no minute more than that.
 * A tenth of the rate may go at once. One number remembers the past, so that the next run keeps the rate too. Pure.
 */

const minuteMs = 60_000;

export class AllowedPace {
  readonly #intervalMs: number;
  readonly #toleranceMs: number;
  /** The time at which all that was sent would have been sent without a burst. */
  #sentUntil: number;

  /** `perMinute`: a positive integer. `sentUntil`: of the previous run. */
  constructor(perMinute: number, sentUntil = 0) {
    const burst = Math.max(1, Math.floor(perMinute / 10));
    this.#intervalMs = minuteMs / (perMinute - burst + 1);
    this.#toleranceMs = (burst - 1) * this.#intervalMs;
    this.#sentUntil = sentUntil;
  }

  /** The state for the next run. */
  get sentUntil(): number {
    return this.#sentUntil;
  }

  /** The earliest time of the next request. */
  get nextAt(): number {
    return Math.ceil(this.#sentUntil - this.#toleranceMs);
  }

  sent(now: number): void {
    this.#sentUntil = Math.max(this.#sentUntil, now) + this.#intervalMs;
  }
}
