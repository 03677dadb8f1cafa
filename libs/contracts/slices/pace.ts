/** Divides long work into slices, so that it does not keep the event loop from other requests. */

/** Long enough that the turns in between cost little, and a small part of the 50 ms that another request may wait. */
const sliceMs = 8;

/**
 * The slices of one piece of work. Its loop asks after each small part whether the slice is over:
 *
 *     if (pace.isOver) await pace.turn();
 */
export class Pace {
  #since = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#since >= sliceMs;
  }

  /** Resolves after everything else that is ready on the event loop had its turn. Begins the next slice. */
  async turn(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#since = performance.now();
  }
}

/** Like `map`, in slices. */
export async function mapInSlices<T, R>(
  items: readonly T[],
  convert: (item: T) => R,
  pace: Pace = new Pace(),
): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) {
    results.push(convert(item));
    if (pace.isOver) await pace.turn();
  }
  return results;
}
