/** How long a store takes to answer. Follows a slow answer at once, and forgets it over the next ten answers. */
const kept = 0.8;

/** Measures how long the store takes to answer a renewal, in milliseconds. */
export class RenewalPace {
  #ms = 0;

  get ms(): number {
    return this.#ms;
  }

  took(ms: number): void {
    this.#ms = Math.max(ms, this.#ms * kept);
  }
}
