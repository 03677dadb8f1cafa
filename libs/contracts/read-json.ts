/**
 * Reads JSON without a change: numbers keep their form and their digits, and maps keep the order of their keys.
 *
 * Most texts hold nothing that `JSON.parse` would change, so it reads them. The exact reader is slower, and reads a text
 * only when writing its value again would give another text.
 */
import type { Json } from './json-type.ts';
import { numberOfSource } from './exact-number.ts';
import { toRecord } from './ordered-map.ts';

const [quote, backslash, zero, nine, minus, dot] = Array.from('"\\09-.', (character) => character.charCodeAt(0)) as [
  number,
  number,
  number,
  number,
  number,
  number,
];
/** A number of so many characters has all its digits in a double. */
const surelyKept = 15;
/** A longer text is no index of an array, so its key is not moved. */
const longestIndex = 10;

/**
 * Whether a text of JSON may hold what `JSON.parse` would change: -0, a fraction that ends in 0, an exponent, many digits, or
 * a key that looks like an integer. A loop over codes costs a third of parsing, and a regular expression as much as it.
 */
function maySuffer(text: string): boolean {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) {
      const from = at + 1;
      at = endOfString(text, from);
      if (isDigit(text.charCodeAt(from)) && at - from <= longestIndex && isKey(text, at)) return true;
    } else if (isDigit(code) || code === minus) {
      const end = endOfNumber(text, at);
      if (end < 0) return true;
      at = end - 1;
    }
  }
  return false;
}

const isDigit = (code: number): boolean => code <= nine && code >= zero;

/** The end of a number that stays as it is; -1 for one that may change. */
function endOfNumber(text: string, from: number): number {
  let last = text.charCodeAt(from);
  let isFraction = false;
  let at = from + 1;
  for (; ; at += 1) {
    const code = text.charCodeAt(at);
    if (isDigit(code)) last = code;
    else if (code === dot) isFraction = true;
    // An exponent
    else if (code === 0x65 || code === 0x45) return -1;
    else break;
  }
  const isMinusZero = last === zero && at - from === 2 && text.charCodeAt(from) === minus;
  return at - from > surelyKept || (isFraction && last === zero) || isMinusZero ? -1 : at;
}

function endOfString(text: string, from: number): number {
  let at = text.indexOf('"', from);
  while (text.charCodeAt(at - 1) === backslash && isEscaped(text, at)) at = text.indexOf('"', at + 1);
  return at;
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1;
  while (text.charCodeAt(before) === backslash) before -= 1;
  return (at - before) % 2 === 0;
}

/** Whether a colon follows the end of a string. */
function isKey(text: string, end: number): boolean {
  let at = end + 1;
  while (text.charCodeAt(at) <= 0x20) at += 1;
  return text[at] === ':';
}

/** Reads a text of JSON. @throws SyntaxError */
export function parseExact(text: string): Json {
  const value = JSON.parse(text) as Json;
  if (!maySuffer(text) || JSON.stringify(value) === text) return value;
  return new ExactReader(text).read();
}

const number = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/y;

/** Reads a text that `JSON.parse` accepts. */
class ExactReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): Json {
    this.#skip();
    const code = this.#text.charCodeAt(this.#at);
    if (code === 0x7b) return this.#map();
    if (code === 0x5b) return this.#list();
    if (code === 0x22) return this.#string();
    if (code === 0x74) return this.#word('true', true);
    if (code === 0x66) return this.#word('false', false);
    if (code === 0x6e) return this.#word('null', null);
    number.lastIndex = this.#at;
    const source = number.exec(this.#text)?.[0] ?? '';
    this.#at += source.length;
    return numberOfSource(source);
  }

  #skip(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#at += 1;
    }
  }

  #word(text: string, value: Json): Json {
    this.#at += text.length;
    return value;
  }

  /** Skips a mark and the spaces around it. */
  #take(mark: string): boolean {
    this.#skip();
    if (this.#text[this.#at] !== mark) return false;
    this.#at += 1;
    return true;
  }

  #list(): Json[] {
    const items: Json[] = [];
    this.#at += 1;
    if (this.#take(']')) return items;
    do items.push(this.read());
    while (this.#take(','));
    this.#take(']');
    return items;
  }

  #map(): Json {
    const entries: [string, Json][] = [];
    this.#at += 1;
    if (this.#take('}')) return {};
    do {
      this.#skip();
      const name = this.#string();
      this.#take(':');
      entries.push([name, this.read()]);
    } while (this.#take(','));
    this.#take('}');
    return toRecord(entries);
  }

  #string(): string {
    const from = this.#at;
    let at = from + 1;
    let isPlain = true;
    for (let code = this.#text.charCodeAt(at); code !== 0x22; code = this.#text.charCodeAt(at)) {
      if (code === 0x5c) isPlain = false;
      at += code === 0x5c ? 2 : 1;
    }
    this.#at = at + 1;
    return isPlain ? this.#text.slice(from + 1, at) : (JSON.parse(this.#text.slice(from, at + 1)) as string);
  }
}
