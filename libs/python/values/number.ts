/**
 * Numbers that differ in Python but not in JSON: 1.0 is not 1 when it becomes text, and an integer of twenty digits
 * keeps all of them. Such a number is an object here (`exact-number.ts` of the contracts). Functions that make text
 * know it; all others get the plain value (exact.ts).
 */
import { floatText, isExact, written } from '@anneal/contracts/exact-number.ts';
import type { Json } from '@anneal/contracts/json.ts';

export { type Exact, floatText, isExact, numberOf, written } from '@anneal/contracts/exact-number.ts';

/** Converts a number of the template language: an integer is a bigint, a float is a number. */
export function exactNumber(value: bigint | number): Json {
  if (typeof value === 'bigint') {
    const short = Number(value);
    return Number.isSafeInteger(short) ? short : written(short, value.toString());
  }
  return Number.isInteger(value) || !Number.isFinite(value) ? written(value, floatText(value)) : value;
}

/** Parses the text of an {@link Exact}. */
export const fromText = (text: string): Json =>
  written(Number(text.replace('inf', 'Infinity').replace('nan', 'NaN')), text);

/** True for a float, even when it is whole. */
export function isFloat(value: unknown): boolean {
  return isExact(value) ? /[.en]/.test(value.text) : typeof value === 'number' && !Number.isInteger(value);
}
