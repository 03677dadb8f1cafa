/**
 * One reading for all requests that ask the same at the same time.
 *
 * R1 The reading whose answer a request gets begins after the request came, so that a client always reads what it has
 *    changed before. Requests that come while a reading runs wait for its end, and share the next one.
 */
export class SharedReads<T> {
  readonly #running = new Map<string, { readonly now: Promise<T>; next?: Promise<T> }>();

  /** Reads, or waits for the reading of another request with the same key. A failed reading fails for all that share it. */
  read(key: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (!running) return this.#begin(key, work);
    // R1
    const begin = (): Promise<T> => this.#begin(key, work);
    running.next ??= running.now.then(begin, begin);
    return running.next;
  }

  #begin(key: string, work: () => Promise<T>): Promise<T> {
    const running: { readonly now: Promise<T>; next?: Promise<T> } = { now: work() };
    this.#running.set(key, running);
    const end = (): void => {
      if (running.next === undefined) this.#running.delete(key);
    };
    running.now.then(end, end);
    return running.now;
  }
}
