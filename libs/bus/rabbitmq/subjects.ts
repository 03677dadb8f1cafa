/** One of a subject at a time, the others in the order in which they came. Pure. */
export class SubjectLanes<T> {
  readonly #behind = new Map<string, T[]>();

  /** True when it is its turn at once. What has no subject never waits. */
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

  /** Whose turn it is when the one before has ended. */
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
