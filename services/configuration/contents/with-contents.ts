/**
 * A collection whose documents have their long texts in blobs. Its users see whole documents: a write takes the texts
 * out, and a read puts them in.
 */
import type { BulkOperation, Collection, Draft } from '@anneal/store/port.ts';
import { inlineCharacters, type StoredContents, type WithContents } from './stored-contents.ts';

type Path = readonly string[];

interface LongText {
  readonly path: Path;
  readonly text: string;
}

/**
 * A view of a collection on whole documents.
 * @param options.places the paths under which a document may have long texts
 */
export function wholeDocuments<T extends WithContents>(
  collection: Collection<T>,
  { contents, places }: { contents: StoredContents; places: readonly Path[] },
): Collection<T> {
  const taken = async (document: Draft<T>): Promise<Draft<T>> => {
    const texts = longTextsIn(document, places);
    if (texts.length === 0) return document;
    const stored = await Promise.all(texts.map(async ({ path, text }) => ({ path, blob: await contents.put(text) })));
    const short = texts.reduce<unknown>((rest, { path }) => replaced(rest, path, ''), document) as Draft<T>;
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

function longTextsIn(document: object, places: readonly Path[]): LongText[] {
  const found: LongText[] = [];
  for (const place of places) {
    let value: unknown = document;
    for (const name of place) value = (value as Record<string, unknown> | null | undefined)?.[name];
    if (hasLongText(value)) addLongTexts(value, place, found);
  }
  return found;
}

/** Nearly all documents have none, so this makes no paths. */
function hasLongText(value: unknown): boolean {
  if (typeof value === 'string') return value.length > inlineCharacters;
  if (typeof value !== 'object' || value === null) return false;
  for (const name in value) if (hasLongText((value as Record<string, unknown>)[name])) return true;
  return false;
}

function addLongTexts(value: unknown, path: Path, found: LongText[]): void {
  if (typeof value === 'string') {
    if (value.length > inlineCharacters) found.push({ path, text: value });
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, inside] of Object.entries(value)) addLongTexts(inside, [...path, name], found);
  }
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
