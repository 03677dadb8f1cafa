/**
 * Reads the directory: who exists, and who has which role where. The identity service alone writes it. Each gateway reads
 * it from the store, so that it checks tokens also while the identity service is away.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { findPage, type PagedList, type StoredPage } from '@anneal/store/page.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { openCollections, type DirectoryDocuments, type DirectoryKind } from './collections.ts';
import { DirectoryRevision } from './revision.ts';

/** Reads the objects of one kind. */
export class RecordReader<T extends Document> {
  /** The name of the kind for messages: `user`. */
  readonly kind: string;
  readonly #collection: Collection<T>;

  constructor(kind: string, collection: Collection<T>) {
    this.kind = kind;
    this.#collection = collection;
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

  /** The error for an id or a name that does not exist, in Keystone's words. */
  absent(id: string): AnnealError {
    return new AnnealError('NotFound', `Could not find ${this.kind}: ${id}.`);
  }
}

type Readers = { readonly [K in DirectoryKind]: RecordReader<DirectoryDocuments[K]> };

/** The readers of the directory by kind, and its revision. */
export interface DirectoryReader extends Readers {
  readonly revision: Pick<DirectoryRevision, 'read'>;
}

/** Opens the readers. The directory may be empty still. */
export async function openDirectoryReader(store: Store): Promise<DirectoryReader> {
  const readers = await openCollections<Readers>(store, (one, collection) => new RecordReader(one, collection));
  return { ...readers, revision: await DirectoryRevision.open(store) };
}
