/**
 * One page of the documents of a list, with the counts of the list. In the order of the index and without words, only the
 * page is read. Otherwise the values that are searched and sorted are read of all documents of the list (`rows`), and of
 * the documents only the page.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { rowMatcherOf, type PageRequest } from '@anneal/contracts/page.ts';
import { mapInSlices, Pace } from '@anneal/contracts/slices/pace.ts';
import type { Collection, Document, Query, ListedRow } from './port.ts';
import { rowValueIn } from './value-at.ts';

/** A list that pages are read of. */
export interface PagedList<T extends Document> {
  readonly where: Query['where'];
  /** The order that an index serves: its name as a column, and whether it goes downwards by itself. */
  readonly natural: { readonly name: string; readonly orderBy: readonly string[]; readonly descending?: boolean };
  /** The paths that columns and texts are made of. Each is listed or in an index. */
  readonly paths: readonly string[];
  /** The values that the columns sort by. */
  readonly columns: Readonly<Record<string, (values: ListedRow['values']) => number | string>>;
  /** The texts of a row, for the search. */
  readonly textsOf: (values: ListedRow['values']) => readonly string[];
  /** A condition on whole documents, all of which are read then. */
  readonly isWanted?: ((document: T) => boolean) | undefined;
}

/** The documents of a page, and the counts of the list. */
export interface StoredPage<T> {
  readonly documents: T[];
  readonly total: number;
  readonly found: number;
}

/**
 * A document that is removed meanwhile is left out of its page.
 * @throws AnnealError InvalidRequest for a column that the list does not have
 */
export async function findPage<T extends Document>(
  collection: Pick<Collection<T>, 'find' | 'count' | 'rows' | 'getMany'>,
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
  const all = isWanted
    ? (await collection.find({ where, ...order }))
        .filter(isWanted)
        .map((document) => rowOfDocument(document, list.paths))
    : await collection.rows({ where, ...order }, list.paths);
  const { rows, ...counts } = await pageOfRows(all, pagedRowsOf(list), request);
  return { documents: await collection.getMany(rows.map(({ id }) => id)), ...counts };
}

const rowOfDocument = (document: Document, paths: readonly string[]): ListedRow => ({
  id: document.id,
  values: Object.fromEntries(paths.map((path) => [path, rowValueIn(document, path)])),
});

function pagedRowsOf<T extends Document>({ natural, columns, textsOf }: PagedList<T>): PagedRows<ListedRow> {
  const ofRow = Object.entries(columns).map(([name, by]) => [name, ({ values }: ListedRow) => by(values)] as const);
  return {
    natural: natural.name,
    columns: Object.fromEntries(ofRow),
    textsOf: ({ values }) => textsOf(values),
  };
}

/** The columns and the texts of rows. */
export interface PagedRows<T> {
  /** The name of the order that the rows have already. */
  readonly natural: string;
  readonly columns: Readonly<Record<string, (row: T) => number | string>>;
  readonly textsOf: (row: T) => readonly string[];
}

/**
 * One page of rows that are in memory, in slices of the event loop.
 * @throws AnnealError InvalidRequest for a column that the rows do not have
 */
export async function pageOfRows<T>(
  all: readonly T[],
  { natural, columns, textsOf }: PagedRows<T>,
  { find = '', sort = natural, descending, offset = 0, limit }: PageRequest,
): Promise<{ rows: T[]; total: number; found: number }> {
  const by = columns[sort];
  if (sort !== natural && !by) throw unknownColumn(sort, [natural, ...Object.keys(columns)]);
  const pace = new Pace();
  const fits = rowMatcherOf(find);
  const matches = find.trim() === '' ? [] : await mapInSlices(all, (row) => fits(textsOf(row)), pace);
  const found = find.trim() === '' ? all : all.filter((_, at) => matches[at]);
  const ordered =
    by && sort !== natural ? sorted(await mapInSlices(found, keyed(by), pace), descending === true) : found;
  return { rows: ordered.slice(offset, offset + limit), total: all.length, found: found.length };
}

function unknownColumn(sort: string, known: readonly string[]): AnnealError {
  const message = `there is no column ${sort}: sort by ${[...new Set(known)].join(', ')}`;
  return new AnnealError('InvalidRequest', `Could not list: ${message}.`, {
    mistakes: [{ code: 'InvalidValue', path: 'sort', message }],
  });
}

interface Keyed<T> {
  readonly row: T;
  readonly key: number | string;
}

const keyed =
  <T>(by: (row: T) => number | string) =>
  (row: T): Keyed<T> => ({ row, key: by(row) });

/** Equal values keep the order of the index. */
function sorted<T>(rows: Keyed<T>[], descending: boolean): T[] {
  const sign = descending ? -1 : 1;
  rows.sort(({ key: a }, { key: b }) => (a === b ? 0 : a < b ? -sign : sign));
  return rows.map(({ row }) => row);
}
