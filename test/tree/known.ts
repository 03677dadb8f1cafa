/**
 * Pieces of a template, each together with the value that it must have. The value is computed here in plain TypeScript from
 * the same data, never with the template language, so that it can judge the product.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';

export interface KnownValue<T extends Json = Json> {
  readonly hot: Json;
  readonly value: T;
}

/** A condition that a template declares. */
export interface KnownCondition {
  readonly name: string;
  readonly holds: boolean;
}

/** Represents any value but null, such as the id of a machine, which only the product knows. */
export const anyValue = '<any value>';

/** A value that the tree uses as a text. */
export function stringOf(value: Json | undefined): string {
  if (typeof value !== 'string') throw new Error(`${JSON.stringify(value)} is not a text.`);
  return value;
}

const hots = (parts: Readonly<Record<string, KnownValue>>): JsonObject =>
  Object.fromEntries(Object.entries(parts).map(([key, { hot }]) => [key, hot]));
const values = (parts: Readonly<Record<string, KnownValue>>): JsonObject =>
  Object.fromEntries(Object.entries(parts).map(([key, { value }]) => [key, value]));

export const literalOf = <T extends Json>(value: T): KnownValue<T> => ({ hot: value, value });

/** One entry of a map that a parameter or an attribute holds. */
export function fieldOf({ hot, value }: KnownValue, key: string): KnownValue {
  const [[call, path] = ['', null]] = Object.entries(hot as JsonObject);
  return { hot: { [call]: [path, key].flat() }, value: (value as JsonObject)[key] ?? null };
}

export const listWith = (parts: readonly KnownValue[]): KnownValue<Json[]> => ({
  hot: parts.map(({ hot }) => hot),
  value: parts.map(({ value }) => value),
});

export const mapped = (parts: Readonly<Record<string, KnownValue>>): KnownValue<JsonObject> => ({
  hot: hots(parts),
  value: values(parts),
});

export const joined = (separator: string, parts: readonly KnownValue[]): KnownValue<string> => ({
  hot: { list_join: [separator, parts.map(({ hot }) => hot)] },
  value: parts.map(({ value }) => stringOf(value)).join(separator),
});

/** Joins a list that is itself a value. */
export const joinedList = (separator: string, list: KnownValue): KnownValue<string> => ({
  hot: { list_join: [separator, list.hot] },
  value: (list.value as Json[]).map(stringOf).join(separator),
});

/** Replaces each key in the text. No value contains a key. */
export const replaced = (template: string, parts: Readonly<Record<string, KnownValue>>): KnownValue<string> => ({
  hot: { str_replace: { template, params: hots(parts) } },
  value: Object.entries(parts).reduce((text, [key, { value }]) => text.replaceAll(key, stringOf(value)), template),
});

export const mergedMaps = (maps: readonly KnownValue[]): KnownValue<JsonObject> => ({
  hot: { map_merge: maps.map(({ hot }) => hot) },
  value: Object.assign({}, ...maps.map(({ value }) => value)) as JsonObject,
});

/** Merges a list of maps that is itself a value. */
export const mergedList = (list: KnownValue): KnownValue<JsonObject> => ({
  hot: { map_merge: list.hot },
  value: Object.assign({}, ...(list.value as Json[])) as JsonObject,
});

export const chosen = ({ name, holds }: KnownCondition, [yes, no]: readonly [KnownValue, KnownValue]): KnownValue => ({
  hot: { if: [name, yes.hot, no.hot] },
  value: holds ? yes.value : no.value,
});

const yaql = <T extends Json>(
  expression: string,
  data: Readonly<Record<string, KnownValue>>,
  value: T,
): KnownValue<T> => ({
  hot: { yaql: { expression, data: hots(data) } },
  value,
});

/** The sum of the numbers below 190. */
const inner = (190 * 189) / 2;

/** A text whose evaluation needs more work than the event loop of the scheduling service allows, so a worker evaluates it. */
export const heavy = (text: KnownValue, rounds: number): KnownValue<string> =>
  yaql(
    "$.data.text + '-' + str(range(0, $.data.rounds).select(range(0, 190).sum()).sum())",
    { text, rounds: literalOf(rounds) },
    `${stringOf(text.value)}-${rounds * inner}`,
  );

/** The beginning of a text, so that texts do not grow from level to level. */
export const shortened = (text: KnownValue): KnownValue<string> =>
  yaql('$.data.text.substring(0, 40)', { text }, stringOf(text.value).slice(0, 40));

/** One entry of each map of a list, in order, without repeats. */
export const plucked = (list: KnownValue, key: string): KnownValue<Json[]> =>
  yaql(`$.data.list.where($ != null).select($.get('${key}')).distinct()`, { list }, [
    ...new Set((list.value as JsonObject[]).map((item) => item[key] ?? null)),
  ]);

export const flattened = (lists: KnownValue): KnownValue<Json[]> =>
  yaql('$.data.lists.flatten()', { lists }, (lists.value as Json[][]).flat());

/** Merges the maps of a list; lists under the same key are joined without repeats. */
export const mergedDeep = (list: KnownValue): KnownValue<JsonObject> => {
  const value: { [key: string]: Json } = {};
  for (const map of list.value as JsonObject[]) {
    for (const [key, item] of Object.entries(map)) {
      const before = value[key];
      value[key] = Array.isArray(before) && Array.isArray(item) ? [...new Set([...before, ...item])] : item;
    }
  }
  return yaql('$.data.list.where($ != null).reduce($1.mergeWith($2), {})', { list }, value);
};

/** A map from a list of maps, by two of their keys. */
export const keyed = (list: KnownValue, [key, entry]: readonly [string, string]): KnownValue<JsonObject> =>
  yaql(
    `dict($.data.list.select([$.get('${key}'), $.get('${entry}')]))`,
    { list },
    Object.fromEntries((list.value as JsonObject[]).map((item) => [stringOf(item[key]), item[entry] ?? null])),
  );

/** The map without empty entries, as TripleO's maps of servers. */
export const withoutNulls = (map: KnownValue): KnownValue<JsonObject> =>
  yaql(
    'let(map => $.data.map) -> $map.deleteAll($map.keys().where($map.get($) = null))',
    { map },
    Object.fromEntries(Object.entries(map.value as JsonObject).filter(([, value]) => value !== null)),
  );
