/** Limits concurrent tasks. Further tasks wait in the order of arrival. */
export class TaskLane {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Give the place to the next task, or free it.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
