/**
 * What an unquoted word means: YAML 1.1 as PyYAML reads it, timestamps left as strings. YAML 1.2 readers, and most 1.1
 * readers, differ in file modes (0644), sexagesimal numbers (12:30:45), exponents (1e3) and the words yes/no/on/off.
 */

export type Scalar =
  | { readonly value: null | boolean | number | string; readonly written?: string }
  | { readonly mistake: string };

const truths = new Set(['yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON']);
const untruths = new Set(['no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF']);
const nulls = new Set(['', '~', 'null', 'Null', 'NULL']);

const binary = /^[-+]?0b[0-1_]+$/;
const octal = /^[-+]?0[0-7_]+$/;
const decimal = /^[-+]?(?:0|[1-9][0-9_]*)$/;
const hexadecimal = /^[-+]?0x[0-9a-fA-F_]+$/;
const sexagesimal = /^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$/;
const float = /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$/;
const sexagesimalFloat = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*$/;
const notFinite = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

export function resolvePlain(text: string): Scalar {
  if (nulls.has(text)) return { value: null };
  if (truths.has(text)) return { value: true };
  if (untruths.has(text)) return { value: false };
  if (text === '=') return { mistake: 'a bare = has no meaning; put it in quotes' };
  // Most words begin with a letter and are none of the numbers below.
  if (!/^[-+.0-9]/.test(text)) return { value: text };
  if (notFinite.test(text)) return { mistake: `${text} cannot be carried in JSON; put it in quotes` };
  return number(text) ?? { value: text };
}

function number(text: string): Scalar | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const digits = text.replace(/^[-+]/, '').replaceAll('_', '');
  if (binary.test(text)) return integer(sign, `0b${digits.slice(2)}`);
  if (hexadecimal.test(text)) return integer(sign, `0x${digits.slice(2)}`);
  if (octal.test(text)) return integer(sign, `0o${digits.slice(1)}`);
  if (decimal.test(text)) return integer(sign, digits);
  if (sexagesimal.test(text)) return { value: sign * base60(digits) };
  if (float.test(text)) return floating(sign * Number(digits));
  if (sexagesimalFloat.test(text)) return floating(sign * base60(digits));
  return undefined;
}

function integer(sign: number, digits: string): Scalar | undefined {
  let exact: bigint;
  try {
    exact = BigInt(digits) * BigInt(sign);
  } catch {
    return undefined;
  }
  const value = Number(exact);
  // A serial number of twenty digits keeps its digits where it becomes a string.
  if (Number.isSafeInteger(value)) return { value: value === 0 ? 0 : value };
  return Number.isFinite(value) ? { value, written: exact.toString() } : { value: exact.toString() };
}

function floating(value: number): Scalar {
  if (!Number.isFinite(value)) return { mistake: 'the number is too large' };
  return Number.isInteger(value) ? { value: value === 0 ? 0 : value, written: pythonFloat(value) } : { value };
}

/** Python writes whole floats with `.0`, up to 1e16. */
function pythonFloat(value: number): string {
  return Math.abs(value) < 1e16 ? `${value}.0` : exponent(value);
}
function exponent(value: number): string {
  const [mantissa = '', power = '0'] = value.toExponential().split('e');
  return `${mantissa}e${power.startsWith('-') ? '-' : '+'}${power.replace(/^[-+]/, '').padStart(2, '0')}`;
}

const base60 = (digits: string): number => digits.split(':').reduce((total, part) => total * 60 + Number(part), 0);
