/**
 * Records how many attempts have really ended, which the broker cannot keep for a message that stays in its place. The
 * broker counts deliveries, and that count is not exact. A delivery has no attempt when a stopping consumer gives the
 * message back or an operator looks at it. A delivery has several attempts when an event, whose successors wait behind
 * it, is retried in place. A note says how many attempts had ended as of a delivery. Only a redelivered message has a
 * note to read.
 */
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { BusLog } from '../../bus-log.ts';
import { answerWithin } from '../../connect/within.ts';

/** One failed attempt of a message. */
export interface LoggedAttempt {
  readonly at: string;
  readonly error: string;
}

/** The attempts of one message, in the store under the key of the message. */
export interface Note extends Document {
  readonly attempts: number;
  /** Deliveries that the count includes. */
  readonly taken: number;
  readonly history: readonly LoggedAttempt[];
  readonly at: string;
}

/** A message need not wait for exactness: a process that is cut off from the store must give back what it has. */
const patienceMs = 2_000;

/** Reads and writes the notes of one process. */
export class Notes {
  readonly #collection: Collection<Note>;
  readonly #log: BusLog;

  private constructor(collection: Collection<Note>, log: BusLog) {
    this.#collection = collection;
    this.#log = log;
  }

  static async open({ store, log }: { store: Store; log: BusLog }): Promise<Notes> {
    return new Notes(await store.collection<Note>({ name: 'bus_attempts', indexes: [{ fields: ['at'] }] }), log);
  }

  /** While the store is away, every delivery counts as an attempt: only exactness is lost. */
  async read(id: string): Promise<Note | undefined> {
    try {
      return await answerWithin(this.#collection.get(id), patienceMs);
    } catch (error) {
      this.#log.warn({ err: error }, 'attempts of a message not read; every delivery counts as an attempt');
      return undefined;
    }
  }

  async write(notes: readonly Omit<Note, 'version'>[]): Promise<void> {
    try {
      const put = this.#collection.bulk(notes.map((document) => ({ kind: 'put', document })));
      await answerWithin(put, patienceMs);
    } catch (error) {
      this.#log.warn({ err: error }, 'attempts of messages not stored; returned messages count as attempted');
    }
  }

  async remove(id: string): Promise<void> {
    await this.#collection.remove(id).catch(() => undefined);
  }

  /** Removes notes of messages that ended where no process could clean up. */
  async sweep(before: string): Promise<void> {
    const old = await this.#collection.find({ where: { at: { lt: before } }, limit: 1000 });
    await this.#collection.bulk(old.map(({ id }) => ({ kind: 'remove', id })));
  }
}
