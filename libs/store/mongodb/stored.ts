/**
 * A document in MongoDB: its JSON as one text, and beside it the values for the indexes.
 *
 * The text keeps every key unchanged (`$sealed`, keys with dots or NUL, any depth), which MongoDB's own documents do
 * not. It is written and read several times faster than nested BSON.
 */
import type { Binary } from 'mongodb';
import type { IndexValue, ListedRow } from '../port.ts';
import { rowValueIn } from '../value-at.ts';

/** A document of the port as MongoDB stores it: text beside index values. */
export interface Stored {
  _id: string;
  version: number;
  /** The write that made this version. A writer that lost the answer recognises its own write by it. */
  write: string;
  /** See bodies.ts. */
  body: string | Binary;
  pieces?: number;
  [key: `by_${string}`]: string | number | null;
}

/** The values of the indexed paths. */
export type Keys = Record<`by_${string}`, string | number | null>;

/** The name of an indexed path in the stored document. A dot would make MongoDB look into a sub-document. */
export const keyOf = (field: string): '_id' | `by_${string}` =>
  field === 'id' ? '_id' : `by_${field.replaceAll('.', '/')}`;

/** Booleans become 0 and 1, as on every adapter, so that values have one order everywhere. */
export const indexed = (value: IndexValue): string | number | null =>
  typeof value === 'boolean' ? Number(value) : value;

/** The index values of a document, by their names in the stored document. */
export function storedKeys(document: object, fields: readonly string[]): Keys {
  const keys: Keys = {};
  for (const field of fields) {
    const key = keyOf(field);
    if (key !== '_id') keys[key] = rowValueIn(document, field);
  }
  return keys;
}

/** Some values of a stored document, by their paths. */
export const rowOf = (stored: { readonly _id: string } & Keys, paths: readonly string[]): ListedRow => ({
  id: stored._id,
  values: Object.fromEntries(
    paths.map((path) => {
      const key = keyOf(path);
      return [path, key === '_id' ? stored._id : (stored[key] ?? null)];
    }),
  ),
});

/** The version is stored beside the body; a version that a caller copied into its draft must not be kept. */
export const storedText = (document: object): string =>
  JSON.stringify('version' in document ? { ...document, version: undefined } : document);
