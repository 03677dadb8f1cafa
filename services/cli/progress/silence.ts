/** Decides when a watcher of a stack asks why nothing happens, and whether the answer is worth a line. Pure. */

/** How long nothing has to happen, and the time between two questions. */
const askAfterMs = 30_000;

/** The silence of one stack. Give it the time of the same clock in each call, in milliseconds. */
export class Silence {
  #since: number;
  #said: string | undefined;

  constructor(now: number) {
    this.#since = now;
  }

  /** Something happened: the reason of before counts no more. */
  break(now: number): void {
    this.#since = now;
    this.#said = undefined;
  }

  /** True when it is time to ask. The next question is due the same time later. */
  isDue(now: number): boolean {
    if (now - this.#since < askAfterMs) return false;
    this.#since = now;
    return true;
  }

  /** True for a reason that was not reported last. */
  isNew(reason: string): boolean {
    if (reason === this.#said) return false;
    this.#said = reason;
    return true;
  }
}
