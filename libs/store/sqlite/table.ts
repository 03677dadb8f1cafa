/**
 * A collection as a table: id, version, the document as JSON, and one generated column per indexed path. Generated
 * columns cost no space, and need no backfill when an index is added to a collection that has documents.
 *
 * The values come from `keys`, where each write stores those of the paths that its writer knows. So an index on a
 * document of megabytes does not read the document. A path that the last writer did not know is read from the document.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { IndexDefinition, IndexValue } from '../port.ts';
import { valueAt } from '../value-at.ts';
import { type SqliteConnection, isConstraint } from './connection.ts';

/**
 * Represents null in index columns: below every number, equal to itself, so that unique indexes count null as a value.
 */
const nothing = -Infinity;
const nothingSql = '-9e999';

/** A name as an SQL identifier. */
export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`;
/** The quoted table of a collection. */
export const tableOf = (collection: string): string => quoteName(`c:${collection}`);
/** The quoted column of an indexed path. */
export const columnOf = (field: string): string => (field === 'id' ? 'id' : quoteName(`f:${field}`));

/** A value in the form of the index columns. */
export function indexColumnValue(value: IndexValue): string | number {
  if (value === null) return nothing;
  return typeof value === 'boolean' ? Number(value) : value;
}

/** The elements of a JSON array bound as one parameter, in the form of the index columns. */
export const listSql = `(SELECT ifnull(value, ${nothingSql}) FROM json_each(?))`;

function columnDefinition(field: string): string {
  const path = `$${field
    .split('.')
    .map((name) => `."${name}"`)
    .join('')}`.replaceAll("'", "''");
  const key = `$."${field}"`.replaceAll("'", "''");
  const value = `ifnull(json_extract(keys, '${key}'), ifnull(json_extract(body, '${path}'), ${nothingSql}))`;
  return `${columnOf(field)} GENERATED ALWAYS AS (${value}) VIRTUAL`;
}

/** The text of `keys`: JSON, except that null is a number that JSON does not have. */
export function keysText(document: object, fields: readonly string[]): string {
  const entries = fields.map((field) => {
    const text = JSON.stringify(valueAt(document, field)) ?? 'null';
    return `${JSON.stringify(field)}:${text === 'null' ? nothingSql : text}`;
  });
  return `{${entries.join(',')}}`;
}

const indexName = (collection: string, index: IndexDefinition): string =>
  `${index.unique ? 'u' : 'i'}:${collection}:${index.fields.join(',')}`;

/** The paths of all indexes without `id`, each once. */
export const fieldsOf = (indexes: readonly IndexDefinition[]): string[] => [
  ...new Set(indexes.flatMap(({ fields }) => fields.filter((field) => field !== 'id'))),
];

/** Creates missing parts and drops the indexes that `known` no longer has. Runs within a write. */
export function makeTable(connection: SqliteConnection, collection: string, known: readonly IndexDefinition[]): void {
  const table = tableOf(collection);
  connection.exec(
    `CREATE TABLE IF NOT EXISTS ${table} (id TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, keys TEXT NOT NULL,
     body TEXT NOT NULL)`,
  );
  const columns = new Set(
    connection
      .prepare(`SELECT name FROM pragma_table_xinfo(?)`)
      .all(`c:${collection}`)
      .map((row) => String(row['name'])),
  );
  for (const field of fieldsOf(known)) {
    if (columns.has(`f:${field}`)) continue;
    connection.exec(`ALTER TABLE ${table} ADD COLUMN ${columnDefinition(field)}`);
  }
  const wanted = new Map(known.map((index) => [indexName(collection, index), index]));
  const present = connection
    .prepare(`SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`)
    .all(`c:${collection}`)
    .map((row) => String(row['name']));
  for (const name of present) if (!wanted.has(name)) connection.exec(`DROP INDEX ${quoteName(name)}`);
  for (const [name, index] of wanted) {
    if (!present.includes(name)) makeIndex(connection, { collection, name, index });
  }
}

function makeIndex(
  connection: SqliteConnection,
  parameters: { collection: string; name: string; index: IndexDefinition },
) {
  const { collection, name, index } = parameters;
  const fields = index.unique || index.fields.includes('id') ? index.fields : [...index.fields, 'id'];
  try {
    connection.exec(
      `CREATE ${index.unique ? 'UNIQUE ' : ''}INDEX ${quoteName(name)} ON ${tableOf(collection)} (${fields.map(columnOf).join(', ')})`,
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
