/** Virtual time: future events in order, and durable timers; setting a timer again moves it. */
interface Happening {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

/** A clock that jumps from one event to the next. `now` is in milliseconds. */
export class SimulatedClock {
  now = 0;
  private readonly grain: number;
  private order = 0;
  private readonly heap: Happening[] = [];
  private readonly timers = new Map<string, number>();

  /** Everything happens at multiples of the grain, in milliseconds. */
  constructor(grain = 1) {
    this.grain = grain;
  }

  after(delay: number, run: () => void): void {
    this.push({ at: this.now + delay, order: (this.order += 1), run });
  }

  setTimer(id: string, at: number, run: () => void): void {
    const order = (this.order += 1);
    this.timers.set(id, order);
    this.push({
      at: Math.max(at, this.now),
      order,
      run: () => {
        if (this.timers.get(id) !== order) return;
        this.timers.delete(id);
        run();
      },
    });
  }

  hasTimer(id: string): boolean {
    return this.timers.has(id);
  }

  cancelTimer(id: string): void {
    this.timers.delete(id);
  }

  /** Runs the next event; false when none is left. */
  tick(): boolean {
    const next = this.pop();
    if (!next) return false;
    this.now = Math.max(this.now, next.at);
    next.run();
    return true;
  }

  private push(item: Happening): void {
    const { heap } = this;
    item = { ...item, at: Math.ceil(item.at / this.grain) * this.grain };
    let index = heap.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(item, heap[parent] as Happening)) break;
      heap[index] = heap[parent] as Happening;
      index = parent;
    }
    heap[index] = item;
  }

  private pop(): Happening | undefined {
    const { heap } = this;
    const [first] = heap;
    const last = heap.pop();
    if (!first || !last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as Happening, heap[child] as Happening)) child += 1;
      if (!before(heap[child] as Happening, last)) break;
      heap[index] = heap[child] as Happening;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

const before = (a: Happening, b: Happening): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);
