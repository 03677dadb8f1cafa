/**
 * Resolves an unquoted word: YAML 1.1 as PyYAML reads it, with timestamps left as strings. YAML 1.2 readers, and most
 * 1.1 readers, differ in file modes (0644), sexagesimal numbers (12:30:45), exponents (1e3) and the words
 * yes/no/on/off.
 */

import { floatText } from '../values/number.ts';

/** The value of a word, with its text when JSON cannot hold it; or the reason why PyYAML refuses it. */
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

/** The value of an unquoted word. Never throws: a refused word gives a mistake. */
export function resolvePlain(text: string): Scalar {
  if (nulls.has(text)) return { value: null };
  if (truths.has(text)) return { value: true };
  if (untruths.has(text)) return { value: false };
  if (text === '<<') return { mistake: 'a bare << means something as a key only; put it in quotes' };
  if (text === '=') return { mistake: 'a bare = has no meaning; put it in quotes' };
  // Most words begin with a letter, so they are not numbers.
  if (!/^[-+.0-9]/.test(text)) return { value: text };
  if (notFinite.test(text)) return endless(text);
  return number(text) ?? { value: text };
}

/** Resolves a value with one of YAML's own tags. Other tags are mistakes. */
export function resolveTagged(text: string, tag: string): Scalar {
  const bad: Scalar = { mistake: `${text} is not what its tag ${tag} says` };
  switch (tag) {
    case 'tag:yaml.org,2002:str':
    case 'tag:yaml.org,2002:timestamp':
      return { value: text };
    case 'tag:yaml.org,2002:null':
      return { value: null };
    case 'tag:yaml.org,2002:bool': {
      const word = resolvePlain(text.toLowerCase());
      return 'value' in word && typeof word.value === 'boolean' ? word : bad;
    }
    case 'tag:yaml.org,2002:int': {
      const whole =
        number(text) ?? (/^[-+]?\d+$/.test(text) ? integer(text.startsWith('-') ? -1 : 1, digitsOf(text)) : bad);
      return whole && !('written' in whole && /[.en]/.test(whole.written ?? '')) && isNumber(whole) ? whole : bad;
    }
    case 'tag:yaml.org,2002:float': {
      if (notFinite.test(text)) return endless(text);
      const value = Number(text.replaceAll('_', '').trim() || 'x');
      return Number.isNaN(value) ? bad : floating(value);
    }
    default:
      return { mistake: `could not determine a constructor for the tag ${tag}` };
  }
}

const isNumber = (scalar: Scalar): boolean => 'value' in scalar && typeof scalar.value === 'number';
const digitsOf = (text: string): string => text.replace(/^[-+]/, '').replaceAll('_', '');

/** Infinity and NaN in Python's spelling, because JSON has none. */
function endless(text: string): Scalar {
  const word = text.toLowerCase();
  if (word.includes('nan')) return { value: Number.NaN, written: 'nan' };
  return word.startsWith('-') ? { value: -Infinity, written: '-inf' } : { value: Infinity, written: 'inf' };
}

function number(text: string): Scalar | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const digits = digitsOf(text);
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
  if (digits.length < 16 && /^\d+$/.test(digits)) return { value: digits === '0' ? 0 : sign * Number(digits) };
  let exact: bigint;
  try {
    exact = BigInt(digits) * BigInt(sign);
  } catch {
    return undefined;
  }
  const value = Number(exact);
  // An integer of twenty digits keeps its digits when it becomes a string.
  if (Number.isSafeInteger(value)) return { value: value === 0 ? 0 : value };
  // A number beyond the range of a double is kept as text.
  return Number.isFinite(value) ? { value, written: exact.toString() } : { value: exact.toString() };
}

function floating(value: number): Scalar {
  if (!Number.isFinite(value)) return endless(value < 0 ? '-inf' : 'inf');
  return Number.isInteger(value) ? { value, written: floatText(value) } : { value };
}

const base60 = (digits: string): number => digits.split(':').reduce((total, part) => total * 60 + Number(part), 0);
