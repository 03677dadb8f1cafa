/**
 * The events of one subscription that are in memory: one lane for each subject. Pure.
 *
 * A lane is `ready`, `busy` (its first events are being sent) or `waiting` (its first event failed and has its own
 * schedule). Only the first events of a lane are sent, and a busy lane sends nothing more, so each subject stays in order.
 *
 * A subscription that condenses holds each event of the log until the end of its window, before the event enters a lane.
 *
 * The position of a subscription in the log is a number and the few numbers above it that are settled already. An event
 * is settled when it is delivered, or stored as a delivery of its own.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { DeliveryDocument } from './deliveries.ts';

export interface SubjectItem {
  readonly sequence: number;
  /** Events of the same subject are sent one after the other. */
  readonly subject: string;
  readonly event: Envelope;
  /**
   * The delivery that stores this event. Undefined while only the log stores it. Its version is 0 when this run has
   * written it without reading it.
   */
  document: DeliveryDocument | undefined;
  /** Attempts that failed because of this event, not because the listener was away. */
  tries: number;
  /** Time of the latest failed attempt. */
  failedAt: number;
  attempts: DeliveryDocument['attempts'];
  /** True when a request with several events was refused: then each is sent alone, to find the refused one. */
  alone: boolean;
  isSettled: boolean;
}

interface Lane {
  readonly subject: string;
  items: SubjectItem[];
  isBusy: boolean;
  /** The lane waits until this time. */
  dueAt: number;
}

/** The position of a subscription in the log. */
export interface LogPosition {
  /** All wanted events up to this number are settled. */
  readonly cursor: number;
  /** Settled events above the cursor. */
  readonly ahead: number[];
}

export const subjectItem = (
  { sequence, event }: { sequence: number; event: Envelope },
  document?: DeliveryDocument,
): SubjectItem => ({
  sequence,
  // An event without a subject needs no order.
  subject: event.subject ?? event.id,
  event,
  document,
  tries: document?.tries ?? 0,
  failedAt: -Infinity,
  attempts: document?.attempts ?? [],
  alone: false,
  isSettled: false,
});

export class EventLanes {
  readonly #lanes = new Map<string, Lane>();
  /** In the order in which they became ready. */
  readonly #ready = new Set<Lane>();
  readonly #waiting = new Set<Lane>();
  /** The events from the log that the cursor has not passed, in the order of the log. */
  #log: SubjectItem[] = [];
  /** Events from the log whose window has not ended, in the order of the log. */
  #held: SubjectItem[] = [];
  readonly #holds: boolean;
  #readUpTo: number;
  #size = 0;

  constructor(cursor: number, { holds = false }: { holds?: boolean } = {}) {
    this.#readUpTo = cursor;
    this.#holds = holds;
  }

  /** The event that began the running window. */
  get firstHeld(): Envelope | undefined {
    return this.#held[0]?.event;
  }

  /** Number of events in memory that are not delivered. */
  get size(): number {
    return this.#size;
  }

  /** Number of events from the log that the cursor has not passed. */
  get window(): number {
    return this.#log.length;
  }

  get isReady(): boolean {
    return this.#ready.size > 0;
  }

  get readUpTo(): number {
    return this.#readUpTo;
  }

  /** The log was read up to this number. */
  advance(readUpTo: number): void {
    this.#readUpTo = Math.max(this.#readUpTo, readUpTo);
  }

  add(item: SubjectItem): void {
    if (!item.document) {
      this.#log.push(item);
      this.advance(item.sequence);
    }
    this.#size += 1;
    if (this.#holds && !item.document) this.#held.push(item);
    else this.#enter(item);
  }

  /** Ends the window: its events enter their lanes, or of each subject only the latest one. The others are settled. */
  release({ latestOnly }: { latestOnly: boolean }): void {
    const held = this.#held;
    this.#held = [];
    const latest = new Map(held.map((item) => [item.subject, item]));
    for (const item of held) {
      if (!latestOnly || latest.get(item.subject) === item) this.#enter(item);
      else {
        item.isSettled = true;
        this.#size -= 1;
      }
    }
  }

  #enter(item: SubjectItem): void {
    const dueAt = item.document?.due_at ?? 0;
    const lane = this.#lanes.get(item.subject);
    if (lane) {
      lane.items.push(item);
      return;
    }
    const made: Lane = { subject: item.subject, items: [item], isBusy: false, dueAt };
    this.#lanes.set(item.subject, made);
    this.#place(made);
  }

  /** Takes the events of the next request. They are in order per subject. */
  take(most: number): SubjectItem[] {
    const taken: SubjectItem[] = [];
    for (const lane of this.#ready) {
      const alone = lane.items[0]?.alone ?? false;
      if (alone && taken.length > 0) continue;
      const end = alone ? 1 : lane.items.findIndex(({ alone: isAlone }) => isAlone);
      const count = Math.min(most - taken.length, end < 0 ? lane.items.length : end);
      taken.push(...lane.items.splice(0, count));
      lane.isBusy = true;
      this.#ready.delete(lane);
      if (alone || taken.length >= most) break;
    }
    return taken;
  }

