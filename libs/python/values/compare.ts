/** Writes and compares values as Python does, because templates depend on it. */
import type { Json } from '@anneal/contracts/json.ts';
import { holdsValues } from '@anneal/contracts/exact-number.ts';
import { isExact, floatText } from './number.ts';
import { exactEntries, type ExactKey, keysOf, keyText } from './record.ts';

export { floatText } from './number.ts';

/** `str(value)` */
export function pythonText(value: Json): string {
  return typeof value === 'string' ? value : representation(value);
}

/** `repr(value)` */
function representation(value: Json): string {
  if (value === null) return 'None';
  if (value === true) return 'True';
  if (value === false) return 'False';
  if (isExact(value)) return value.text;
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') return pythonQuoted(value);
  if (Array.isArray(value)) return `[${value.map(representation).join(', ')}]`;
  return `{${exactEntries(value)
    .map(([key, item]) => `${representation(key as Json)}: ${representation(item)}`)
    .join(', ')}}`;
}

/** `str` of a plain number. */
export function numberText(value: number): string {
  return Number.isInteger(value) ? BigInt(value).toString() : floatText(value);
}

/** `repr` of a string. */
export function pythonQuoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const body = text
    .replaceAll('\\', '\\\\')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\t', '\\t')
    .replaceAll(quote, `\\${quote}`)
    .replace(/[^\P{C}]|[^\P{Z} ]/gu, escaped);
  return quote + body + quote;
}

/** Writes a character that is not printable as its code. */
function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const [letter, width] = code < 0x100 ? ['x', 2] : code < 0x10000 ? ['u', 4] : ['U', 8];
  return `\\${letter}${code.toString(16).padStart(width, '0')}`;
}

/** `len(text)`: in code points. */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 0xd800 && code < 0xdc00 && text.charCodeAt(at + 1) >= 0xdc00) length -= 1;
  }
  return length;
}

/** `json.dumps(value, sort_keys=sorted)`: spaces after separators, everything beyond ASCII escaped. */
export function jsonText(value: Json, { sorted = true }: { sorted?: boolean } = {}): string {
  if (isExact(value)) return endless[value.text] ?? value.text;
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') return ascii(JSON.stringify(value));
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map((item) => jsonText(item, { sorted })).join(', ')}]`;
  const entries = [...exactEntries(value)];
  if (sorted) entries.sort(([a], [b]) => compareKeys(a, b));
  return `{${entries.map(([key, item]) => `${ascii(JSON.stringify(keyText(key)))}: ${jsonText(item, { sorted })}`).join(', ')}}`;
}

/** Python cannot sort keys of several kinds, so it cannot write such a map as text. */
export function isSortable(value: Json): boolean {
  if (!holdsValues(value)) return true;
  if (Array.isArray(value)) return value.every(isSortable);
  const keys = keysOf(value);
  const kinds = new Set(keys.map(orderOf));
  return kinds.size <= 1 && !(kinds.has('null') && keys.length > 1) && Object.values(value).every(isSortable);
}
const endless: Readonly<Record<string, string>> = { inf: 'Infinity', '-inf': '-Infinity', nan: 'NaN' };
const orderOf = (key: ExactKey): string => (key === null ? 'null' : typeof key === 'string' ? 'text' : 'number');
function compareKeys(a: ExactKey, b: ExactKey): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  return Number(a) - Number(b);
}

/** Orders by code points, as Python does. JavaScript orders by UTF-16 code units. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const [left, right] = [Array.from(a), Array.from(b)];
  const at = left.findIndex((character, index) => character !== right[index]);
  if (at < 0) return -1;
  const [one, other] = [left[at]?.codePointAt(0) ?? -1, right[at]?.codePointAt(0) ?? -1];
  return one - other;
}

const ascii = (text: string): string =>
  text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** `a == b`: deep, and true is 1. */
export function pythonEqual(a: Json, b: Json): boolean {
  if (isExact(a) || isExact(b)) return pythonEqual(isExact(a) ? Number(a) : a, isExact(b) ? Number(b) : b);
  if (a === b) return true;
  if (typeof a === 'boolean' && typeof b === 'number') return Number(a) === b;
  if (typeof a === 'number' && typeof b === 'boolean') return a === Number(b);
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, index) => pythonEqual(item, b[index] ?? null));
  }
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length) return false;
  return keys.every((key) => Object.hasOwn(b, key) && pythonEqual(a[key] ?? null, b[key] ?? null));
}
