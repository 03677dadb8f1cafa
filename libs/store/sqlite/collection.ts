/** A collection of the port as a table. */
import { parseExact } from '@anneal/contracts/read-json.ts';
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
  type RowValue,
} from '../port.ts';
import { isLargeJson, readJson } from '@anneal/contracts/slices/json-slices.ts';
import { assertStored } from '../definition.ts';
import { assertServed } from '../served.ts';
import { type SqliteConnection, isConstraint } from './connection.ts';
import { amongSql, countSql, findSql, isSortedByCaller, rowNumbersSql, type Sql } from './query.ts';
import { TableRows, type WrittenRow } from './rows.ts';
import { columnOf, refusedFields, rowValueOf, tableOf, type ColumnValue } from './table.ts';

interface BodyRow {
  readonly id: string;
  readonly version: number;
  readonly body: string;
}

/** `row`: the number of the row, which no change of the document changes. */
type FoundRow = readonly [row: number, version: number, body: string];

const nothing: WrittenRow = { id: '', body: '', columns: undefined, values: [] };

/** Bounds of what one turn of the event loop reads or writes for one caller: some milliseconds of work. */
const rowsPerTurn = 250;
const bytesPerTurn = 512 * 1024;
/** The rows without a document that one turn reads: some milliseconds of work, too. */
const valuesPerTurn = 1000;
/** So few rows are read in one call, which costs half as much as an iterator. */
const fewRows = 16;

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Divides items into parts within the bounds of one turn. An item that exceeds them is a part of its own. */
function slicesOf<I>(items: readonly I[], bytesOf: (item: I) => number): I[][] {
  const slices: I[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const last = slices.at(-1);
    bytes += bytesOf(item);
    if (last && last.length < rowsPerTurn && bytes <= bytesPerTurn) last.push(item);
    else {
      slices.push([item]);
      bytes = bytesOf(item);
    }
  }
  return slices;
}

/** A collection of the port on SQLite. */
export class SqliteCollection<T extends Document> implements Collection<T> {
  readonly #connection: SqliteConnection;
  readonly #definition: CollectionDefinition;
  readonly #rows: TableRows;
  readonly #get: string;
  readonly #getMany: string;

  constructor(connection: SqliteConnection, definition: CollectionDefinition) {
    this.#connection = connection;
    this.#definition = definition;
    this.#rows = new TableRows(connection, definition.name);
    const table = tableOf(definition.name);
    this.#get = `SELECT id, version, body FROM ${table} WHERE id = ?`;
    this.#getMany = `SELECT id, version, body FROM ${table} WHERE id IN (SELECT value FROM json_each(?))`;
  }

  async insert(document: Draft<T>): Promise<T> {
    const written = this.#rows.written(document);
    await this.#connection.write(() => this.#refusable(document.id, () => this.#rows.insert(written)));
    return { ...document, version: 1 } as unknown as T;
  }

