/**
 * Reads JSON as Python does: `1.0` stays a float, integers keep all their digits, and keys keep their order. The words
 * NaN and Infinity are numbers. Returns nodes that know their positions.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { type MappingEntry, type YamlNode, toExact } from './node.ts';
import { exactNumber, isExact } from '../values/number.ts';

/** A walk over a deeper value would exhaust the stack. */
const deepest = 500;

/** `at` converts an offset in the text to a position. `deepest` is the maximum depth, default 500. */
export interface JsonTextOptions {
  readonly at?: (offset: number) => PlanSource;
  readonly deepest?: number;
}

/** @throws SyntaxError */
export function readJsonText(text: string, options: JsonTextOptions = {}): YamlNode {
  return new JsonReader(text, options).read();
}

/** The value, including what JSON cannot hold. @throws SyntaxError */
export const parseJsonText = (text: string): Json => toExact(readJsonText(text));

const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/y;
const words: readonly (readonly [string, null | boolean | number])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Infinity],
  ['-Infinity', -Infinity],
];

class JsonReader {
  readonly #text: string;
  readonly #at: ((offset: number) => PlanSource) | undefined;
  readonly #deepest: number;
  #position = 0;

  constructor(text: string, options: JsonTextOptions) {
    this.#text = text;
    this.#at = options.at;
    this.#deepest = options.deepest ?? deepest;
  }

  read(): YamlNode {
    const node = this.#value(0);
    this.#skip();
    if (this.#position < this.#text.length) this.#fail('Extra data');
    return node;
  }

  #fail(problem: string): never {
    throw new SyntaxError(`${problem} at character ${this.#position}`);
  }

  #skip(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#position);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      this.#position += 1;
    }
  }

  #take(character: string): boolean {
    this.#skip();
    if (this.#text[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }

  #value(depth: number): YamlNode {
    if (depth > this.#deepest) this.#fail(`nested deeper than ${this.#deepest} levels`);
    this.#skip();
    const at = this.#at?.(this.#position);
    if (this.#take('[')) return { kind: 'list', items: this.#items(depth), at };
    if (this.#take('{')) return { kind: 'map', entries: this.#entries(depth), at };
    if (this.#text[this.#position] === '"') return { kind: 'scalar', value: this.#string(), at };
    return this.#word(at);
  }

  #items(depth: number): YamlNode[] {
    const items: YamlNode[] = [];
    if (this.#take(']')) return items;
    do items.push(this.#value(depth + 1));
    while (this.#take(','));
    if (!this.#take(']')) this.#fail("Expecting ',' delimiter");
    return items;
  }

  #entries(depth: number): Map<string, MappingEntry> {
    const entries = new Map<string, MappingEntry>();
    if (this.#take('}')) return entries;
    do {
      this.#skip();
      const at = this.#at?.(this.#position);
      if (this.#text[this.#position] !== '"') this.#fail('Expecting property name enclosed in double quotes');
      const name = this.#string();
      if (!this.#take(':')) this.#fail("Expecting ':' delimiter");
      entries.set(name, { at, value: this.#value(depth + 1) });
    } while (this.#take(','));
    if (!this.#take('}')) this.#fail("Expecting ',' delimiter");
    return entries;
  }

  /** Finds the end of the string; `JSON.parse` decodes the escapes. */
  #string(): string {
    const from = this.#position;
    let at = from + 1;
    for (let code = this.#text.charCodeAt(at); code !== 0x22; code = this.#text.charCodeAt(at)) {
      if (Number.isNaN(code)) this.#fail('Unterminated string');
      at += code === 0x5c ? 2 : 1;
    }
    this.#position = at + 1;
    try {
      return JSON.parse(this.#text.slice(from, at + 1)) as string;
    } catch {
      this.#position = from;
      return this.#fail('Invalid string');
    }
  }

  #word(at: PlanSource | undefined): YamlNode {
    number.lastIndex = this.#position;
    const found = number.exec(this.#text);
    if (found) {
      this.#position += found[0].length;
      const isFloat = found[1] !== undefined || found[2] !== undefined;
      const value: unknown = exactNumber(isFloat ? Number(found[0]) : BigInt(found[0]));
      return isExact(value)
        ? { kind: 'scalar', value: Number(value), written: value.text, at }
        : { kind: 'scalar', value: value as number, at };
    }
    const word = words.find(([text]) => this.#text.startsWith(text, this.#position));
    if (!word) return this.#fail('Expecting value');
    this.#position += word[0].length;
    const [, value] = word;
    const isNumber = typeof value === 'number';
    return { kind: 'scalar', value, ...(isNumber && { written: word[0].toLowerCase().replace('inity', '') }), at };
  }
}
