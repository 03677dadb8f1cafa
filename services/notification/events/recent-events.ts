/**
 * The newest events of the log in memory, so that a courier that starts for a new event reads no documents for the
 * others since its last run. Without gaps: a process that did not store an event forgets those before it. Pure.
 */

/** An event has some kilobytes at most. */
const most = 1_000;

export class RecentEvents<T extends { readonly sequence: number }> {
  #events: T[] = [];

  /** Takes events that were just stored, in the order of their numbers. */
  add(kept: readonly T[]): void {
    for (const each of kept) {
      const next = (this.#events.at(-1)?.sequence ?? -1) + 1;
      if (each.sequence < next) continue;
      if (each.sequence > next) this.#events = [];
      this.#events.push(each);
    }
    // Half as many again, so that not every event moves all others.
    if (this.#events.length > most * 1.5) this.#events = this.#events.slice(-most);
  }

  /** Forgets the events up to this number, because the log has removed them. */
  remove(upTo: number): void {
    this.#events = this.#events.filter(({ sequence }) => sequence > upTo);
  }

  /** All events after a number and up to another one, or undefined when it lacks one of them. */
  between(after: number, upTo: number): readonly T[] | undefined {
    const first = this.#events[0]?.sequence;
    const last = this.#events.at(-1)?.sequence;
    if (first === undefined || last === undefined || after < first - 1 || upTo > last) return undefined;
    return this.#events.slice(after + 1 - first, upTo + 1 - first);
  }
}
