/**
 * Numbers that JSON cannot tell apart and Python can: 1.0 is not 1 where its text shows, and an integer of twenty digits
 * has all of them. Such a number is an object here (it still becomes a plain number in JSON), which text-making functions
 * know; all others see its value after {@link plain}.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';

class Exact extends Number {
  /** As Python writes it. */
  readonly text: string;

  constructor(value: number, text: string) {
    super(value);
    this.text = text;
  }
}
export type { Exact };

export const isExact = (value: unknown): value is Exact => value instanceof Exact;

/** Python's `repr` of a float. */
export function floatText(value: number): string {
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
  return Number.isInteger(value) ? written(value, floatText(value)) : value;
}

/** A number with the text that Python would give it, where that is not the text of the plain number. */
export const written = (value: number, text: string): Json =>
  (Number.isFinite(value) ? new Exact(value, text) : text) as unknown as Json;

/** The number of the text of an {@link Exact}. */
export const fromText = (text: string): Json => written(Number(text), text);

/** Stands in a plan for a number that JSON cannot carry; no template can name it, since it is not a function. */
export const numberCall = '#number';

/** An expression of a value in which such numbers may be. */
export function exactExpression(value: Json): Expression {
  if (isExact(value)) return { kind: 'call', function: numberCall, arguments: { kind: 'literal', value: value.text } };
  if (typeof value !== 'object' || value === null || plain(value) === value) return { kind: 'literal', value };
  if (Array.isArray(value)) return { kind: 'list', items: value.map(exactExpression) };
  const entries = Object.entries(value).map(([key, item]) => ({ key, value: exactExpression(item) }));
  return { kind: 'map', entries };
}

/** The same value with plain numbers only; the same object when there was nothing to change. */
export function plain<T>(value: T): T {
  if (value instanceof Exact) return Number(value) as T;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item: unknown) => plain(item));
    return items.every((item, index) => item === value[index]) ? value : (items as T);
  }
  const entries = Object.entries(value).map(([key, item]: [string, unknown]) => [key, plain(item)] as const);
  const own = value as Record<string, unknown>;
  return entries.every(([key, item]) => item === own[key]) ? value : (Object.fromEntries(entries) as T);
}

/** A plain number where one is asked for. */
export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : value instanceof Exact ? Number(value) : undefined;
}
