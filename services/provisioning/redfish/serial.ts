/**
 * Runs one task at a time per key, because controllers are slow and crash under load. A dead one delays only itself.
 */

/** Time for interrupted work to report its last step. */
const graceMs = 1_000;

export class SerialQueues {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** An abort removes waiting work from the queue. Running work must handle the signal itself. */
  run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    let started = false;
    const start = (): Promise<T> => {
      signal.throwIfAborted();
      started = true;
      return work();
    };
    const turn = before.then(start, start);
    const settled = (): void => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    const tail = turn.then(settled, settled);
    this.#tails.set(key, tail);
    return new Promise((resolve, reject) => {
      let grace: NodeJS.Timeout | undefined;
      const abort = (): void => {
        grace = setTimeout(() => reject(signal.reason as Error), started ? graceMs : 0);
      };
      signal.addEventListener('abort', abort, { once: true });
      const end = (): void => {
        signal.removeEventListener('abort', abort);
        clearTimeout(grace);
      };
      turn.finally(end).then(resolve, reject);
    });
  }

  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }
}
