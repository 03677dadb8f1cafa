/**
 * A collection whose documents have their long texts, maps and lists in blobs. Its users see whole documents: a write
 * takes the long values out, and a read puts them in.
 */
import { isExact, holdsValues } from '@anneal/contracts/exact-number.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { BulkOperation, Collection, Draft } from '@anneal/store/port.ts';
import { storedApartCharacters, type StoredContents, type WithContents } from './stored-contents.ts';

type Path = readonly string[];
/** In a path: each member of the map or list. Its places name no member like that. */
export const every = '*';

interface LongValue {
  /** From the document to the value. A parent adds its own name in front. */
  readonly path: string[];
  readonly value: Json;
}

/**
 * A view of a collection on whole documents.
 * @param options.places the paths under which a document may have long values
 */
export function wholeDocuments<T extends WithContents>(
  collection: Collection<T>,
  { contents, places }: { contents: StoredContents; places: readonly Path[] },
): Collection<T> {
  const taken = async (document: Draft<T>): Promise<Draft<T>> => {
    const long = longValuesIn(document, places);
    if (long.length === 0) return document;
    const stored = await Promise.all(long.map(async ({ path, value }) => ({ path, blob: await contents.put(value) })));
    const short = long.reduce<unknown>((rest, { path }) => replaced(rest, path, ''), document) as Draft<T>;
    return { ...short, contents: stored, has_contents: true };
  };
  const whole = async (document: T): Promise<T> => {
    const { contents: stored, has_contents: _mark, ...rest } = document;
    if (stored === undefined) return document;
    let found: unknown = rest;
    for (const { path, blob } of stored) found = replaced(found, path, await contents.get(blob));
    return found as T;
  };
  const allWhole = async (documents: T[]): Promise<T[]> =>
    documents.some((document) => document.contents !== undefined) ? Promise.all(documents.map(whole)) : documents;

  return {
    insert: async (document) => {
      const { version } = await collection.insert(await taken(document));
      return { ...document, version } as unknown as T;
    },
    get: async (id) => {
      const found = await collection.get(id);
      return found?.contents === undefined ? found : whole(found);
    },
    getMany: async (ids) => allWhole(await collection.getMany(ids)),
    find: async (query) => allWhole(await collection.find(query)),
    rows: (query, paths) => collection.rows(query, paths),
    count: (where) => collection.count(where),
    replace: async (document, version) => {
      const saved = await collection.replace(await taken(document), version);
      return saved && ({ ...document, version: saved.version } as unknown as T);
    },
    remove: (id, version) => collection.remove(id, version),
    bulk: async (operations) =>
      collection.bulk(
        await Promise.all(
          operations.map(async (operation): Promise<BulkOperation<T>> =>
            operation.kind === 'remove' ? operation : { ...operation, document: await taken(operation.document) },
          ),
        ),
      ),
  };
}

/** Every write of a document looks for them, so it copies no path until it finds one. */
function longValuesIn(document: object, places: readonly Path[]): LongValue[] {
  const found: LongValue[] = [];
  const done: string[] = [];
  const visit = (value: unknown, place: Path, at: number): void => {
    const name = place[at];
    if (name === undefined) {
      if (sizeWithin(value, storedApartCharacters) !== undefined) return;
      const inside: LongValue[] = [];
      takeLong(value, inside);
      for (const { path, value: long } of inside) found.push({ path: [...done, ...path], value: long });
    } else if (typeof value === 'object' && value !== null && !isExact(value)) {
      for (const each of name === every ? Object.keys(value) : [name]) {
        done.push(each);
        visit((value as Record<string, unknown>)[each], place, at + 1);
        done.pop();
      }
    }
  };
  for (const place of places) visit(document, place, 0);
  return found;
}

/** About the length as JSON. Undefined above the limit; nearly all values are far below it. */
export function sizeWithin(value: unknown, most: number): number | undefined {
  let size = ownSize(value);
  if (size > most) return undefined;
  if (!holdsValues(value)) return size;
  for (const name in value) {
    const inside = sizeWithin((value as Record<string, unknown>)[name], most - size);
    if (inside === undefined) return undefined;
    size += inside + name.length;
  }
  return size;
}

const ownSize = (value: unknown): number => 4 + (typeof value === 'string' ? value.length : 0);

/**
 * Finds the innermost values that are too long, and returns the size of the rest. A map or list that is too long even
 * without its long parts is found as a whole.
 */
function takeLong(value: unknown, found: LongValue[]): number {
  const before = found.length;
  let size = ownSize(value);
  if (typeof value === 'object' && value !== null && !isExact(value)) {
    for (const name in value) {
      const known = found.length;
      size += takeLong((value as Record<string, unknown>)[name], found) + name.length;
      for (const { path } of found.slice(known)) path.unshift(name);
    }
  }
  if (size <= storedApartCharacters) return size;
  found.length = before;
  found.push({ path: [], value: value as Json });
  return ownSize('');
}

/** A copy of a value with another value at a path. */
function replaced(value: unknown, path: Path, by: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return by;
  const copy = Array.isArray(value) ? [...(value as unknown[])] : { ...(value as object) };
  const inside = (copy as Record<string, unknown>)[name];
  Object.defineProperty(copy, name, {
    value: replaced(inside, rest, by),
    enumerable: true,
    writable: true,
    configurable: true,
  });
  return copy;
}
