/** A collection of the port as a MongoDB collection. */
import type { Collection as Driver, Filter } from 'mongodb';
import {
  DuplicateError,
  type BulkOperation,
  type BulkOutcome,
  type Collection,
  type CollectionDefinition,
  type Document,
  type Draft,
  type Query,
  type ListedRow,
} from '../port.ts';
import { assertStored } from '../definition.ts';
import { assertServed } from '../served.ts';
import { isLarge, type StoredBodies } from './bodies.ts';
import type { Guard } from './guard.ts';
import type { Operation, OperationResult } from './operation.ts';
import { mongoFilter, sortOf } from './query.ts';
import { keyOf, rowOf, storedKeys, type Keys, type Stored, storedText } from './stored.ts';
import { MissingPieces } from './pieces.ts';
import type { WriteQueue } from './writes.ts';

/** The shared parts of all collections of a store. */
export interface Shared {
  readonly guard: Guard;
  failure(error: unknown): unknown;
  nextWrite(): string;
}

/** The largest number of ids in one query. */
const idsAtOnce = 2000;

/** A collection of the port on MongoDB. */
export class MongoCollection<T extends Document> implements Collection<T> {
  readonly #driver: Driver<Stored>;
  readonly #definition: CollectionDefinition;
  readonly #fields: () => readonly string[];
  readonly #writes: WriteQueue;
  readonly #bodies: StoredBodies;
  readonly #shared: Shared;

  constructor(parameters: {
    driver: Driver<Stored>;
    definition: CollectionDefinition;
    /** All indexed paths in this process, from every declaration of the collection: every write must fill them. */
    fields: () => readonly string[];
    writes: WriteQueue;
    bodies: StoredBodies;
    shared: Shared;
  }) {
    this.#driver = parameters.driver;
    this.#definition = parameters.definition;
    this.#fields = parameters.fields;
    this.#writes = parameters.writes;
    this.#bodies = parameters.bodies;
    this.#shared = parameters.shared;
  }

  async insert(document: Draft<T>): Promise<T> {
    const operation = this.#operation({ kind: 'insert', document });
    await this.#one(operation);
    return { ...document, version: 1 } as unknown as T;
  }

