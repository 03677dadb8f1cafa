/** One kind of object of the directory in the store. Every write raises the revision of the directory. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { findPage, type PagedList, type StoredPage } from '@anneal/store/page.ts';
import { DuplicateError, type Collection, type Document, type Draft } from '@anneal/store/port.ts';
import type { DirectoryRevision } from './revision.ts';

/** Concurrent changes of one object: each reads again when another was faster. */
const mostTries = 10;

/** Reads and changes the objects of one kind. */
export class Records<T extends Document> {
  /** The name of the kind for messages: `user`. */
  readonly kind: string;
  readonly #collection: Collection<T>;
  readonly #revision: DirectoryRevision;

  constructor(kind: string, collection: Collection<T>, revision: DirectoryRevision) {
    this.kind = kind;
    this.#collection = collection;
    this.#revision = revision;
  }

  find(id: string): Promise<T | undefined> {
    return this.#collection.get(id);
  }

  findMany(ids: readonly string[]): Promise<T[]> {
    return ids.length === 0 ? Promise.resolve([]) : this.#collection.getMany(ids);
  }

  /** @throws AnnealError NotFound */
  async get(id: string): Promise<T> {
    const found = await this.#collection.get(id);
    if (!found) throw this.absent(id);
    return found;
  }

  /** Every object whose indexed fields have these values; every object without a condition. In the order of their ids. */
  list(where: Readonly<Record<string, string>> = {}): Promise<T[]> {
    return this.#collection.find({ where, ...(Object.keys(where).length === 0 && { orderBy: ['id'] }) });
  }

  /** One page of the objects. @throws AnnealError InvalidRequest for a column that the list does not have */
  page(list: PagedList<T>, request: PageRequest): Promise<StoredPage<T>> {
    return findPage(this.#collection, list, request);
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

  /** The error for an id or a name that does not exist, in Keystone's words. */
  absent(id: string): AnnealError {
    return new AnnealError('NotFound', `Could not find ${this.kind}: ${id}.`);
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
