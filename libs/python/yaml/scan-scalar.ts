/** Scans scalars: plain words, quoted text, and blocks of text. */
import { isBlank, isBlankOrEnd, isBreak, isBreakOrEnd, space, tab } from './character.ts';
import type { Cursor } from './cursor.ts';

/** `---` or `...` at the beginning of a line ends every open scalar and block. */
export function atDocumentMark(cursor: Cursor): boolean {
  if (cursor.column !== 0) return false;
  const mark = cursor.text.slice(cursor.at, cursor.at + 3);
  return (mark === '---' || mark === '...') && isBlankOrEnd(cursor.code(3));
}

/** Folds line ends between two pieces of text: one becomes a space, more become one fewer. */
class Folding {
  #blanks = '';
  #first = '';
  #more = '';
  lines = false;

  get isEmpty(): boolean {
    return !this.lines && this.#blanks === '';
  }

  /** Consumes the blanks and line ends that follow. */
  take(cursor: Cursor, minimum: number): void {
    for (let code = cursor.code(); isBlank(code) || isBreak(code); code = cursor.code()) {
      if (isBreak(code)) {
        if (this.lines) this.#more += cursor.skipLine();
        else {
          this.#first = cursor.skipLine();
          this.lines = true;
        }
        continue;
      }
      if (this.lines && code === tab && cursor.column < minimum)
        cursor.fail('found a tab character that violates indentation');
      if (!this.lines) this.#blanks += code === tab ? '\t' : ' ';
      cursor.skip();
    }
  }

  /** Consumes an escaped line end, which adds no text. */
  escape(cursor: Cursor): void {
    cursor.skip();
    cursor.skipLine();
    this.lines = true;
  }

  /** Returns the folded text. Call it once more text is known to follow. */
  give(): string {
    const text = !this.lines
      ? this.#blanks
      : this.#first === '\n'
        ? this.#more === ''
          ? ' '
          : this.#more
        : this.#first + this.#more;
    this.#blanks = this.#first = this.#more = '';
    this.lines = false;
    return text;
  }
}

const flowEnds = new Set(Array.from(',?[]{}', (character) => character.charCodeAt(0)));
const [colon, hash, question] = [0x3a, 0x23, 0x3f];

/** `endedLine`: a line end followed the word, so a key may begin there. */
export function scanPlain(cursor: Cursor, inFlow: boolean, indent: number): { value: string; endedLine: boolean } {
  const folding = new Folding();
  let value = '';
  let endedLine = false;
  for (;;) {
    if (atDocumentMark(cursor) || cursor.code() === hash) break;
    const from = cursor.at;
    for (let code = cursor.code(); !isBlankOrEnd(code); code = cursor.code()) {
      if (code === colon) {
        const next = cursor.code(1);
        if (inFlow && flowEnds.has(next)) cursor.fail("found unexpected ':'");
        if (isBlankOrEnd(next)) break;
      } else if (inFlow && code !== question && flowEnds.has(code)) break;
      cursor.skip();
    }
    if (cursor.at > from) {
      value += folding.give() + cursor.text.slice(from, cursor.at);
      endedLine = false;
    }
    const code = cursor.code();
    if (!isBlank(code) && !isBreak(code)) break;
    folding.take(cursor, indent);
    endedLine = folding.lines;
    if (!inFlow && cursor.column < indent) break;
  }
  return { value, endedLine };
}

const escapes: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  '"': '"',
  '/': '/',
  '\\': '\\',
  N: '\x85',
  _: '\xa0',
  L: '\u2028',
  P: '\u2029',
};
const numbered: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };

function scanEscape(cursor: Cursor): string {
  const letter = cursor.text[cursor.at + 1] ?? '';
  const length = Object.hasOwn(numbered, letter) ? numbered[letter] : undefined;
  if (length === undefined) {
    const found = Object.hasOwn(escapes, letter) ? escapes[letter] : undefined;
    if (found === undefined) return cursor.fail('found unknown escape character');
    cursor.skip(2);
    return found;
  }
  const digits = cursor.text.slice(cursor.at + 2, cursor.at + 2 + length);
  const code = /^[0-9A-Fa-f]+$/.test(digits) && digits.length === length ? Number.parseInt(digits, 16) : -1;
  if (code < 0) cursor.fail('did not find expected hexdecimal number');
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) cursor.fail('found invalid Unicode character escape code');
  cursor.skip(2 + length);
  return String.fromCodePoint(code);
}

