/** Values as Python writes and compares them, which templates have come to depend on. */
import type { Json } from '@anneal/contracts/json.ts';
import { isExact, floatText } from './number.ts';

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
  return `{${Object.entries(value)
    .map(([key, item]) => `${pythonQuoted(key)}: ${representation(item)}`)
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
    // oxlint-disable-next-line no-control-regex -- Python writes what does not print as numbers
    .replace(/[\u0000-\u001f\u007f-\u00a0\u00ad]/g, (unit) => `\\x${unit.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return quote + body + quote;
}

/** `json.dumps(value, sort_keys=True)`: spaces after separators, everything beyond ASCII escaped. */
export function jsonText(value: Json): string {
  if (isExact(value)) return value.text;
  if (typeof value === 'number') return numberText(value);
  if (typeof value === 'string') return ascii(JSON.stringify(value));
  if (value === null || typeof value === 'boolean') return String(value);
  if (Array.isArray(value)) return `[${value.map(jsonText).join(', ')}]`;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, item]) => `${ascii(JSON.stringify(key))}: ${jsonText(item)}`).join(', ')}}`;
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
