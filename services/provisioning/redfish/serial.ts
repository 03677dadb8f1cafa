/** One thing at a time per controller: they are slow and fall over, and a dead one must only delay itself. */
export class SerialQueues {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** A signal that comes while the work waits for its turn gives the turn to the next. */
  run<T>(key: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const start = (): Promise<T> => {
      signal.throwIfAborted();
      return work();
    };
    const turn = before.then(start, start);
    const settled = (): void => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    const tail = turn.then(settled, settled);
    this.#tails.set(key, tail);
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      turn.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }

  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }
}
