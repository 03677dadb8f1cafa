/** Local times of a zone, and the changes of its clock. Pure. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** The distance of two looks at the clock. No zone changes its clock twice in it. */
const lookMs = 4 * hourMs;
/** Zones are up to 12 hours behind UTC and up to 14 ahead of it. One more counts as a margin. */
const [mostBehindMs, mostAheadMs] = [13 * hourMs, 15 * hourMs];

/** The clock of a zone. A local time is written as the instant at which UTC has it, in milliseconds. */
export class Zone {
  readonly #format: Intl.DateTimeFormat | undefined;

  /** @throws RangeError for a name that is no zone */
  constructor(name: string) {
    // The default needs no look at a clock.
    if (name === 'UTC') return;
    this.#format = new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  }

  /** The local time at an instant, to the second. */
  localTime(at: number): number {
    if (!this.#format) return at;
    const parts: Partial<Record<string, number>> = {};
    for (const { type, value } of this.#format.formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  }

  /** The local time less UTC. Zones change their clocks by whole minutes. */
  offset(at: number): number {
    const second = Math.floor(at / 1000) * 1000;
    return this.localTime(second) - second;
  }

  /** The first instant after `from`, up to `to`, from which the offset differs. */
  changeWithin(from: number, to: number): number | undefined {
    const before = this.offset(from);
    for (let at = from; at < to;) {
      const next = Math.min(at + lookMs, to);
      if (this.offset(next) !== before) return this.#changeBetween(at, next);
      at = next;
    }
    return undefined;
  }

  /** The change, to the minute, between an instant and a later one with another offset. */
  #changeBetween(from: number, to: number): number {
    const before = this.offset(from);
    let [low, high] = [Math.floor(from / minuteMs), Math.ceil(to / minuteMs)];
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.offset(middle * minuteMs) === before) low = middle;
      else high = middle;
    }
    return high * minuteMs;
  }

  /**
   * The first instant at which the clock has reached a local time: the first of two when the clock is set back over it,
   * and the end of the gap when the clock skips it.
   */
  firstAt(local: number): number {
    let from = local - mostAheadMs;
    const end = local + mostBehindMs;
    for (;;) {
      const offset = this.offset(from);
      const to = this.changeWithin(from, end);
      // All later instants, up to the next change, have this offset.
      if (to === undefined || to + offset > local) return Math.max(from, local - offset);
      from = to;
    }
  }
}
