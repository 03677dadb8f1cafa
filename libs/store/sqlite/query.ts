/** A query of the port as SQL over the index columns. */
import type { CollectionDefinition, FieldCondition, IndexValue, Query } from '../port.ts';
import { holdsAll, partialIndexes } from '../served.ts';
import { columnOf, indexColumnValue, listSql, partSql, tableOf } from './table.ts';

/** A statement and the values of its placeholders. */
export interface Sql {
  readonly text: string;
  readonly values: readonly (string | number)[];
}

/** In the order of a `FoundRow`. */
const rows = 'row, version, body';

/**
 * All documents of a query that wants them in the order of their ids. The caller sorts them, because SQLite would read
 * and sort all of them before it returns the first one.
 */
export const isSortedByCaller = ({ orderBy = [], descending, limit }: Query): boolean =>
  orderBy.length === 0 && descending !== true && limit === undefined;

/** The statement for a query that an index serves. */
export function findSql(collection: CollectionDefinition, query: Query, columns: string = rows): Sql {
  const { text, values } = whereSql(collection, query.where);
  if (isSortedByCaller(query)) return { text: `SELECT ${columns} FROM ${tableOf(collection.name)}${text}`, values };
  const direction = query.descending ? ' DESC' : '';
  // Equal entries are ordered by id, so that every answer has one order and a page can end at any entry.
  const order = [...new Set([...(query.orderBy ?? []), 'id'])].map((field) => columnOf(field) + direction);
  const limit = query.limit === undefined ? '' : ' LIMIT ? OFFSET ?';
  const whole = (number: number): number => Math.max(0, Math.trunc(number));
  return {
    text: `SELECT ${columns} FROM ${tableOf(collection.name)}${text} ORDER BY ${order.join(', ')}${limit}`,
    values: query.limit === undefined ? values : [...values, whole(query.limit), whole(query.offset ?? 0)],
  };
}

/** The row numbers of the documents that `findSql` finds, in its order. An index alone answers most such queries. */
export const rowNumbersSql = (collection: CollectionDefinition, query: Query): Sql => findSql(collection, query, 'row');

/** Those of some rows that still match a query, in no order. */
export function amongSql(
  collection: CollectionDefinition,
  { where }: Query,
  { rowNumbers, columns = rows }: { rowNumbers: readonly number[]; columns?: string },
): Sql {
  const { text, values } = whereSql(collection, where);
  const among = `${text === '' ? ' WHERE' : `${text} AND`} row IN ${listSql}`;
  return {
    text: `SELECT ${columns} FROM ${tableOf(collection.name)}${among}`,
    values: [...values, JSON.stringify(rowNumbers)],
  };
}

/** The statement that counts the documents which meet the conditions. */
export function countSql(collection: CollectionDefinition, where: Query['where']): Sql {
  const { text, values } = whereSql(collection, where);
  return { text: `SELECT count(*) AS n FROM ${tableOf(collection.name)}${text}`, values };
}

function whereSql(collection: CollectionDefinition, where: Query['where']): Sql {
  const parts: string[] = [];
  const values: (string | number)[] = [];
  const add = (text: string, ...bound: (string | number)[]): void => {
    parts.push(text);
    values.push(...bound);
  };
  for (const [field, condition] of Object.entries(where)) addCondition(columnOf(field), condition, add);
  // SQLite uses the index of some documents only for a query that repeats its condition.
  for (const index of partialIndexes(collection)) if (holdsAll(index, where)) parts.push(partSql(index) ?? '');
  return { text: parts.length === 0 ? '' : ` WHERE ${parts.join(' AND ')}`, values };
}

type Add = (text: string, ...bound: (string | number)[]) => void;

function addCondition(column: string, condition: FieldCondition, add: Add): void {
  if (typeof condition !== 'object' || condition === null) {
    add(`${column} = ?`, indexColumnValue(condition));
  } else if ('in' in condition) {
    add(`${column} IN ${listSql}`, JSON.stringify(condition.in));
  } else {
    const { gt, gte, lt, lte } = condition;
    if (gt !== undefined) add(`${column} > ?`, indexColumnValue(gt));
    if (gte !== undefined) add(`${column} >= ?`, indexColumnValue(gte));
    if (lt !== undefined) add(`${column} < ?`, indexColumnValue(lt));
    if (lte !== undefined) add(`${column} <= ?`, indexColumnValue(lte));
    addBracket(column, { lower: gt ?? gte, upper: lt ?? lte }, add);
  }
}

/**
 * A range holds only values of the type of its bounds, as in document stores: below 5 there is no null, above 5 no
 * text. Null is the exception, for pages that continue after the documents without a value: every other value is above
 * null.
 */
function addBracket(
  column: string,
  { lower, upper }: { lower: IndexValue | undefined; upper: IndexValue | undefined },
  add: Add,
): void {
  if (lower === undefined && upper !== undefined && upper !== null) {
    if (typeof upper === 'string') add(`${column} >= ''`);
    else add(`${column} > -9e999`);
  }
  if (upper === undefined && lower !== undefined && lower !== null && typeof lower !== 'string') add(`${column} < ''`);
}
