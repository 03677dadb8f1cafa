/**
 * Writes the rows of one table. All methods but `written` run within a write of the connection.
 *
 * R1 A change names only the index columns whose values differ, because SQLite removes and adds the entry of each index
 *    whose column a statement names, also when the value stays the same.
 */
import { writeJson } from '@anneal/contracts/slices/json-slices.ts';
import type { BulkOutcome } from '../port.ts';
import type { SqliteConnection } from './connection.ts';
import { columnFields, columnOf, columnValueOf, tableOf, type ColumnValue } from './table.ts';

/** A document as its row has it. */
export interface WrittenRow {
  readonly id: string;
  readonly body: string;
  /** The columns that the values are for: a change of the table makes them stale. */
  readonly columns: Columns | undefined;
  readonly values: readonly ColumnValue[];
}

interface Columns {
  readonly fields: readonly string[];
  readonly insert: string;
  readonly find: string;
}

type Found = readonly [row: number, version: number, ...values: ColumnValue[]];

/** The version is stored in its own column; a version that a caller copied into its draft must not be kept. */
const withoutVersion = (document: object): object =>
  'version' in document ? { ...document, version: undefined } : document;

/** The rows of one table of a connection. */
export class TableRows {
  readonly #connection: SqliteConnection;
  readonly #collection: string;
  readonly #table: string;
  readonly #remove: string;
  readonly #removeVersion: string;
  readonly #there: string;
  #columns: Columns | undefined;
  /** The state of the schema in which the columns were read. */
  #schema = -1;

  constructor(connection: SqliteConnection, collection: string) {
    this.#connection = connection;
    this.#collection = collection;
    this.#table = tableOf(collection);
    this.#remove = `DELETE FROM ${this.#table} WHERE id = ?`;
    this.#removeVersion = `DELETE FROM ${this.#table} WHERE id = ? AND version = ?`;
    this.#there = `SELECT 1 FROM ${this.#table} WHERE id = ?`;
  }

  /** Converts a document now, because later changes by the caller must not be written. */
  written(document: { readonly id: string }): WrittenRow {
    return this.#with(document, JSON.stringify(withoutVersion(document)));
  }

  /** For a document of several MB, such as a snapshot. The caller must not change it before it is written. */
  async writtenInSlices(document: { readonly id: string }): Promise<WrittenRow> {
    return this.#with(document, await writeJson(withoutVersion(document)));
  }

  /** @throws the error of SQLite when the id or a unique index is taken */
  insert(given: WrittenRow): void {
    const { columns, values } = this.#current(given);
    this.#connection.prepare(columns.insert).run(given.id, ...values, given.body);
  }

  /** @throws the error of SQLite when a unique index is taken */
  put(given: WrittenRow): void {
    const { columns, values } = this.#current(given);
    const found = this.#find(columns, given.id);
    if (found) this.#update(columns, { found, values, body: given.body });
    else this.#connection.prepare(columns.insert).run(given.id, ...values, given.body);
  }

  /** @throws the error of SQLite when a unique index is taken */
  replace(given: WrittenRow, version: number): BulkOutcome {
    const { columns, values } = this.#current(given);
    const found = this.#find(columns, given.id);
    if (!found) return 'absent';
    if (found[1] !== version) return 'stale';
    this.#update(columns, { found, values, body: given.body });
    return 'done';
  }

  remove(id: string, version: number | undefined): BulkOutcome {
    const { changes } =
      version === undefined
        ? this.#connection.prepare(this.#remove).run(id)
        : this.#connection.prepare(this.#removeVersion).run(id, version);
    if (Number(changes) > 0) return 'done';
    return this.#connection.prepare(this.#there).get(id) ? 'stale' : 'absent';
  }

  #with(document: { readonly id: string }, body: string): WrittenRow {
    const columns = this.#columns;
    const values = columns?.fields.map((field) => columnValueOf(document, field)) ?? [];
    return { id: document.id, body, columns, values };
  }

  /** L1: the values for the columns that the table has in this transaction. */
  #current({ columns, values, body }: WrittenRow): { columns: Columns; values: readonly ColumnValue[] } {
    const { schema } = this.#connection;
    if (this.#columns === undefined || this.#schema !== schema) {
      this.#columns = this.#readColumns();
      this.#schema = schema;
    }
    const current = this.#columns;
    if (columns?.fields === current.fields) return { columns: current, values };
    const document = JSON.parse(body) as object;
    return { columns: current, values: current.fields.map((field) => columnValueOf(document, field)) };
  }

  #readColumns(): Columns {
    const fields = columnFields(this.#connection, this.#collection);
    const known = this.#columns;
    // The same list as before keeps the values of documents that wait for their write.
    if (known && known.fields.join('\n') === fields.join('\n')) return known;
    const names = fields.map(columnOf);
    const marks = Array.from({ length: names.length + 2 }, () => '?');
    return {
      fields,
      insert: `INSERT INTO ${this.#table} (${['id', ...names, 'body', 'version'].join(', ')}) VALUES (${marks.join(', ')}, 1)`,
      find: `SELECT ${['row', 'version', ...names].join(', ')} FROM ${this.#table} WHERE id = ?`,
    };
  }

  #find({ find }: Columns, id: string): Found | undefined {
    return this.#connection.prepareLists(find).get(id) as unknown as Found | undefined;
  }

  /** R1 */
  #update(
    { fields }: Columns,
    { found, values, body }: { found: Found; values: readonly ColumnValue[]; body: string },
  ): void {
    const [row, version, ...before] = found;
    let names = '';
    const changed: ColumnValue[] = [];
    for (const [index, value] of values.entries()) {
      if (value === before[index]) continue;
      names += `${columnOf(fields[index] ?? '')} = ?, `;
      changed.push(value);
    }
    this.#connection
      .prepare(`UPDATE ${this.#table} SET ${names}version = ?, body = ? WHERE row = ?`)
      .run(...changed, version + 1, body, row);
  }
}