  async get(id: string): Promise<T | undefined> {
    const row = await this.#connection.read(
      () => this.#connection.prepare(this.#get).get(id) as unknown as BodyRow | undefined,
    );
    if (!row) return undefined;
    const document = row.body.length > bytesPerTurn ? ((await readJson(row.body)) as Document) : parseExact(row.body);
    return Object.assign(document as T, { version: row.version });
  }

  async getMany(ids: readonly string[]): Promise<T[]> {
    if (ids.length === 0) return [];
    const rows = await this.#all({ text: this.#getMany, values: [JSON.stringify(ids)] });
    const byId = new Map(rows.map((row) => [row.id, row]));
    return [...new Set(ids)].flatMap((id) => {
      const row = byId.get(id);
      return row ? [read(row) as T] : [];
    });
  }

  async find(query: Query): Promise<T[]> {
    assertServed(this.#definition, query);
    const first = await this.#connection.read(() => this.#firstOf(findSql(this.#definition, query), query.limit));
    const documents = first.isAll
      ? first.rows.map((row) => readFound(row) as T)
      : await this.#findAll(query, first.rows);
    return isSortedByCaller(query) ? inOrderOfIds(documents) : documents;
  }

  /** The first rows, as many as one turn of the event loop should read. */
  #firstOf({ text, values }: Sql, limit?: number): { rows: FoundRow[]; isAll: boolean } {
    const statement = this.#connection.prepareLists(text);
    // One call for one row: it costs half as much as an iterator.
    if (limit !== undefined && limit <= 1) {
      const row = limit < 1 ? undefined : (statement.get(...values) as unknown as FoundRow | undefined);
      return { rows: row ? [row] : [], isAll: true };
    }
    const rows: FoundRow[] = [];
    let characters = 0;
    const isShort = limit !== undefined && limit <= fewRows;
    const found = isShort ? statement.all(...values) : statement.iterate(...values);
    for (const row of found as unknown as Iterable<FoundRow>) {
      if (rows.length >= rowsPerTurn || characters >= bytesPerTurn) return { rows, isAll: false };
      rows.push(row);
      characters += row[2].length;
    }
    return { rows, isAll: true };
  }

  /**
   * Reads the documents of a long answer in several turns. A document that is written meanwhile is read as it is then,
   * and left out when it does not match any more.
   */
  async #findAll(query: Query, first: readonly FoundRow[]): Promise<T[]> {
    const known = new Map(first.map((each) => [each[0], readFound(each) as T]));
    const all = await this.#rowNumbers(query);
    let missing = all.filter((row) => !known.has(row));
    while (missing.length > 0) {
      await nextTurn();
      const asked = missing.slice(0, rowsPerTurn);
      const { rows, isAll } = await this.#connection.read(() =>
        this.#firstOf(amongSql(this.#definition, query, { rowNumbers: asked })),
      );
      for (const each of rows) known.set(each[0], readFound(each) as T);
      // Large documents need more turns. Rows that were asked for and not found do not match any more.
      missing = isAll ? missing.slice(asked.length) : missing.filter((row) => !known.has(row));
    }
    // The caller sorts and handles all of them, which takes a turn of its own.
    await nextTurn();
    return all.flatMap((row) => known.get(row) ?? []);
  }

  /** In turns, as `#findAll`. */
  async rows(query: Omit<Query, 'limit' | 'offset'>, paths: readonly string[]): Promise<ListedRow[]> {
    assertServed(this.#definition, query);
    assertStored(this.#definition, paths);
    const numbers = await this.#rowNumbers(query);
    const columns = ['row', 'id', ...paths.map(columnOf)].join(', ');
    const known = new Map<number, ListedRow>();
    for (let start = 0; start < numbers.length; start += valuesPerTurn) {
      if (start > 0) await nextTurn();
      const asked = { rowNumbers: numbers.slice(start, start + valuesPerTurn), columns };
      const { text, values } = amongSql(this.#definition, query, asked);
      const found = await this.#connection.read(
        () => this.#connection.prepareLists(text).all(...values) as unknown as [number, string, ...ColumnValue[]][],
      );
      for (const read of found) {
        // Filled in a loop, which costs a third of `Object.fromEntries`.
        const named: Record<string, RowValue> = {};
        for (let at = 0; at < paths.length; at += 1) named[paths[at] ?? ''] = rowValueOf(read[at + 2]);
        known.set(read[0], { id: read[1], values: named });
      }
    }
    const rows = numbers.flatMap((row) => known.get(row) ?? []);
    return isSortedByCaller(query) ? inOrderOfIds(rows) : rows;
  }

  #rowNumbers(query: Query): Promise<number[]> {
    const { text, values } = rowNumbersSql(this.#definition, query);
    return this.#connection.read(() =>
      (this.#connection.prepareLists(text).all(...values) as unknown as [number][]).map(([row]) => row),
    );
  }

  async count(where: Query['where']): Promise<number> {
    assertServed(this.#definition, { where }, { isCount: true });
    const { text, values } = countSql(this.#definition, where);
    return this.#connection.read(() => Number(this.#connection.prepare(text).get(...values)?.['n']));
  }

  async replace(document: Draft<T>, version: number): Promise<T | undefined> {
    const written = this.#rows.written(document);
    const outcome = await this.#connection.write(() =>
      this.#refusable(document.id, () => this.#rows.replace(written, version)),
    );
    return outcome === 'done' ? ({ ...document, version: version + 1 } as unknown as T) : undefined;
  }

  async remove(id: string, version?: number): Promise<boolean> {
    return (await this.#connection.write(() => this.#rows.remove(id, version))) === 'done';
  }

  async bulk(operations: readonly BulkOperation<T>[]): Promise<BulkOutcome[]> {
    if (operations.length === 0) return [];
    const [first] = operations;
    if (operations.length === 1 && first && first.kind !== 'remove' && isLargeJson(first.document)) {
      const written = await this.#rows.writtenInSlices(first.document);
      return [await this.#connection.write(() => this.#apply(first, written))];
    }
    // Converted to text now, because later changes by the caller must not be written.
    const written = operations.map((operation) =>
      operation.kind === 'remove' ? nothing : this.#rows.written(operation.document),
    );
    const outcomes: BulkOutcome[] = [];
    for (const slice of slicesOf(written, ({ body }) => body.length)) {
      if (outcomes.length > 0) await nextTurn();
      const start = outcomes.length;
      const done = await this.#connection.write(() =>
        slice.map((each, index) => this.#apply(operations[start + index] as BulkOperation<T>, each)),
      );
      outcomes.push(...done);
    }
    return outcomes;
  }

  #apply(operation: BulkOperation<T>, written: WrittenRow): BulkOutcome {
    try {
      switch (operation.kind) {
        case 'insert':
          this.#rows.insert(written);
          return 'done';
        case 'put':
          this.#rows.put(written);
          return 'done';
        case 'replace':
          return this.#rows.replace(written, operation.version);
        case 'remove':
          return this.#rows.remove(operation.id, operation.version);
      }
    } catch (error) {
      if (isConstraint(error)) return 'duplicate';
      throw error;
    }
    // The switch is exhaustive.
    return operation satisfies never;
  }

  #all({ text, values }: Sql): Promise<BodyRow[]> {
    return this.#connection.read(() => this.#connection.prepare(text).all(...values) as unknown as BodyRow[]);
  }

  #refusable<R>(id: string, run: () => R): R {
    try {
      return run();
    } catch (error) {
      if (!isConstraint(error) || !(error instanceof Error)) throw error;
      const { name } = this.#definition;
      throw new DuplicateError({ collection: name, fields: refusedFields(name, error), id });
    }
  }
}

const isAscii = (text: string): boolean => /^[\0-\x7f]*$/.test(text);

/** Sorts like SQLite and other databases: by the bytes of the ids. */
function inOrderOfIds<T extends { readonly id: string }>(documents: T[]): T[] {
  if (documents.every(({ id }) => isAscii(id))) return documents.sort((a, b) => (a.id < b.id ? -1 : 1));
  return documents.sort((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)));
}

const read = ({ version, body }: Pick<BodyRow, 'version' | 'body'>): Document =>
  Object.assign(parseExact(body) as unknown as Document, { version });

const readFound = ([, version, body]: FoundRow): Document => read({ version, body });
