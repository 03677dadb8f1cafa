/** The collections of a store: the indexes that this process has declared, and one queue of writes for each. */
import type { Db } from 'mongodb';
import { checkDefinition, storedPaths } from '../definition.ts';
import type { Collection, CollectionDefinition, Document, IndexDefinition } from '../port.ts';
import { StoredBodies } from './bodies.ts';
import { MongoCollection, type Shared } from './collection.ts';
import { makeIndexes } from './indexes.ts';
import { runStep } from './step.ts';
import type { Stored } from './stored.ts';
import { WriteQueue } from './writes.ts';

/** A collection as this process knows it: a second caller with other indexes must not drop those of the first. */
interface Known {
  readonly indexes: Map<string, IndexDefinition>;
  readonly writes: WriteQueue;
  readonly bodies: StoredBodies;
  fields: readonly string[];
  ready: Promise<void>;
}

/** Opens collections by their definitions. The same collection may be opened many times, also with other indexes. */
export class MongoCollections {
  readonly #db: Db;
  readonly #patienceMs: number;
  readonly #shared: Shared;
  readonly #known = new Map<string, Known>();

  constructor(parameters: { db: Db; patienceMs: number; shared: Shared }) {
    this.#db = parameters.db;
    this.#patienceMs = parameters.patienceMs;
    this.#shared = parameters.shared;
  }

  /**
   * Creates the indexes that are missing, one opening of a collection after the other.
   * @throws AnnealError Unavailable when the database fails, Conflict when documents contradict a unique index
   */
  async open<T extends Document>(definition: CollectionDefinition): Promise<Collection<T>> {
    checkDefinition(definition);
    const known = this.#know(definition.name);
    await this.#addIndexes(known, definition);
    return new MongoCollection<T>({
      driver: this.#db.collection<Stored>(definition.name),
      definition,
      fields: () => known.fields,
      writes: known.writes,
      bodies: known.bodies,
      shared: this.#shared,
    });
  }

  /** Resolves when no write is in progress. */
  async settled(): Promise<void> {
    await Promise.all([...this.#known.values()].map((known) => known.writes.settled()));
  }

  async #addIndexes(known: Known, definition: CollectionDefinition): Promise<void> {
    const { name, indexes } = definition;
    const added = indexes.filter((index) => !known.indexes.has(JSON.stringify(index)));
    for (const index of added) known.indexes.set(JSON.stringify(index), index);
    // I1 of `indexes.ts`: a path that was filled once is written for ever, also without its index.
    known.fields = [...new Set([...known.fields, ...storedPaths(definition)])];
    const { fields } = known;
    const [db, bodies, { guard }] = [this.#db, known.bodies, this.#shared];
    // One after the other, so that the second does not create the same indexes.
    const made = known.ready
      .catch(() => undefined)
      .then(() =>
        guard.run(() => makeIndexes({ db, name, indexes: [...known.indexes.values()], fields, bodies }), 'long'),
      );
    known.ready = made;
    try {
      await guard.run(() => made, 'long');
    } catch (error) {
      // The documents contradict an index, or the database failed: the collection can be opened without these.
      for (const index of added) known.indexes.delete(JSON.stringify(index));
      throw error;
    }
  }

  #know(name: string): Known {
    const found = this.#known.get(name);
    if (found) return found;
    const [db, patienceMs] = [this.#db, this.#patienceMs];
    const indexes = new Map<string, IndexDefinition>();
    const bodies = new StoredBodies({ db, patienceMs });
    const writes = new WriteQueue({
      deadlineMs: (length) => this.#shared.guard.deadlineMs(length),
      tied: () => [...indexes.values()].some(({ unique }) => unique),
      runStep: (operations, report) =>
        runStep({ driver: db.collection<Stored>(name), bodies, operations, patienceMs, report }),
    });
    const known: Known = { indexes, bodies, writes, fields: [], ready: Promise.resolve() };
    this.#known.set(name, known);
    return known;
  }
}
