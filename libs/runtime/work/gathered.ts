/** Work by key that takes everything which has arrived for its key at once. */

interface Waiting<T, R> {
  readonly item: T;
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Runs work for groups of items: while the work for a key runs, further items of the key wait and form its next group, in
 * the order of the calls. So many items at once cost few runs, and one item alone waits for nothing. A failed run fails
 * every item of its group.
 */
export class Gathered<T, R> {
  readonly #most: number;
  readonly #waiting = new Map<string, Waiting<T, R>[]>();

  /** @param most the most items of one group */
  constructor({ most }: { most: number }) {
    this.#most = most;
  }

  /**
   * @param work handles a group, and returns a result for each item, in order. It must be the same for every item of a key.
   * @throws whatever `work` throws for the group of this item
   */
  run(key: string, item: T, work: (items: readonly T[]) => Promise<readonly R[]>): Promise<R> {
    const { promise, resolve, reject } = Promise.withResolvers<R>();
    const waiting = this.#waiting.get(key);
    const mine = { item, resolve, reject };
    if (waiting) {
      waiting.push(mine);
    } else {
      this.#waiting.set(key, []);
      void this.#runAll(key, [mine], work);
    }
    return promise;
  }

  async #runAll(
    key: string,
    first: readonly Waiting<T, R>[],
    work: (items: readonly T[]) => Promise<readonly R[]>,
  ): Promise<void> {
    for (let group = first; group.length > 0; group = this.#waiting.get(key)?.splice(0, this.#most) ?? []) {
      try {
        const results = await work(group.map(({ item }) => item));
        for (const [index, { resolve }] of group.entries()) resolve(results[index] as R);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#waiting.delete(key);
  }
}
