/** One kind of object of the directory in the store, for its writer. Every write raises the revision of the directory. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { RecordReader } from '@anneal/directory/reader.ts';
import type { DirectoryRevision } from '@anneal/directory/revision.ts';
import { DuplicateError, type Collection, type Document, type Draft } from '@anneal/store/port.ts';

/** Concurrent changes of one object: each reads again when another was faster. */
const mostTries = 10;

/** Reads and changes the objects of one kind. */
export class Records<T extends Document> extends RecordReader<T> {
  readonly #collection: Collection<T>;
  readonly #revision: DirectoryRevision;

  constructor(kind: string, collection: Collection<T>, revision: DirectoryRevision) {
    super(kind, collection);
    this.#collection = collection;
    this.#revision = revision;
  }

  /** @throws AnnealError AlreadyExists with this text when the name is taken */
  async insert(document: Draft<T>, taken: string): Promise<T> {
    return this.#refusingTaken(taken, () => this.#collection.insert(document));
  }

  /**
   * Changes an object by a function of its present state. Of two concurrent changes the second sees the first.
   * @throws AnnealError NotFound, AlreadyExists, Conflict, and what `change` throws
   */
  async update(id: string, change: (document: T) => Draft<T>, taken = ''): Promise<T> {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const present = await this.get(id);
      const draft = change(present);
      const changed = await this.#refusingTaken(taken, () => this.#collection.replace(draft, present.version));
      if (changed) return changed;
    }
    throw new AnnealError('Conflict', `The ${this.kind} ${id} is changed by many requests at the same time.`);
  }

  /** Removes the object. An absent one is success. */
  async remove(id: string): Promise<void> {
    await this.#revision.raiseAfter(() => this.#collection.remove(id));
  }

  async #refusingTaken<R>(taken: string, write: () => Promise<R>): Promise<R> {
    try {
      return await this.#revision.raiseAfter(write);
    } catch (error) {
      if (error instanceof DuplicateError) {
        throw new AnnealError('AlreadyExists', `Conflict occurred attempting to store ${this.kind} - ${taken}`);
      }
      throw error;
    }
  }
}
