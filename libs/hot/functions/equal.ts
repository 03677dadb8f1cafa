/** Finds values that Python calls equal, without comparing each with each. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import { numberOf } from '@anneal/python/values/number.ts';
import { exactEntries } from '@anneal/python/values/record.ts';

/** Entries of a map by keys as Python compares them: the number 1 is not the text 1, but it equals 1.0 and true. */
export class EqualMap {
  readonly #values: ReadonlyMap<string | undefined, Json>;

  constructor(map: JsonObject) {
    this.#values = new Map(exactEntries(map).map(([key, value]) => [keyOf(key as Json), value]));
  }

  get(key: Json): Json | undefined {
    const known = keyOf(key);
    return known === undefined ? undefined : this.#values.get(known);
  }
}

/** Set that compares as Python's `a == b`: deeply, and true equals 1. */
export class EqualSet {
  readonly #keys = new Set<string>();

  /** Returns true when the value was not in the set yet. */
  add(value: Json): boolean {
    const key = keyOf(value);
    if (key === undefined) return true;
    const before = this.#keys.size;
    return this.#keys.add(key).size > before;
  }

  has(value: Json): boolean {
    const key = keyOf(value);
    return key !== undefined && this.#keys.has(key);
  }
}

/** Returns a key that equal values share; undefined for a value that does not equal itself. */
function keyOf(value: Json): string | undefined {
  let isEqualToItself = true;
  const form = (item: Json): Json => {
    const number = typeof item === 'boolean' ? Number(item) : numberOf(item);
    if (number !== undefined) {
      isEqualToItself &&= !Number.isNaN(number);
      return Number.isFinite(number) ? number : [String(number)];
    }
    if (Array.isArray(item)) return ['list', ...item.map(form)];
    if (!isPlainObject(item)) return item;
    return [
      'map',
      ...Object.keys(item)
        .toSorted()
        .flatMap((key) => [key, form(item[key] ?? null)]),
    ];
  };
  const key = JSON.stringify(form(value));
  return isEqualToItself ? key : undefined;
}
