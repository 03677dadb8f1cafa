/**
 * Maps as Python has them. A template's `{10: a, 9: b}` keeps its order and has numbers as keys. When a key is other than
 * text, the object carries its exact keys under a symbol, which JSON ignores.
 */
import { withOrder, toRecord } from '@anneal/contracts/ordered-map.ts';
import { type Exact, floatText, isExact } from './number.ts';

/** A key of a Python map. An object has it as text; the record remembers the original. */
export type ExactKey = string | number | boolean | null | Exact;

const keys: unique symbol = Symbol('keys');
interface Keyed {
  readonly [keys]?: readonly ExactKey[];
}

/** A key as JSON writes it. */
export function keyText(key: ExactKey): string {
  if (typeof key === 'string') return key;
  if (isExact(key)) return { inf: 'Infinity', '-inf': '-Infinity', nan: 'NaN' }[key.text] ?? key.text;
  return typeof key === 'number' && !Number.isInteger(key) ? floatText(key) : String(key);
}

/** Builds as `toRecord` does, with keys that may be other than text. */
export function exactRecord<T>(entries: Iterable<readonly [ExactKey, T]>): Record<string, T> {
  const pairs = [...entries];
  if (pairs.every(([key]) => typeof key === 'string')) return toRecord(pairs as (readonly [string, T])[]);
  const found = new Map<string, { key: ExactKey; value: T }>();
  for (const [key, value] of pairs) {
    const name = keyText(key);
    found.set(name, { key: found.get(name)?.key ?? key, value });
  }
  const record = Object.fromEntries(Array.from(found, ([name, { value }]) => [name, value]));
  const exact = Array.from(found.values(), ({ key }) => key);
  Object.defineProperty(record, keys, { value: exact });
  return withOrder(record, new Set(found.keys()));
}

/** Undefined when the object's own keys are exact. */
export function exactKeys(record: object): readonly ExactKey[] | undefined {
  return (record as Keyed)[keys];
}

/** The keys in the order in which they were written, with their types. */
export function keysOf(record: object): readonly ExactKey[] {
  return exactKeys(record) ?? Object.keys(record);
}

/** The entries in the order in which they were written. */
export function entriesOf<T>(record: Readonly<Record<string, T>>): [string, T][] {
  const known = exactKeys(record);
  if (!known) return Object.entries(record);
  return known.map((key) => {
    const name = keyText(key);
    return [name, record[name] as T];
  });
}

/** The entries in the order in which they were written, with the types of their keys. */
export function exactEntries<T>(record: Readonly<Record<string, T>>): [ExactKey, T][] {
  return keysOf(record).map((key) => [key, record[keyText(key)] as T]);
}
