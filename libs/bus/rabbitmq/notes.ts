/**
 * What the broker cannot keep for a message that stays in its place: how many attempts have really ended. The broker
 * counts how often it was taken, and that is more: a message given back by a consumer that stops, looked at by an operator,
 * or tried again in place (an event, whose successors wait behind it) was taken without an attempt, or with several.
 * A note says: as of this taking, so many attempts had ended. Only what is delivered again has a note to be read.
 */
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { BusLog } from '../broker.ts';

export interface HistoryEntry {
  readonly at: string;
  readonly error: string;
}

export interface Note extends Document {
  readonly attempts: number;
  /** Takings that are accounted for. */
  readonly taken: number;
  readonly history: readonly HistoryEntry[];
  readonly at: string;
}

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

  /** A store that is gone costs exactness and nothing else: then every taking counts. */
  async read(id: string): Promise<Note | undefined> {
    try {
      return await this.#collection.get(id);
    } catch (error) {
      this.#log.warn({ err: error }, 'The attempts of a message cannot be read; all its deliveries count.');
      return undefined;
    }
  }

  async write(notes: readonly Omit<Note, 'version'>[]): Promise<void> {
    try {
      await this.#collection.bulk(notes.map((document) => ({ kind: 'put', document })));
    } catch (error) {
      this.#log.warn({ err: error }, 'The attempts of messages cannot be kept; what is given back counts as tried.');
    }
  }

  async remove(id: string): Promise<void> {
    await this.#collection.remove(id).catch(() => undefined);
  }

  /** Of messages that ended where nobody could tidy up. */
  async sweep(before: string): Promise<void> {
    const old = await this.#collection.find({ where: { at: { lt: before } }, limit: 1000 });
    await this.#collection.bulk(old.map(({ id }) => ({ kind: 'remove', id })));
  }
}
