/** One thing at a time per controller: they are slow and fall over, and a dead one must only delay itself. */
export class SerialQueues {
  readonly #tails = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const result = before.then(work, work);
    const settled = (): void => {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    const tail = result.then(settled, settled);
    this.#tails.set(key, tail);
    return result;
  }

  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }
}
