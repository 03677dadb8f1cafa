/** Moves rows into the lanes, and items from the lanes to consumers: decides what is read when, and what is delayed. */
import { Alarm } from './alarm.ts';
import type { Database, MessageRow } from './database.ts';
import type { LaneItem, Lane, TakenItem } from './lane.ts';

const pageRows = 256;
const unread = 'seq, subject, sent_at, attempts, due';

/** Fills the lanes and serves their consumers. */
export class Feed {
  readonly #database: Database;
  readonly #now: () => Date;
  readonly #wake: (lane: Lane) => void;
  readonly #alarm: Alarm<{ lane: Lane; item: LaneItem }>;

  constructor(parameters: { database: Database; now: () => Date; wake: (lane: Lane) => void }) {
    this.#database = parameters.database;
    this.#now = parameters.now;
    this.#wake = parameters.wake;
    this.#alarm = new Alarm({ now: () => this.#now().getTime(), ring: (due) => this.#ring(due) });
  }

  stop(): void {
    this.#alarm.stop();
  }

  /** Takes as many items as this lane's members have room for, and marks them as begun in this transaction. */
  offerFrom(lane: Lane, offered: TakenItem[]): void {
    const now = this.#now().getTime();
    let mark = 0;
    for (;;) {
      if (!lane.delayedRead && lane.hasRoom) this.#readDelayed(lane);
      while (lane.hungry) this.#readPage(lane, now);
      const taken = lane.take(now);
      if (!taken) {
        if (lane.hungry) continue;
        break;
      }
      const { item } = taken;
      if (item.kept) {
        if (item.bytes === undefined) {
          item.bytes = this.#database.bytesOf(item.seq);
          item.valid = false;
        }
        if (item.fresh && !lane.holdsBack) mark = Math.max(mark, item.seq);
        else this.#database.write('UPDATE messages SET leased = 1 WHERE seq = ?', item.seq);
      }
      item.fresh = false;
      offered.push(taken);
    }
    if (mark > 0 && lane.id !== undefined) {
      this.#database.write('UPDATE queues SET offered = ? WHERE id = ?', mark, lane.id);
    }
  }

  /** Delays an item until its time, which may have come already. */
  delay(lane: Lane, item: LaneItem, due: number): void {
    item.fresh = false;
    if (due <= this.#now().getTime()) {
      lane.pushAgain(item);
      return;
    }
    lane.delay(item);
    this.#alarm.set(due, { lane, item });
  }

  #readPage(lane: Lane, now: number): void {
    const only = lane.ordered ? '' : 'AND due = 0';
    const rows = this.#database.all(
      `SELECT ${unread}, bytes FROM messages WHERE queue = ? AND seq > ? ${only} ORDER BY seq LIMIT ${pageRows}`,
      lane.id ?? 0,
      lane.readTo,
    ) as unknown as MessageRow[];
    lane.complete = rows.length < pageRows;
    for (const row of rows) {
      lane.readTo = row.seq;
      if (lane.inHand.has(row.seq)) continue;
      const item = itemOf(row);
      if (row.due > now) this.delay(lane, item, row.due);
      else lane.push(item);
    }
  }

  /**
   * Reads the delayed rows of a lane in order of sending. In a lane ordered by subject they keep their place instead.
   */
  #readDelayed(lane: Lane): void {
    lane.delayedRead = true;
    if (lane.ordered) return;
    const rows = this.#database.all(
      `SELECT ${unread}, NULL AS bytes FROM messages WHERE queue = ? AND due > 0 ORDER BY seq`,
      lane.id ?? 0,
    ) as unknown as MessageRow[];
    for (const row of rows) if (!lane.inHand.has(row.seq)) this.delay(lane, itemOf(row), row.due);
  }

  #ring(due: readonly { lane: Lane; item: LaneItem }[]): void {
    for (const { lane, item } of due) {
      // Purged, or read from the rows again, after the alarm was set.
      if (lane.delayed.get(item.seq) !== item) continue;
      lane.delayed.delete(item.seq);
      lane.pushAgain(item);
      this.#wake(lane);
    }
  }
}

function itemOf(row: MessageRow): LaneItem {
  return {
    seq: row.seq,
    subject: row.subject ?? undefined,
    bytes: row.bytes ?? undefined,
    valid: false,
    attempts: row.attempts,
    sentAt: row.sent_at,
    kept: true,
    expiresAt: Infinity,
    fresh: row.due === 0,
  };
}
