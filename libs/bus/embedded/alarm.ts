/** One timer for everything that is delayed: set for the earliest time, it reports the entries that are due. */
interface Entry<T> {
  readonly at: number;
  readonly what: T;
}

/** Node treats a longer delay as no delay. */
const longestDelayMs = 2 ** 31 - 1;

/** Reports entries when they are due, in milliseconds of the given clock. */
export class Alarm<T> {
  readonly #heap: Entry<T>[] = [];
  readonly #now: () => number;
  readonly #ring: (due: T[]) => void;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Infinity;

  constructor(options: { now: () => number; ring: (due: T[]) => void }) {
    this.#now = options.now;
    this.#ring = options.ring;
  }

  set(at: number, what: T): void {
    const heap = this.#heap;
    const entry = { at, what };
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || above.at <= at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
    this.#arm();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#heap.length = 0;
  }

  #arm(): void {
    const first = this.#heap[0];
    if (!first || (this.#timer && this.#timerAt <= first.at)) return;
    clearTimeout(this.#timer);
    this.#timerAt = first.at;
    const delayMs = Math.min(longestDelayMs, Math.max(0, first.at - this.#now()));
    this.#timer = setTimeout(() => this.#go(), delayMs);
    this.#timer.unref();
  }

  #go(): void {
    this.#timer = undefined;
    const now = this.#now();
    const due: T[] = [];
    for (let first = this.#heap[0]; first && first.at <= now; first = this.#heap[0]) due.push(this.#pop(first).what);
    if (due.length > 0) this.#ring(due);
    this.#arm();
  }

  #pop(first: Entry<T>): Entry<T> {
    const heap = this.#heap;
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const smaller = (heap[right]?.at ?? Infinity) < (heap[left]?.at ?? Infinity) ? right : left;
      const below = heap[smaller];
      if (!below || below.at >= last.at) break;
      heap[index] = below;
      index = smaller;
    }
    heap[index] = last;
    return first;
  }
}