/**
 * Reads quoted text from its first quote to behind its last. @throws YamlError for an unknown escape or a missing
 * quote
 */
export function scanQuoted(cursor: Cursor): string {
  const start = cursor.at;
  const quote = cursor.code();
  const isDouble = quote === 0x22;
  const folding = new Folding();
  let value = '';
  cursor.skip();
  for (;;) {
    if (atDocumentMark(cursor)) cursor.fail('found unexpected document indicator');
    if (cursor.at >= cursor.text.length) cursor.fail('found unexpected end of stream', start);
    let from = cursor.at;
    const flush = (): void => {
      value += cursor.text.slice(from, cursor.at);
    };
    for (let code = cursor.code(); !isBlankOrEnd(code); code = cursor.code()) {
      if (!isDouble && code === quote && cursor.code(1) === quote) {
        cursor.skip();
        flush();
        cursor.skip();
        from = cursor.at;
      } else if (code === quote) break;
      else if (isDouble && code === 0x5c && isBreak(cursor.code(1))) {
        flush();
        folding.escape(cursor);
        from = cursor.at;
        break;
      } else if (isDouble && code === 0x5c) {
        flush();
        value += scanEscape(cursor);
        from = cursor.at;
      } else cursor.skip();
    }
    flush();
    if (cursor.code() === quote) {
      value += folding.give();
      cursor.skip();
      return value;
    }
    folding.take(cursor, 0);
    value += folding.give();
  }
}

/** Reads a block (`|` or `>`) whose parent has this indentation. @throws YamlError for a wrong header */
export function scanBlock(cursor: Cursor, parentIndent: number): string {
  const isLiteral = cursor.code() === 0x7c;
  cursor.skip();
  const { keep, increment } = scanBlockHeader(cursor);
  let indent = increment === 0 ? 0 : Math.max(parentIndent, 0) + increment;
  let breaks = '';
  const takeBreaks = (): void => {
    ({ indent, breaks } = scanBlockBreaks(cursor, indent, parentIndent));
  };
  takeBreaks();
  let value = '';
  let lineEnd = '';
  let wasBlank = false;
  while (cursor.column === indent && cursor.at < cursor.text.length) {
    const isBlankNow = isBlank(cursor.code());
    const folds = !isLiteral && lineEnd === '\n' && !wasBlank && !isBlankNow;
    value += (folds ? (breaks === '' ? ' ' : '') : lineEnd) + breaks;
    wasBlank = isBlankNow;
    const from = cursor.at;
    while (!isBreakOrEnd(cursor.code())) cursor.skip();
    value += cursor.text.slice(from, cursor.at);
    lineEnd = cursor.skipLine();
    takeBreaks();
  }
  if (keep !== '-') value += lineEnd;
  return keep === '+' ? value + breaks : value;
}

/** Scans the header: `|`, then `+` or `-` and a digit in either order, then at most a comment. */
function scanBlockHeader(cursor: Cursor): { keep: string; increment: number } {
  let [keep, increment] = ['', 0];
  for (let part = 0; part < 2; part += 1) {
    const character = cursor.text[cursor.at] ?? '';
    if (keep === '' && (character === '+' || character === '-')) keep = character;
    else if (increment === 0 && character >= '0' && character <= '9') {
      if (character === '0') cursor.fail('found an indentation indicator equal to 0');
      increment = Number(character);
    } else break;
    cursor.skip();
  }
  while (isBlank(cursor.code())) cursor.skip();
  if (cursor.code() === hash) while (!isBreakOrEnd(cursor.code())) cursor.skip();
  if (!isBreakOrEnd(cursor.code())) cursor.fail('did not find expected comment or line break');
  cursor.skipLine();
  return { keep, increment };
}

/** Scans empty lines. Without a digit in the header, the first line that is not empty decides the indentation. */
function scanBlockBreaks(cursor: Cursor, known: number, parentIndent: number): { indent: number; breaks: string } {
  let [breaks, deepest] = ['', 0];
  const isIndent = (): boolean => known === 0 || cursor.column < known;
  for (;;) {
    while (isIndent() && cursor.code() === space) cursor.skip();
    deepest = Math.max(deepest, cursor.column);
    if (isIndent() && cursor.code() === tab)
      cursor.fail('found a tab character where an indentation space is expected');
    if (!isBreak(cursor.code())) break;
    breaks += cursor.skipLine();
  }
  return { indent: known === 0 ? Math.max(deepest, parentIndent + 1, 1) : known, breaks };
}