  /** Takes one event to find out whether the listener is back, if possible not one of these subjects. */
  probe(avoid: ReadonlySet<string>): SubjectItem[] {
    for (const lane of this.#ready) {
      if (avoid.has(lane.subject)) continue;
      this.#ready.delete(lane);
      lane.isBusy = true;
      return lane.items.splice(0, 1);
    }
    return this.take(1);
  }

  /** The request with these events succeeded. */
  succeeded(items: readonly SubjectItem[]): void {
    this.#size -= items.length;
    for (const item of items) item.isSettled = true;
    for (const lane of this.#lanesOf(items)) {
      this.#next(lane);
    }
  }

  /** The request with these events failed: their lanes continue with them at that time, behind all that are ready now. */
  putBack(items: readonly SubjectItem[], dueAt = 0): void {
    for (const item of items.toReversed()) this.#lanes.get(item.subject)?.items.unshift(item);
    for (const lane of this.#lanesOf(items)) {
      lane.isBusy = false;
      lane.dueAt = dueAt;
      this.#place(lane);
    }
  }

  /** The first event of a lane is given up; the next one follows. Its delivery must be stored before the cursor passes it. */
  giveUp(item: SubjectItem): void {
    this.#size -= 1;
    const lane = this.#lanes.get(item.subject);
    if (lane) this.#next(lane);
  }

  /** True when an event of another subject can be sent. */
  hasOther(subject: string): boolean {
    for (const lane of this.#ready) if (lane.subject !== subject) return true;
    return false;
  }

  /** The time until which the lane of an event waits; undefined when it does not wait. */
  dueAt({ subject }: SubjectItem): number | undefined {
    const lane = this.#lanes.get(subject);
    return lane && this.#waiting.has(lane) ? lane.dueAt : undefined;
  }

  /** Makes the waiting lanes that are due ready. Returns the time when the next one is due. */
  awake(now: number): number | undefined {
    let next: number | undefined;
    for (const lane of this.#waiting) {
      if (lane.dueAt <= now) {
        lane.dueAt = 0;
        this.#place(lane);
      } else next = Math.min(next ?? Infinity, lane.dueAt);
    }
    return next;
  }

  /** Makes the lanes of these subjects ready, also before they are due. */
  pullForward(subjects: Iterable<string>): void {
    for (const subject of subjects) {
      const lane = this.#lanes.get(subject);
      if (!lane || !this.#waiting.has(lane)) continue;
      lane.dueAt = 0;
      this.#place(lane);
    }
  }

  /**
   * Events in waiting lanes that no delivery stores yet. The first of a lane has the time of its next attempt; those
   * behind it have not been attempted.
   */
  unfiled(most: number): { item: SubjectItem; dueAt: number | undefined }[] {
    const found: { item: SubjectItem; dueAt: number | undefined }[] = [];
    for (const { items, dueAt } of this.#waiting) {
      for (const [index, item] of items.entries()) {
        if (item.document) continue;
        if (found.length >= most) return found;
        found.push({ item, dueAt: index === 0 ? dueAt : undefined });
      }
    }
    return found;
  }

  /** Forgets the events up to this number that are not being sent and that no delivery stores: the log removed them. */
  forget(upTo: number): void {
    for (const item of this.#held) {
      if (item.sequence > upTo) break;
      item.isSettled = true;
      this.#size -= 1;
    }
    this.#held = this.#held.filter(({ isSettled }) => !isSettled);
    for (const lane of this.#lanes.values()) {
      const left = lane.items.filter(({ sequence, document }) => document !== undefined || sequence > upTo);
      if (left.length === lane.items.length) continue;
      for (const item of lane.items) if (!left.includes(item)) item.isSettled = true;
      this.#size -= lane.items.length - left.length;
      lane.items = left;
      if (left.length > 0 || lane.isBusy) continue;
      this.#ready.delete(lane);
      this.#waiting.delete(lane);
      this.#lanes.delete(lane.subject);
    }
    this.advance(upTo);
  }

  position(): LogPosition {
    let settled = 0;
    while (this.#log[settled]?.isSettled === true) settled += 1;
    if (settled > 0) this.#log = this.#log.slice(settled);
    const [first] = this.#log;
    return {
      cursor: first ? first.sequence - 1 : this.#readUpTo,
      ahead: this.#log.filter(({ isSettled }) => isSettled).map(({ sequence }) => sequence),
    };
  }

  /** Continues a lane with its next event, which has not been attempted. */
  #next(lane: Lane): void {
    lane.isBusy = false;
    lane.dueAt = 0;
    if (lane.items.length === 0) this.#lanes.delete(lane.subject);
    else this.#place(lane);
  }

  #lanesOf(items: readonly SubjectItem[]): Set<Lane> {
    return new Set(items.flatMap(({ subject }) => this.#lanes.get(subject) ?? []));
  }

  #place(lane: Lane): void {
    this.#ready.delete(lane);
    this.#waiting.delete(lane);
    (lane.dueAt > 0 ? this.#waiting : this.#ready).add(lane);
  }
}
