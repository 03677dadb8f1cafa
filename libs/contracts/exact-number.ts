/**
 * Numbers that JavaScript would change: `1.0` becomes 1, `12345678901234567890` loses digits, `1e400` becomes null. Such a
 * number is an object here, with the text that was read. `JSON.stringify` writes that text again.
 */
import type { Json } from './json-type.ts';

class Exact extends Number {
  readonly #source: string;
  #text: string | undefined;

  constructor(source: string, { value = Number(source), text }: { value?: number; text?: string } = {}) {
    super(value);
    this.#source = source;
    this.#text = text;
  }

  /** The number as it stands in JSON. */
  get source(): string {
    return this.#source;
  }

  /** The number as Python writes it. */
  get text(): string {
    return (this.#text ??= pythonForm(this.#source));
  }

  toJSON(): unknown {
    return rawJson(this.#source);
  }
}

/** The compiler's types do not have `JSON.rawJSON` yet. A browser that does not have it, either, writes the plain number. */
const rawJson = (text: string): unknown =>
  (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON?.(text) ?? Number(text);
export type { Exact };

/** True for a number that keeps its text. */
export const isExact = (value: unknown): value is Exact => value instanceof Exact;

/** True for a list or a map, which hold other values; not for null or a number that keeps its text. */
export const holdsValues = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !isExact(value);

/** The plain number, or undefined when the value is no number. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : isExact(value) ? Number(value) : undefined;
}

/** The number that a text of JSON states: a plain one when it becomes the same text again. */
export function numberOfSource(source: string): Json {
  const value = Number(source);
  return String(value) === source ? value : (new Exact(source, { value }) as unknown as Json);
}

/** A number with the text that Python gives it, for numbers whose plain text differs. JSON has no NaN, so NaN becomes null there. */
export const written = (value: number, text: string): Json =>
  new Exact(endless[text] ?? text, { value, text }) as unknown as Json;

const endless: Readonly<Record<string, string>> = { nan: 'null', inf: '1e999', '-inf': '-1e999' };

function pythonForm(source: string): string {
  return /[.eE]/.test(source) ? floatText(Number(source)) : BigInt(source).toString();
}

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
