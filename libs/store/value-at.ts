/** Values in a document by their paths. */
import type { RowValue } from './port.ts';

/** The value in a document at the path of an index; undefined or null when there is none. */
export function valueAt(document: object, field: string): unknown {
  if (!field.includes('.')) return Object.hasOwn(document, field) ? (document as Record<string, unknown>)[field] : null;
  let value: unknown = document;
  for (const name of field.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

/** The value at a path in the form of an index. Lists and objects, which no query asks for, become their text. */
export function rowValueIn(document: object, path: string): RowValue {
  const value = valueAt(document, path);
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  const text = value === null ? undefined : JSON.stringify(value);
  if (text === undefined) return null;
  const plain: unknown = JSON.parse(text);
  return typeof plain === 'string' || typeof plain === 'number' ? plain : text;
}
