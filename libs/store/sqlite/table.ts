/**
 * A collection as a table: a row number, id, version, one column per indexed or listed path, and the document as JSON.
 *
 * L1 Each writer fills all columns of the table, also those of indexes that only another process declares. It notices
 *    new columns by the version of the schema, in the transaction of its write.
 * L2 The document is the last column. So a query on an index, and the comparison before a change, do not read the pages
 *    of a document of megabytes.
 * L3 A table that lacks a column, or has the form of an earlier layout, is copied once when the collection is opened, in
 *    one transaction.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { storedPaths } from '../definition.ts';
import type { CollectionDefinition, IndexDefinition, IndexValue, RowValue } from '../port.ts';
import { valueAt } from '../value-at.ts';
import { type SqliteConnection, isConstraint } from './connection.ts';

/**
 * Represents null in index columns: below every number, equal to itself, so that unique indexes count null as a value.
 */
const nothing = -Infinity;
const nothingSql = '-9e999';

/** A name as an SQL identifier. */
const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** The quoted table of a collection. */
export const tableOf = (collection: string): string => quoteName(`c:${collection}`);
/** The quoted column of an indexed path. */
export const columnOf = (field: string): string => (field === 'id' ? 'id' : quoteName(`f:${field}`));

/** A value in an index column. */
export type ColumnValue = string | number;

/** A value in the form of the index columns. */
export function indexColumnValue(value: IndexValue): ColumnValue {
  if (value === null) return nothing;
  return typeof value === 'boolean' ? Number(value) : value;
}

/** A value of an index column in the terms of the port. */
export const rowValueOf = (value: ColumnValue | undefined): RowValue =>
  value === undefined || value === nothing ? null : value;

/** The value of a document in the column of a path. Lists and objects, which no query asks for, become their text. */
export function columnValueOf(document: object, field: string): ColumnValue {
  const value = valueAt(document, field);
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : nothing;
  const text = value === null || value === undefined ? undefined : JSON.stringify(value);
  return text === undefined ? nothing : text;
}

/** The elements of a JSON array bound as one parameter, in the form of the index columns. */
export const listSql = `(SELECT ifnull(value, ${nothingSql}) FROM json_each(?))`;

/** A literal of SQL for a value in an index column. */
const literalOf = (value: ColumnValue): string =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : value === nothing ? nothingSql : String(value);

/** The condition of an index that holds only some documents. Undefined for an index of all of them. */
export function partSql({ only }: IndexDefinition): string | undefined {
  if (only === undefined) return undefined;
  const column = columnOf(only.field);
  return only.is === undefined ? `${column} > ${nothingSql}` : `${column} = ${literalOf(indexColumnValue(only.is))}`;
}

function extractSql(field: string): string {
  const path = `$${field
    .split('.')
    .map((name) => `."${name}"`)
    .join('')}`.replaceAll("'", "''");
  return `ifnull(json_extract(body, '${path}'), ${nothingSql})`;
}

const indexName = (collection: string, { fields, unique, only, counts }: IndexDefinition): string => {
  const part = only === undefined ? '' : `:${only.field}${only.is === undefined ? '' : `=${JSON.stringify(only.is)}`}`;
  return `${unique ? 'u' : counts ? 'n' : 'i'}:${collection}:${fields.join(',')}${part}`;
};

/** The paths that have a column in the table of a collection. Runs within a write. */
export function columnFields(connection: SqliteConnection, collection: string): string[] {
  return namesIn(connection, collection).flatMap((name) => (name.startsWith('f:') ? [name.slice(2)] : []));
}

/** Hidden columns, which the tables of the earlier layout had, are not in this list. */
const namesIn = (connection: SqliteConnection, collection: string): string[] =>
  connection
    .prepare('SELECT name FROM pragma_table_info(?)')
    .all(`c:${collection}`)
    .map((row) => String(row['name']));

/** Creates missing parts and drops the indexes that the definition no longer has. Runs within a write. */
export function makeTable(connection: SqliteConnection, definition: CollectionDefinition): void {
  const { name: collection, indexes } = definition;
  makeColumns(connection, collection, storedPaths(definition));
  const wanted = new Map(indexes.map((index) => [indexName(collection, index), index]));
  const present = connection
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`)
    .all(`c:${collection}`)
    .map((row) => String(row['name']));
  for (const name of present) if (!wanted.has(name)) connection.exec(`DROP INDEX ${quoteName(name)}`);
  for (const [name, index] of wanted) {
    if (!present.includes(name)) makeIndex(connection, { collection, name, index });
  }
  connection.schemaChanged();
}

function makeColumns(connection: SqliteConnection, collection: string, fields: readonly string[]): void {
  const there = namesIn(connection, collection);
  if (there.length === 0) return createTable(connection, tableOf(collection), fields);
  const isEarlier = there.includes('keys');
  const had = there.flatMap((name) => (name.startsWith('f:') ? [name.slice(2)] : []));
  const missing = fields.filter((field) => !had.includes(field));
  if (!isEarlier && missing.length === 0) return;
  const [table, copy] = [tableOf(collection), quoteName(`copy of c:${collection}`)];
  const all = [...had, ...missing];
  createTable(connection, copy, all);
  const row = isEarlier ? 'rowid' : 'row';
  connection.exec(
    `INSERT INTO ${copy} (${['row', 'id', 'version', ...all.map(columnOf), 'body'].join(', ')})
     SELECT ${[row, 'id', 'version', ...had.map(columnOf), ...missing.map(extractSql), 'body'].join(', ')} FROM ${table};
     DROP TABLE ${table};
     ALTER TABLE ${copy} RENAME TO ${table};`,
  );
}

function createTable(connection: SqliteConnection, table: string, fields: readonly string[]): void {
  const columns = fields.map((field) => `${columnOf(field)} NOT NULL DEFAULT (${nothingSql}),`).join(' ');
  connection.exec(
    `CREATE TABLE ${table} (row INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, ${columns} body TEXT NOT NULL)`,
  );
}

function makeIndex(
  connection: SqliteConnection,
  parameters: { collection: string; name: string; index: IndexDefinition },
) {
  const { collection, name, index } = parameters;
  const endsInId = !index.unique && !index.counts && !index.fields.includes('id');
  const fields = endsInId ? [...index.fields, 'id'] : index.fields;
  const part = partSql(index);
  try {
    connection.exec(
      `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${quoteName(name)} ON ${tableOf(collection)} (${fields.map(columnOf).join(', ')})${part === undefined ? '' : ` WHERE ${part}`}`,
    );
  } catch (error) {
    if (!isConstraint(error)) throw error;
    throw new AnnealError(
      'Conflict',
      `Cannot create a unique index on ${collection}: it contains documents with equal ${index.fields.join(', ')}.`,
      { cause: error },
    );
  }
}

/** The fields that a UNIQUE constraint names, from SQLite's message. */
export function refusedFields(collection: string, error: Error): string[] {
  const prefix = `c:${collection}.`;
  const list = error.message.slice(error.message.indexOf(prefix));
  return list.split(', ').map((part) => part.replace(prefix, '').replace(/^f:/, ''));
}
