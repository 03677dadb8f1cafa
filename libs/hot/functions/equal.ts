/** Values that Python calls equal, found without comparing each with each. */
import type { Json } from '@anneal/contracts/json.ts';
import { isObject } from '../node.ts';
import { numberOf } from '../number.ts';

/** By `a == b`: deep, and true is 1. */
export class EqualSet {
  readonly #keys = new Set<string>();

  /** Whether there was none of it before. */
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

/** What all equal values share; undefined for what is not even equal to itself. */
function keyOf(value: Json): string | undefined {
  let isEqualToItself = true;
  const form = (item: Json): Json => {
    const number = typeof item === 'boolean' ? Number(item) : numberOf(item);
    if (number !== undefined) {
      isEqualToItself &&= !Number.isNaN(number);
      return Number.isFinite(number) ? number : [String(number)];
    }
    if (Array.isArray(item)) return ['list', ...item.map(form)];
    if (!isObject(item)) return item;
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
