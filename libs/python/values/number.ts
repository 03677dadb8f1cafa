/**
 * Numbers that differ in Python but not in JSON: 1.0 is not 1 when it becomes text, and an integer of twenty digits
 * keeps all of them. Such a number is an object here, which becomes a plain number in JSON. Functions that make text
 * know it; all others get the plain value (exact.ts).
 */
import type { Json } from '@anneal/contracts/json.ts';

class Exact extends Number {
  /** The number as Python writes it. */
  readonly text: string;

  constructor(value: number, text: string) {
    super(value);
    this.text = text;
  }

  /** Writes all digits. NaN becomes null, and an infinity becomes a number beyond the range of a double. */
  toJSON(): unknown {
    const value = Number(this);
    if (Number.isNaN(value)) return null;
    return Number.isFinite(value) ? rawJson(this.text) : rawJson(value < 0 ? '-1e999' : '1e999');
  }
}

/** The compiler's types do not have `JSON.rawJSON` yet. */
const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
export type { Exact };

/** True for a number that keeps its Python text. */
export const isExact = (value: unknown): value is Exact => value instanceof Exact;

/** Python's `repr` of a float. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value < 0 ? '-inf' : 'inf';
  const magnitude = Math.abs(value);
  if (value !== 0 && (magnitude < 1e-4 || magnitude >= 1e16)) {
    const [mantissa = '', power = '0'] = value.toExponential().split('e');
    return `${mantissa}e${power.startsWith('-') ? '-' : '+'}${power.replace(/^[-+]/, '').padStart(2, '0')}`;
  }
  return Number.isInteger(value) ? `${Object.is(value, -0) ? '-0' : value}.0` : String(value);
}

/** Converts a number of the template language: an integer is a bigint, a float is a number. */
export function exactNumber(value: bigint | number): Json {
  if (typeof value === 'bigint') {
    const short = Number(value);
    return Number.isSafeInteger(short) ? short : written(short, value.toString());
  }
  return Number.isInteger(value) || !Number.isFinite(value) ? written(value, floatText(value)) : value;
}

/** A number with the text that Python gives it, for numbers whose plain text differs. */
export const written = (value: number, text: string): Json => new Exact(value, text) as unknown as Json;

/** Parses the text of an {@link Exact}. */
export const fromText = (text: string): Json =>
  written(Number(text.replace('inf', 'Infinity').replace('nan', 'NaN')), text);

/** True for a float, even when it is whole. */
export function isFloat(value: unknown): boolean {
  return value instanceof Exact ? /[.en]/.test(value.text) : typeof value === 'number' && !Number.isInteger(value);
}

/** The plain number, or undefined when the value is no number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : value instanceof Exact ? Number(value) : undefined;
}
