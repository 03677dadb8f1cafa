/** A page of a list, for every API whose lists are complete before they are filtered, sorted and cut. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';

/** The rows that a client wants of a list. An absent part does not change it. */
export interface WantedRows<T> {
  readonly fits?: ((row: T) => boolean) | undefined;
  /** The first key decides; those after it decide between equals. */
  readonly order?: readonly SortKey<T>[] | undefined;
  /** The id of the row before the first one. */
  readonly marker?: string | undefined;
  readonly limit?: number | undefined;
}

/** A value to sort by. */
export interface SortKey<T> {
  readonly of: (row: T) => Json | undefined;
  readonly isDescending?: boolean | undefined;
}

/** The rows of a page, and the marker of the next one when there is one. */
export interface PageOfRows<T> {
  readonly rows: T[];
  readonly next?: string;
}

/** How an API pages. */
export interface PageForm<T> {
  readonly idOf: (row: T) => string;
  /** The code of the error for a marker that no row has. `ignored`: the list begins at its start. */
  readonly unknownMarker?: 'NotFound' | 'InvalidRequest' | 'ignored';
}

/**
 * Sorts the rows, begins after the marker, and takes the first that fit. Rows that are equal in all keys keep their order.
 * @throws AnnealError NotFound, or the code of the form, for a marker that no row has
 */
export function takePage<T>(all: readonly T[], wanted: WantedRows<T>, form: PageForm<T>): PageOfRows<T> {
  const { idOf, unknownMarker = 'NotFound' } = form;
  const { fits = () => true, order = [], marker, limit = Infinity } = wanted;
  const sorted = order.length === 0 ? all : all.toSorted((a, b) => compareBy(order, a, b));
  const before = marker === undefined ? -1 : sorted.findIndex((row) => idOf(row) === marker);
  if (marker !== undefined && before < 0 && unknownMarker !== 'ignored') {
    throw new AnnealError(unknownMarker, `The marker ${marker} is not in the list; its object may have been deleted.`);
  }
  const fitting = sorted.slice(before + 1).filter((row) => fits(row));
  const rows = fitting.slice(0, limit);
  const last = rows.at(-1);
  return { rows, ...(last !== undefined && rows.length < fitting.length && { next: idOf(last) }) };
}

function compareBy<T>(order: readonly SortKey<T>[], a: T, b: T): number {
  for (const { of, isDescending = false } of order) {
    const sign = compareValues(of(a) ?? null, of(b) ?? null);
    if (sign !== 0) return isDescending ? -sign : sign;
  }
  return 0;
}

/** Numbers by their size, everything else by its text; null comes first. */
function compareValues(a: Json, b: Json): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [first, second] = [textOf(a), textOf(b)];
  return first === second ? 0 : first < second ? -1 : 1;
}

const textOf = (value: Json): string =>
  value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value);
