/** Admits one item of a subject at a time; the others follow in the order of arrival. Pure. */
export class SubjectLanes<T> {
  readonly #behind = new Map<string, T[]>();

  /** True when the item may start at once. An item without a subject never waits. */
  enter(subject: string | undefined, item: T): boolean {
    if (subject === undefined) return true;
    const behind = this.#behind.get(subject);
    if (!behind) {
      this.#behind.set(subject, []);
      return true;
    }
    behind.push(item);
    return false;
  }

  /** Ends an item of the subject; returns the next one, which may start. */
  leave(subject: string | undefined): T | undefined {
    if (subject === undefined) return undefined;
    const next = this.#behind.get(subject)?.shift();
    if (next === undefined) this.#behind.delete(subject);
    return next;
  }

  clear(): void {
    this.#behind.clear();
  }
}
