/**
 * How a document lies in MongoDB: its JSON as one text, beside it the values that indexes are made of.
 *
 * The text keeps every key as it is (`$sealed`, keys with dots or NUL, any depth), which MongoDB's own documents do not,
 * and is written and read several times faster than nested BSON.
 */
import { promisify } from 'node:util';
import { constants, gunzip, gzip } from 'node:zlib';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { Binary } from 'mongodb';
import type { Document, IndexValue } from '../port.ts';

export interface Stored {
  _id: string;
  version: number;
  /** Which write made this version: a writer that lost the answer finds out whether it was its own. */
  write: string;
  /** Plain up to a megabyte, compressed above. */
  body: string | Binary;
  [key: `by_${string}`]: string | number | null;
}

/** The values of the indexed paths. */
export type Keys = Record<`by_${string}`, string | number | null>;

/** MongoDB takes 16 MiB a document; the rest is for ids and index values. */
const largestBody = 15.5 * 1024 * 1024;
const compressFrom = 1024 * 1024;
const zip = promisify(gzip);
const unzip = promisify(gunzip);

/** The name of an indexed path in the stored document. A dot would make MongoDB look into a sub-document. */
export const keyOf = (field: string): '_id' | `by_${string}` =>
  field === 'id' ? '_id' : `by_${field.replaceAll('.', '/')}`;

/** Booleans are 0 and 1, as on every adapter, so that values come in one order everywhere. */
export const indexed = (value: IndexValue): string | number | null =>
  typeof value === 'boolean' ? Number(value) : value;

export function keysOf(document: object, fields: readonly string[]): Keys {
  const keys: Keys = {};
  for (const field of fields) {
    const key = keyOf(field);
    if (key !== '_id') keys[key] = asKey(valueAt(document, field));
  }
  return keys;
}

function valueAt(document: object, field: string): unknown {
  let value: unknown = document;
  for (const name of field.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** What JSON makes of the value; lists and objects, which no query asks for, as their text. */
function asKey(value: unknown): string | number | null {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  const text = value === null ? undefined : JSON.stringify(value);
  if (text === undefined) return null;
  const plain: unknown = JSON.parse(text);
  return typeof plain === 'string' || typeof plain === 'number' ? plain : text;
}

/** The version lives beside the body; one that a caller spread into its draft must not be kept. */
export const textOf = (document: object): string =>
  JSON.stringify('version' in document ? { ...document, version: undefined } : document);

/** @throws AnnealError TooLarge for what does not fit even compressed. */
export async function bodyOf(text: string, name: string): Promise<string | Binary> {
  const size = Buffer.byteLength(text);
  if (size < compressFrom) return text;
  const packed = await zip(text, { level: constants.Z_BEST_SPEED });
  if (packed.length > largestBody) {
    throw new AnnealError(
      'TooLarge',
      `${name} has ${size} bytes, ${packed.length} compressed; MongoDB keeps up to ${largestBody} in a document.`,
    );
  }
  return new Binary(packed);
}

export async function documentOf<T extends Document>(stored: Pick<Stored, 'version' | 'body'>): Promise<T> {
  const { body } = stored;
  const text = typeof body === 'string' ? body : (await unzip(body.value())).toString();
  return Object.assign(JSON.parse(text) as T, { version: stored.version });
}
