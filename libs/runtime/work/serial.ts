/** Work by key, within one process. Across processes, the versions in the store protect each document. */

/**
 * Runs one task at a time per key, in the order of the calls. A task that fails does not stop the next one; only its
 * caller sees the failure.
 */
export class Serial {
  readonly #tails = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    return this.runAll([key], work);
  }

  /** Runs one task when it is its turn for all keys. Its places are taken at once, so tasks never wait in a circle. */
  runAll<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = keys.flatMap((key) => this.#tails.get(key) ?? []);
    const turn = (before.length > 1 ? Promise.all(before) : (before[0] ?? Promise.resolve())).then(work, work);
    const settled = (): void => {
      for (const key of keys) if (this.#tails.get(key) === tail) this.#tails.delete(key);
    };
    const tail = turn.then(settled, settled);
    for (const key of keys) this.#tails.set(key, tail);
    return turn;
  }

  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }
}

const againMs = 1_000;

/**
 * Runs one task at a time per key. A kick during a run causes one more run after it, and so does a run that fails,
 * after a pause. So any number of kicks costs at most one more run, and none is lost.
 */
export class SingleFlight {
  readonly #run: (key: string) => Promise<void>;
  readonly #onError: (error: unknown, key: string) => void;
  readonly #flying = new Map<string, { again: boolean; done: Promise<void> }>();
  #stopping = false;

  constructor(options: { run: (key: string) => Promise<void>; onError: (error: unknown, key: string) => void }) {
    this.#run = options.run;
    this.#onError = options.onError;
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  kick(key: string): void {
    if (this.#stopping) return;
    const flight = this.#flying.get(key);
    if (flight) {
      flight.again = true;
      return;
    }
    const started = { again: false, done: Promise.resolve() };
    this.#flying.set(key, started);
    started.done = this.#fly(key, started);
  }

  /** Accepts no new runs. Resolves when the current runs have ended. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.allSettled([...this.#flying.values()].map(({ done }) => done));
  }

  async #fly(key: string, flight: { again: boolean }): Promise<void> {
    do {
      flight.again = false;
      try {
        await this.#run(key);
      } catch (error) {
        if (this.#stopping) break;
        this.#onError(error, key);
        setTimeout(() => this.kick(key), againMs).unref();
      }
    } while (flight.again && !this.#stopping);
    this.#flying.delete(key);
  }
}
