/**
 * Numbers that JSON cannot tell apart and Python can: 1.0 is not 1 where its text shows, and an integer of twenty digits
 * has all of them. Such a number is an object here (it still becomes a plain number in JSON), which text-making functions
 * know; all others see its value once it is made plain (exact.ts).
 */
import type { Json } from '@anneal/contracts/json.ts';

class Exact extends Number {
  /** As Python writes it. */
  readonly text: string;

  constructor(value: number, text: string) {
    super(value);
    this.text = text;
  }

  /** With all its digits; what has no name in JSON becomes the nearest that does. */
  toJSON(): unknown {
    const value = Number(this);
    if (Number.isNaN(value)) return null;
    return Number.isFinite(value) ? rawJson(this.text) : rawJson(value < 0 ? '-1e999' : '1e999');
  }
}

/** Newer than the types that the compiler knows. */
const rawJson = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
export type { Exact };

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

/** A number of the language: an integer as bigint, a float as number. */
export function exactNumber(value: bigint | number): Json {
  if (typeof value === 'bigint') {
    const short = Number(value);
    return Number.isSafeInteger(short) ? short : written(short, value.toString());
  }
  return Number.isInteger(value) || !Number.isFinite(value) ? written(value, floatText(value)) : value;
}

/** A number with the text that Python would give it, where that is not the text of the plain number. */
export const written = (value: number, text: string): Json => new Exact(value, text) as unknown as Json;

/** The number of the text of an {@link Exact}. */
export const fromText = (text: string): Json =>
  written(Number(text.replace('inf', 'Infinity').replace('nan', 'NaN')), text);

/** A float, also where it is whole. */
export function isFloat(value: unknown): boolean {
  return value instanceof Exact ? /[.en]/.test(value.text) : typeof value === 'number' && !Number.isInteger(value);
}

/** A plain number where one is asked for. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : value instanceof Exact ? Number(value) : undefined;
}
