/** Limits concurrent tasks. Further tasks wait in the order of arrival. */
export class TaskLane {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /**
   * @param longMs a task that takes longer than this waits for something else: it continues, and gives its place to the next.
   *   Absent: every task keeps its place
   */
  async run<T>(work: () => Promise<T>, { longMs }: { longMs?: number } = {}): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    let hasPlace = true;
    const leave = (): void => {
      if (!hasPlace) return;
      hasPlace = false;
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    };
    const timer = longMs === undefined ? undefined : setTimeout(leave, longMs);
    try {
      return await work();
    } finally {
      clearTimeout(timer);
      leave();
    }
  }
}
