/**
 * One page of the documents of a list, with the counts of the list. In the order of the index and without words, only the
 * page is read. Otherwise all documents of the list are read, in turns of the event loop.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { rowMatcherOf, type PageRequest } from '@anneal/contracts/page.ts';
import type { Collection, Document, Query } from './port.ts';

/** A list that pages are read of. */
export interface PagedList<T extends Document> {
  readonly where: Query['where'];
  /** The order that an index serves: its name as a column, and whether it goes downwards by itself. */
  readonly natural: { readonly name: string; readonly orderBy: readonly string[]; readonly descending?: boolean };
  /** The values that the columns sort by. */
  readonly columns: Readonly<Record<string, (document: T) => number | string>>;
  /** The texts of a row, for the search. */
  readonly textsOf: (document: T) => readonly string[];
  /** A condition that no index serves. */
  readonly isWanted?: ((document: T) => boolean) | undefined;
}

/** The documents of a page, and the counts of the list. */
export interface StoredPage<T> {
  readonly documents: T[];
  readonly total: number;
  readonly found: number;
}

/** @throws AnnealError InvalidRequest for a column that the list does not have */
export async function findPage<T extends Document>(
  collection: Pick<Collection<T>, 'find' | 'count'>,
  list: PagedList<T>,
  request: PageRequest,
): Promise<StoredPage<T>> {
  const { find = '', sort = list.natural.name, descending, offset = 0, limit } = request;
  const { where, natural, isWanted } = list;
  const isNatural = sort === natural.name;
  if (!isNatural && !list.columns[sort]) throw unknownColumn(sort, [natural.name, ...Object.keys(list.columns)]);
  const order = {
    orderBy: natural.orderBy,
    descending: isNatural ? (descending ?? natural.descending ?? false) : false,
  };
  if (isNatural && find.trim() === '' && !isWanted) {
    const [documents, total] = await Promise.all([
      collection.find({ where, ...order, offset, limit }),
      collection.count(where),
    ]);
    return { documents, total, found: total };
  }
  const all = (await collection.find({ where, ...order })).filter((document) => !isWanted || isWanted(document));
  const { rows, ...counts } = pageOfRows(all, { ...list, natural: natural.name }, request);
  return { documents: rows, ...counts };
}

/** The columns and the texts of rows. */
export interface PagedRows<T> {
  /** The name of the order that the rows have already. */
  readonly natural: string;
  readonly columns: Readonly<Record<string, (row: T) => number | string>>;
  readonly textsOf: (row: T) => readonly string[];
}

/**
 * One page of rows that are in memory. Pure.
 * @throws AnnealError InvalidRequest for a column that the rows do not have
 */
export function pageOfRows<T>(
  all: readonly T[],
  { natural, columns, textsOf }: PagedRows<T>,
  { find = '', sort = natural, descending, offset = 0, limit }: PageRequest,
): { rows: T[]; total: number; found: number } {
  const by = columns[sort];
  if (sort !== natural && !by) throw unknownColumn(sort, [natural, ...Object.keys(columns)]);
  const fits = rowMatcherOf(find);
  const found = all.filter((row) => fits(textsOf(row)));
  const ordered = by && sort !== natural ? sorted(found, by, descending === true) : found;
  return { rows: ordered.slice(offset, offset + limit), total: all.length, found: found.length };
}

function unknownColumn(sort: string, known: readonly string[]): AnnealError {
  const message = `there is no column ${sort}: sort by ${[...new Set(known)].join(', ')}`;
  return new AnnealError('InvalidRequest', `Could not list: ${message}.`, {
    mistakes: [{ code: 'InvalidValue', path: 'sort', message }],
  });
}

/** Equal values keep the order of the index. */
function sorted<T>(rows: readonly T[], by: (row: T) => number | string, descending: boolean): T[] {
  const sign = descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, key: by(row) }));
  keyed.sort(({ key: a }, { key: b }) => (a === b ? 0 : a < b ? -sign : sign));
  return keyed.map(({ row }) => row);
}
