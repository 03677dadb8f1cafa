/** Converts values that JSON cannot hold (numbers with their text, maps with their keys) into a plan and out of it. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { isExact } from './number.ts';
import { entriesOf, exactEntries, type ExactKey, exactKeys, exactRecord } from './record.ts';

/** Represents in a plan a number that JSON cannot carry. It is not a function, so no template can name it. */
export const numberCall = '#number';
/** Represents in a plan a map whose keys are not all text, as a list of pairs. */
export const mapCall = '#map';

/** Builds an expression from a value that may contain such numbers and maps. */
export function exactExpression(value: Json): Expression {
  if (isExact(value)) return { kind: 'call', function: numberCall, arguments: { kind: 'literal', value: value.text } };
  if (typeof value !== 'object' || value === null || plain(value) === value) return { kind: 'literal', value };
  if (Array.isArray(value)) return { kind: 'list', items: value.map(exactExpression) };
  return mapExpression(exactEntries(value).map(([key, item]) => ({ key, value: exactExpression(item) })));
}

/** A map expression. Keys that are not text make it a call of `mapCall` with the pairs. */
export function mapExpression(entries: readonly { key: ExactKey; value: Expression }[]): Expression {
  const named = entries.flatMap(({ key, value }) => (typeof key === 'string' ? [{ key, value }] : []));
  if (named.length === entries.length) return { kind: 'map', entries: named };
  const pairs = entries.map(({ key, value }): Expression => ({
    kind: 'list',
    items: [exactExpression(key as Json), value],
  }));
  return { kind: 'call', function: mapCall, arguments: { kind: 'list', items: pairs } };
}

/** The map of the evaluated pairs of a {@link mapCall}. */
export const mapOfPairs = <T>(pairs: readonly (readonly T[])[]): Record<string, T> =>
  exactRecord(pairs.map(([key, value]) => [key as ExactKey, value as T] as const));

/** Turns keys that are not text into text. Numbers keep their form. Returns the same object when nothing changes. */
export function withTextKeys<T>(value: T): T {
  if (!holdsValues(value)) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item: unknown) => withTextKeys(item));
    return items.every((item, index) => item === value[index]) ? value : (items as T);
  }
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => [key, withTextKeys(item)] as const);
  const isSame = exactKeys(value) === undefined && entries.every(([key, item]) => item === (value as never)[key]);
  return isSame ? value : (toRecord(entries) as T);
}

/** Converts a value to plain JSON. Returns the same object when nothing changes. */
export function plain<T>(value: T): T {
  if (isExact(value)) return Number(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item: unknown) => plain(item));
    return items.every((item, index) => item === value[index]) ? value : (items as T);
  }
  const own = value as Record<string, unknown>;
  const entries = entriesOf(own).map(([key, item]) => [key, plain(item)] as const);
  const isPlain = exactKeys(own) === undefined && entries.every(([key, item]) => item === own[key]);
  return isPlain ? value : (toRecord(entries) as T);
}
