/** Due times that are near, smallest first, as a hint when to look again. Only the store says which timers are due. */
export class DueTimes {
  readonly #heap: number[] = [];

  get next(): number | undefined {
    return this.#heap[0];
  }

  push(at: number): void {
    const heap = this.#heap;
    let index = heap.push(at) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] ?? at;
      if (above <= at) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = at;
  }

  dropUpTo(now: number): void {
    while (this.#heap[0] !== undefined && this.#heap[0] <= now) this.#pop();
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const smaller = (heap[right] ?? Infinity) < (heap[left] ?? Infinity) ? right : left;
      const below = heap[smaller];
      if (below === undefined || below >= last) break;
      heap[index] = below;
      index = smaller;
    }
    heap[index] = last;
  }
}