  async get(id: string): Promise<T | undefined> {
    const [found] = await this.#documents(async () => {
      const stored = await this.#driver.findOne({ _id: id });
      return stored ? [stored] : [];
    });
    return found;
  }

  async getMany(ids: readonly string[]): Promise<T[]> {
    const wanted = [...new Set(ids)];
    const found = new Map<string, T>();
    for (let start = 0; start < wanted.length; start += idsAtOnce) {
      const some = wanted.slice(start, start + idsAtOnce);
      const only = some.length === 1 ? some[0] : undefined;
      const documents = await this.#documents(() => this.#driver.find({ _id: only ?? { $in: some } }).toArray());
      for (const document of documents) found.set(document.id, document);
    }
    return wanted.flatMap((id) => found.get(id) ?? []);
  }

  async find(query: Query): Promise<T[]> {
    assertServed(this.#definition, query);
    const limit = query.limit === undefined ? undefined : Math.max(0, Math.trunc(query.limit));
    if (limit === 0) return [];
    return this.#documents(() => {
      const cursor = this.#driver.find(mongoFilter(query.where) as Filter<Stored>).sort(sortOf(query));
      return (limit === undefined ? cursor : cursor.skip(query.offset ?? 0).limit(limit)).toArray();
    });
  }

  async rows(query: Omit<Query, 'limit' | 'offset'>, paths: readonly string[]): Promise<ListedRow[]> {
    assertServed(this.#definition, query);
    assertStored(this.#definition, paths);
    const projection = Object.fromEntries(paths.map((path) => [keyOf(path), 1 as const]));
    const found = await this.#read(() => {
      const filter = mongoFilter(query.where) as Filter<Stored>;
      return this.#driver
        .find(filter, { projection: { _id: 1, ...projection } })
        .sort(sortOf(query))
        .toArray();
    });
    // A replica of an earlier version wrote these, which does not know all paths.
    const lacking = found.filter((stored) => paths.some((path) => stored[keyOf(path)] === undefined));
    const whole = new Map((await this.getMany(lacking.map(({ _id }) => _id))).map((each) => [each.id, each]));
    return found.map((stored) => {
      const document = whole.get(stored._id);
      return rowOf(document ? { _id: document.id, ...storedKeys(document, paths) } : stored, paths);
    });
  }

  async count(where: Query['where']): Promise<number> {
    assertServed(this.#definition, { where }, { isCount: true });
    return this.#read(() => this.#driver.countDocuments(mongoFilter(where) as Filter<Stored>));
  }

  async replace(document: Draft<T>, version: number): Promise<T | undefined> {
    const outcome = await this.#one(this.#operation({ kind: 'replace', document, version }));
    return outcome === 'done' ? ({ ...document, version: version + 1 } as unknown as T) : undefined;
  }

  async remove(id: string, version?: number): Promise<boolean> {
    const outcome = await this.#one(this.#operation({ kind: 'remove', id, ...(version !== undefined && { version }) }));
    return outcome === 'done';
  }

  async bulk(operations: readonly BulkOperation<T>[]): Promise<BulkOutcome[]> {
    if (operations.length === 0) return [];
    const asked = operations.map((operation) => this.#operation(operation));
    const results = await this.#write(asked);
    return results.map((result) => this.#outcome(result));
  }

  /** @throws DuplicateError */
  async #one(operation: Operation): Promise<BulkOutcome> {
    const [result] = await this.#write([operation]);
    if (!result) throw new Error('the database did not report the result of a write');
    const outcome = this.#outcome(result);
    if (outcome !== 'duplicate') return outcome;
    const fields = await this.#refusedFields(operation, 'refusal' in result ? result.refusal : undefined);
    throw new DuplicateError({ collection: this.#definition.name, fields, id: operation.id });
  }

  #outcome(result: OperationResult): BulkOutcome {
    if ('error' in result) throw this.#shared.failure(result.error);
    return result.outcome;
  }

  #write(operations: readonly Operation[]): Promise<OperationResult[]> {
    const length = operations.some(isLarge) ? 'long' : 'document';
    return this.#shared.guard.run(
      () => this.#writes.write(operations),
      length,
      () => this.#named('a write to'),
    );
  }

  /** An operation, with the write that it waits for, for messages. */
  #named(operation: string): string {
    const pending = this.#writes.pending();
    return `${operation} ${this.#definition.name}${pending === undefined ? '' : ` (${pending})`}`;
  }

  async #read<R>(run: () => Promise<R>): Promise<R> {
    return this.#shared.guard.run(
      async () => {
        await this.#writes.settled();
        return run();
      },
      'document',
      () => this.#named('a read of'),
    );
  }

  /** Repeats the query when a document was written again between the answer and the reading of its pieces. */
  async #documents(run: () => Promise<Stored[]>): Promise<T[]> {
    for (let attempt = 1; ; attempt += 1) {
      const found = await this.#read(run);
      try {
        return await this.#shared.guard.run(
          () => Promise.all(found.map((stored) => this.#bodies.documentOf<T>(stored))),
          'long',
        );
      } catch (error) {
        if (attempt === 5 || !(error instanceof MissingPieces)) throw error;
      }
    }
  }

  #operation(operation: BulkOperation<T>): Operation {
    const write = this.#shared.nextWrite();
    if (operation.kind === 'remove') {
      return { kind: 'remove', id: operation.id, version: operation.version, text: '', keys: {}, write };
    }
    const { kind, document } = operation;
    return {
      kind,
      id: document.id,
      version: kind === 'replace' ? operation.version : undefined,
      text: storedText(document),
      keys: storedKeys(document, this.#fields()),
      write,
    };
  }

  /** MongoDB names the index. For a server that does not, the documents show which value is taken. */
  async #refusedFields({ id, keys, kind }: Operation, refusal = ''): Promise<readonly string[]> {
    const name = /index: (\S+)/.exec(refusal)?.[1];
    if (name === '_id_') return ['id'];
    const unique = this.#definition.indexes.filter((index) => index.unique);
    const named = unique.find((index) => name?.endsWith(`:${index.fields.join(',')}`));
    if (named) return named.fields;
    if (kind === 'insert' && (await this.get(id))) return ['id'];
    for (const { fields } of unique) {
      const taken = Object.fromEntries(fields.map((field) => [keyOf(field), keyValue(keys, field, id)]));
      const holder = await this.#read(() => this.#driver.findOne(taken as Filter<Stored>));
      if (holder && holder._id !== id) return fields;
    }
    return unique[0]?.fields ?? ['id'];
  }
}

function keyValue(keys: Keys, field: string, id: string): string | number | null {
  const key = keyOf(field);
  return key === '_id' ? id : (keys[key] ?? null);
}
