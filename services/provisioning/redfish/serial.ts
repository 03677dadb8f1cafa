/** One thing at a time per controller: they are slow and fall over, and a dead one must only delay itself. */

/** For work that was cut off to say what it was at. */
const graceMs = 1_000;

export class SerialQueues {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** A signal that comes while the work waits for its turn takes it out of the queue; work in its turn ends by itself. */
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
