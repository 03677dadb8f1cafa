/**
 * Writes a document like PyYAML: block style, sorted keys, 80 columns, ASCII only. The text of a config must equal the
 * text that Heat stores, because clients compare them. Cloud-init reads its configs with PyYAML, by YAML 1.1, so texts
 * that look like a number, a date or a boolean there are quoted.
 */
import { isObject, type Json } from '@anneal/contracts/json.ts';

const width = 80;

/** Plain texts that YAML 1.1 reads as another type. */
const readsOtherwise = [
  /^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$/,
  /^(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?)$/,
  /^(?:[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/,
  /^[-+]?(?:0b[01_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|[1-9][0-9_]*(?::[0-5]?[0-9])+)$/,
  /^(?:<<|=|~|null|Null|NULL|)$/,
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/,
  /^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::[0-9]{2})?))?$/,
];

const escapes: ReadonlyMap<string, string> = new Map([
  ['\0', '0'],
  ['\u0007', 'a'],
  ['\b', 'b'],
  ['\t', 't'],
  ['\n', 'n'],
  ['\v', 'v'],
  ['\f', 'f'],
  ['\r', 'r'],
  ['\u001b', 'e'],
  ['"', '"'],
  ['\\', '\\'],
  ['\u0085', 'N'],
  ['\u00a0', '_'],
  ['\u2028', 'L'],
  ['\u2029', 'P'],
]);

/** Appends text and tracks the current column. */
class Page {
  text = '';
  column = 0;

  write(part: string): void {
    this.text += part;
    this.column += part.length;
  }

  breakLine(indent: number): void {
    this.text += `\n${' '.repeat(indent)}`;
    this.column = indent;
  }
}

/** The text of the value, equal to PyYAML's in every character. Ends with a line end. */
export function pythonYaml(value: Json): string {
  const page = new Page();
  write(page, value, { indent: 0, inMap: false, atStart: true });
  return `${page.text}\n`;
}

interface Place {
  /** Indentation of the enclosing collection. For the first collection, its own indentation. */
  readonly indent: number;
  readonly inMap: boolean;
  /** True when its line holds only indentation and the dashes of lists before it. */
  readonly atStart: boolean;
}

function write(page: Page, value: Json, place: Place): void {
  const { indent, inMap, atStart } = place;
  if (Array.isArray(value) && value.length > 0) {
    // A list that is the value of a key starts at the column of the key.
    const own = inMap ? indent : indent + (atStart && indent === 0 && page.text === '' ? 0 : 2);
    for (const [index, item] of value.entries()) {
      startEntry(page, own, index === 0 && atStart);
      page.write('-');
      write(page, item, { indent: own, inMap: false, atStart: true });
    }
    return;
  }
  const entries = isObject(value) ? Object.entries(value) : [];
  if (entries.length > 0) {
    const own = page.text === '' ? 0 : indent + 2;
    const sorted = entries.toSorted(([a], [b]) => (codePoints(a) < codePoints(b) ? -1 : 1));
    for (const [index, [key, item]] of sorted.entries()) {
      startEntry(page, own, index === 0 && atStart);
      writeEntry(page, [key, item], own);
    }
    return;
  }
  if (page.text !== '') page.write(' ');
  if (typeof value === 'string') writeText(page, value, { indent: indent + 2, isKey: false });
  else page.write(Array.isArray(value) ? '[]' : isObject(value) ? '{}' : scalar(value));
}

/** Starts an entry. The first entry of a collection after a dash continues on the line of the dash. */
function startEntry(page: Page, indent: number, goesOn: boolean): void {
  if (!goesOn) page.breakLine(indent);
  else if (page.column < indent) page.write(' '.repeat(indent - page.column));
}

function writeEntry(page: Page, [key, item]: [string, Json], indent: number): void {
  const isSimple = key !== '' && key.length < 128 && !key.includes('\n');
  if (isSimple) {
    writeText(page, key, { indent: indent + 2, isKey: true });
    page.write(':');
  } else {
    page.write('? ');
    writeText(page, key, { indent: indent + 2, isKey: false });
    page.breakLine(indent);
    page.write(':');
  }
  write(page, item, { indent, inMap: isSimple, atStart: !isSimple });
}

const scalar = (value: number | boolean | null): string => {
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e21) return BigInt(value).toString();
  const [digits = '', exponent] = String(value).split('e');
  if (exponent === undefined) return digits;
  const power = exponent.replace(/^([-+]?)(\d)$/, '$10$2');
  return `${digits.includes('.') ? digits : `${digits}.0`}e${power}`;
};

interface How {
  /** Indentation of the lines after the first. */
  readonly indent: number;
  readonly isKey: boolean;
}

function writeText(page: Page, text: string, how: How): void {
  // Only double quotes can express non-ASCII characters and a blank next to a line break.
  if (/[^\n\x20-\x7e]| \n|\n /.test(text) || (how.isKey && text.includes('\n'))) writeDouble(page, text, how);
  else if (isPlain(text)) writeFolded(page, text, how);
  else {
    page.write("'");
    writeFolded(page, text.replaceAll("'", "''"), how);
    page.write("'");
  }
}

function isPlain(text: string): boolean {
  if (readsOtherwise.some((pattern) => pattern.test(text))) return false;
  if (/^ | $|\n|^---|^\.\.\./.test(text)) return false;
  return !/^[#,[\]{}&*!|>'"%@`]|^[?:-](?: |$)|: |:$| #/.test(text);
}

/** Breaks a line that is too long at a single blank. A line break inside quotes becomes an empty line. */
function writeFolded(page: Page, text: string, { indent, isKey }: How): void {
  for (const match of text.matchAll(/ +|\n+|[^ \n]+/g)) {
    const [part] = match;
    const isInside = match.index > 0 && match.index + part.length < text.length;
    if (part.startsWith('\n')) {
      page.text += '\n'.repeat(part.length);
      page.breakLine(indent);
    } else if (part === ' ' && page.column > width && !isKey && isInside) page.breakLine(indent);
    else page.write(part);
  }
}

function writeDouble(page: Page, text: string, { indent, isKey }: How): void {
  const characters = Array.from(text);
  page.write('"');
  let pending = '';
  for (const [index, character] of characters.entries()) {
    const escaped = escapeOf(character);
    if (escaped !== undefined) {
      page.write(pending + escaped);
      pending = '';
    }
    const isInside = index > 0 && index < characters.length - 1;
    const mayBreak = character === ' ' || pending === '';
    // PyYAML counts from after the character that it has just escaped, so its count is one lower.
    const ahead = escaped === undefined ? pending.length : -1;
    if (isInside && mayBreak && page.column + ahead > width && !isKey) {
      page.write(`${pending}\\`);
      pending = '';
      page.breakLine(indent);
      const next = escaped === undefined ? character : (characters[index + 1] ?? '');
      if (next === ' ') page.write('\\');
    }
    if (escaped === undefined) pending += character;
  }
  page.write(`${pending}"`);
}

function escapeOf(character: string): string | undefined {
  const known = escapes.get(character);
  if (known !== undefined) return `\\${known}`;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0x20 && code <= 0x7e) return undefined;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

/** Sort key by code points, because Python does not sort by surrogate halves. */
const codePoints = (text: string): string =>
  Array.from(text, (character) => (character.codePointAt(0) ?? 0).toString(16).padStart(6, '0')).join('');
