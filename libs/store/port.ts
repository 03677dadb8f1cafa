/**
 * The store as services see it: documents by id and by declared indexes. MongoDB and SQLite implement it.
 *
 * S1 A write that has resolved is durable. Each single document is written whole or not at all; nothing spans documents.
 * S2 `replace` and `remove` with a version act only on that version: of two writers who read the same one, one loses.
 * S3 Unique indexes are enforced; the second insert fails with Duplicate, naming the index.
 * S4 `find` uses a declared index or is refused: a query that would scan is a defect of the program.
 */

/** `version` starts at 1 and grows by one at every write; the store counts it. */
export interface Document {
  readonly id: string;
  readonly version: number;
}

/** A document as its writer passes it. */
export type Draft<T extends Document> = Omit<T, 'version'>;

/** An index of a collection. Every query names one. */
export interface IndexDefinition {
  /** Paths into the document, in order; at most four. Values are strings, numbers, booleans or null (absent counts as null). */
  readonly fields: readonly string[];
  readonly unique?: boolean;
  /**
   * The index holds only the documents that have a value in this field of it, or that have the value `is` there. It
   * serves only queries that ask for such documents, and costs the others nothing. An adapter may hold all of them.
   */
  readonly only?: { readonly field: string; readonly is?: Exclude<IndexValue, null> };
  /**
   * The index serves only `count`, so its entries need no order. An entry that ends in a random id is put between others,
   * on a page that is then written again. An adapter may ignore it.
   */
  readonly counts?: true;
}

/** The name and indexes of a collection. A change of the indexes takes effect when the collection is next opened. */
export interface CollectionDefinition {
  /**
   * `<service>_<noun>`: a service owns its collections, and no other service reads them. What several services read has
   * its form in a library: the directory (`libs/directory`), the signs of life of the processes (`libs/runtime`).
   */
  readonly name: string;
  readonly indexes: readonly IndexDefinition[];
  /** More paths that `rows` reads, for a list that is searched and sorted by them. They cost less than an index. */
  readonly listed?: readonly string[];
}

/** A value that an index can hold. */
export type IndexValue = string | number | boolean | null;
/** A condition on the value of a field: equal, one of a list, or in a range. */
export type FieldCondition =
  | IndexValue
  | { readonly in: readonly IndexValue[] }
  | { readonly gt?: IndexValue; readonly gte?: IndexValue; readonly lt?: IndexValue; readonly lte?: IndexValue };

/** A query that an index serves (S4). Without `limit`, it returns every match. */
export interface Query {
  /** All must hold. The fields, then those of `orderBy`, must be the beginning of one index (or `id` alone). */
  readonly where: Readonly<Record<string, FieldCondition>>;
  readonly orderBy?: readonly string[];
  readonly descending?: boolean;
  readonly limit?: number;
  /** How many of the matches to leave out at the start. Only with `limit`. */
  readonly offset?: number;
}

/** A value as an index holds it: a boolean is 0 or 1, and a list or an object is its JSON. */
export type RowValue = string | number | null;
/** Some values of a document, by their paths. */
export interface ListedRow {
  readonly id: string;
  readonly values: Readonly<Record<string, RowValue>>;
}

/** One write among many. */
export type BulkOperation<T extends Document> =
  /** Inserts, or replaces the document of that id. */
  | { readonly kind: 'put'; readonly document: Draft<T> }
  | { readonly kind: 'insert'; readonly document: Draft<T> }
  | { readonly kind: 'replace'; readonly document: Draft<T>; readonly version: number }
  | { readonly kind: 'remove'; readonly id: string; readonly version?: number };

/** `stale`: the version has changed. `absent`: there is no document to replace or remove. */
export type BulkOutcome = 'done' | 'duplicate' | 'stale' | 'absent';

/** The id or a unique index exists already. It is not an AnnealError, because only the caller knows what it means. */
export class DuplicateError extends Error {
  override readonly name = 'DuplicateError';
  readonly collection: string;
  /** The fields of the unique index that refused the document. */
  readonly fields: readonly string[];

  constructor(options: { collection: string; fields: readonly string[]; id: string }) {
    super(`${options.collection}: ${options.id} duplicates another document in ${options.fields.join(', ')}`);
    this.collection = options.collection;
    this.fields = options.fields;
  }
}

/** The documents of one kind. Every method throws AnnealError Unavailable when the database stays away. */
export interface Collection<T extends Document> {
  /** @throws DuplicateError when the id or a unique index is taken. */
  insert(document: Draft<T>): Promise<T>;
  get(id: string): Promise<T | undefined>;
  getMany(ids: readonly string[]): Promise<T[]>;
  find(query: Query): Promise<T[]>;
  /**
   * Some values of the documents that `find` finds, in its order. Reads no document, so 10,000 cost about as much as 500
   * documents. Each path is `listed` or in an index.
   */
  rows(query: Omit<Query, 'limit' | 'offset'>, paths: readonly string[]): Promise<ListedRow[]>;
  count(where: Query['where']): Promise<number>;
  /**
   * Returns the new document, or undefined when the version has changed or the document is gone. @throws DuplicateError
   */
  replace(document: Draft<T>, version: number): Promise<T | undefined>;
  /** True when the document existed (in that version). */
  remove(id: string, version?: number): Promise<boolean>;
  /** Runs each operation independently; returns the outcomes in order. Never throws for one of them. */
  bulk(operations: readonly BulkOperation<T>[]): Promise<BulkOutcome[]>;
}

/** Immutable contents, named by the SHA-256 of their bytes. All services share them. */
export interface Blobs {
  /** Durable on return. Putting the same content twice makes one blob. */
  put(content: string | Uint8Array): Promise<string>;
  get(hash: string): Promise<Uint8Array | undefined>;
  getText(hash: string): Promise<string | undefined>;
  /** Removes blobs that were last put before that time (milliseconds since the epoch); returns their number. */
  remove(hashes: readonly string[], putBefore: number): Promise<number>;
}

/** One database. */
export interface Store {
  /** Opens a collection and creates its indexes. Repeats are harmless. */
  collection<T extends Document>(definition: CollectionDefinition): Promise<Collection<T>>;
  readonly blobs: Blobs;
  /** Rejects with the reason while the store cannot be read and written. */
  check(): Promise<void>;
  /**
   * The outage at this moment, and its length so far: no server of the database answers. `reason` is a sentence without
   * its full stop. Absent for a store inside the process. An operation during an outage waits for its end; a caller that
   * must answer soon looks here.
   */
  outage?(): { readonly reason: string; readonly forMs: number } | undefined;
  close(): Promise<void>;
}

/** The place of the store. */
export interface OpenStoreOptions {
  url: string;
  /** The largest number of connections to a database on a network; the URL's `maxPoolSize` overrides it. Default 20. */
  connections?: number;
}
