import { z } from 'zod';
import { isExact } from './exact-number.ts';
import { isObject, type Json, type JsonObject } from './plain-json.ts';

export { isObject, type Json, type JsonObject } from './plain-json.ts';

// `z.json()` walks the value and clones it on every hop. A value from JSON.parse is already JSON, so the edge only has
// to refuse values that JSON cannot carry.
/** Any JSON value. */
export const json: z.ZodType<Json> = z.custom<Json>((value) => value !== undefined && typeof value !== 'function', {
  message: 'must be a JSON value',
});
/** Any JSON object. */
export const jsonObject: z.ZodType<JsonObject> = z.custom<JsonObject>(isObject, { message: 'must be a JSON object' });

interface Unopened {
  readonly unopened: never;
}
/**
 * A JSON object whose values may be sealed, at any depth. A program can pass it on, compare it and store it. To read it,
 * the program opens it (`runtime/secrets/open.ts`), because the compiler refuses to read a sealed value as a plain one.
 */
export type SealableObject = JsonObject | Unopened;
/** A JSON object, parts of which may be sealed. */
export const sealableObject = jsonObject as unknown as z.ZodType<SealableObject>;

/** A property as it is stored, perhaps sealed: only for code that passes it on. */
export const storedProperty = (properties: SealableObject, name: string): Json | undefined =>
  (properties as JsonObject)[name];

/** True for the form of a seal. Only a key proves one, so a reader without keys may only put off a check. */
export const hasSealedForm = (value: Json): boolean =>
  isObject(value) && typeof value['$sealed'] === 'string' && Object.keys(value).length === 1;

/** Deep equality of JSON; ignores the order of keys. Numbers are equal when they have the same form: 1.0 is not 1. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isExact(a) || isExact(b)) return isExact(a) && isExact(b) && a.source === b.source;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    return (
      Array.isArray(a) &&
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, index) => sameJson(item, b[index]))
    );
  }
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

/** Text shorter than this counts by its length: encoding it would cost more than the few bytes of difference. */
const shortText = 512;

/**
 * The bytes of a value as JSON, close enough for limits: escapes are not counted. Stops as soon as the size exceeds `most`,
 * so that a huge value costs no more than the limit.
 */
export function jsonBytes(value: unknown, most = Infinity): number {
  if (typeof value === 'string') return 2 + (value.length < shortText ? value.length : Buffer.byteLength(value));
  if (typeof value !== 'object' || value === null) return typeof value === 'number' ? 8 : 5;
  if (isExact(value)) return value.source.length;
  let bytes = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      bytes += 1 + jsonBytes(item, most - bytes);
      if (bytes > most) return bytes;
    }
    return bytes;
  }
  const map = value as Readonly<Record<string, unknown>>;
  for (const key in map) {
    const item = map[key];
    if (item === undefined) continue;
    bytes += 4 + key.length + jsonBytes(item, most - bytes);
    if (bytes > most) return bytes;
  }
  return bytes;
}

/** A secret text on its way to the service that stores it: the gateway seals it, because brokers keep messages in files. */
export const secretText = z.union([z.string().max(4096), z.strictObject({ $sealed: z.string() })]);
