/**
 * Scans a document into tokens as libyaml does. It accepts more than the specification of YAML (quoted text that
 * continues at any indentation, brackets closed anywhere), because existing templates rely on that.
 */
import { forbidden, isBlank, isBlankOrEnd, isBreak, isBreakOrEnd, isWordCharacter, space, tab } from './character.ts';
import { Cursor } from './cursor.ts';
import { atDocumentMark, scanBlock, scanPlain, scanQuoted } from './scan-scalar.ts';
import type { Mark, YamlToken } from './token.ts';

/** A position where a key may begin. Only a colon shows that it does. */
interface PossibleKey {
  readonly at: number;
  readonly line: number;
  readonly column: number;
  readonly token: number;
  /** True when only a key is allowed at this indentation. */
  readonly required: boolean;
}

/** YAML does not recognise longer keys. */
const longestKey = 1024;
const flowMarks: Readonly<Record<string, Mark>> = {
  '[': 'flow sequence',
  '{': 'flow map',
  ']': 'flow sequence end',
  '}': 'flow map end',
};
const cannotStart = new Set('-?:,[]{}#&*!|>\'"%@`');

/** Splits a document into tokens, on demand. Every method throws YamlError where libyaml refuses the text. */
export class Scanner {
  readonly #cursor: Cursor;
  readonly #tokens: YamlToken[] = [];
  #taken = 0;
  #flow = 0;
  #indent = -1;
  readonly #indents: number[] = [];
  #keyAllowed = true;
  /** By level of flow collections. */
  readonly #keys: (PossibleKey | undefined)[] = [undefined];

  constructor(text: string) {
    this.#cursor = new Cursor(text);
    const bad = forbidden.exec(text);
    if (bad) this.#cursor.fail('control characters are not allowed', bad.index);
  }

  peek(): YamlToken {
    while (this.#needsMore()) this.#fetch();
    return this.#tokens[0] as YamlToken;
  }

  next(): YamlToken {
    const token = this.peek();
    this.#tokens.shift();
    this.#taken += 1;
    return token;
  }

  #needsMore(): boolean {
    if (this.#tokens.length === 0) return true;
    this.#dropStaleKeys();
    for (let level = 0; level < this.#keys.length; level += 1)
      if (this.#keys[level]?.token === this.#taken) return true;
    return false;
  }

  #push(kind: Mark, at = this.#cursor.at): void {
    this.#tokens.push({ kind, at });
  }

  #fetch(): void {
    const cursor = this.#cursor;
    this.#skipToToken();
    this.#dropStaleKeys();
    this.#unroll(cursor.column);
    if (cursor.at >= cursor.text.length) return this.#end();
    if (cursor.column === 0 && cursor.code() === 0x25) return this.#directive();
    if (atDocumentMark(cursor)) return this.#documentMark();
    const character = cursor.text[cursor.at] ?? '';
    const followed = isBlankOrEnd(cursor.code(1));
    switch (character) {
      case '[':
      case '{':
        this.#saveKey();
        this.#flow += 1;
        this.#keys.push(undefined);
        return this.#mark(flowMarks[character] as Mark, true);
      case ']':
      case '}':
        this.#dropKey();
        if (this.#flow > 0) {
          this.#flow -= 1;
          this.#keys.pop();
        }
        return this.#mark(flowMarks[character] as Mark, false);
      case ',':
        this.#dropKey();
        return this.#mark('flow entry', true);
      case '*':
      case '&':
        return this.#name(character);
      case '!':
        return this.#tag();
      case "'":
      case '"':
        return this.#scalar(() => ({ value: scanQuoted(cursor), plain: false, endedLine: false }));
      case '-':
        if (followed) return this.#blockEntry();
        break;
      case '?':
        if (this.#flow > 0 || followed) return this.#key();
        break;
      case ':':
        if (this.#flow > 0 || followed) return this.#value();
        break;
      case '|':
      case '>':
        if (this.#flow === 0) return this.#blockScalar();
        break;
      default:
    }
    const starts =
      !cannotStart.has(character) ||
      (character === '-' && !isBlank(cursor.code(1))) ||
      (this.#flow === 0 && (character === '?' || character === ':') && !followed);
    if (!starts || isBlank(cursor.code())) cursor.fail('found character that cannot start any token');
    const minimum = this.#indent + 1;
    this.#scalar(() => ({ ...scanPlain(cursor, this.#flow > 0, minimum), plain: true }));
  }

  #skipToToken(): void {
    const cursor = this.#cursor;
    for (;;) {
      for (let code = cursor.code(); ; code = cursor.code()) {
        if (code !== space && !(code === tab && (this.#flow > 0 || !this.#keyAllowed))) break;
        cursor.skip();
      }
      if (cursor.code() === 0x23) while (!isBreakOrEnd(cursor.code())) cursor.skip();
      if (!isBreak(cursor.code())) return;
      cursor.skipLine();
      if (this.#flow === 0) this.#keyAllowed = true;
    }
  }

  #dropStaleKeys(): void {
    for (let level = 0; level < this.#keys.length; level += 1) {
      const key = this.#keys[level];
      if (!key || (key.line === this.#cursor.line && key.at + longestKey >= this.#cursor.at)) continue;
      if (key.required) this.#cursor.fail("could not find expected ':'", key.at);
      this.#keys[level] = undefined;
    }
  }

  #saveKey(): void {
    if (!this.#keyAllowed) return;
    this.#dropKey();
    const { at, line, column } = this.#cursor;
    const required = this.#flow === 0 && this.#indent === column;
    this.#keys[this.#flow] = { at, line, column, token: this.#taken + this.#tokens.length, required };
  }

  #dropKey(): void {
    const key = this.#keys[this.#flow];
    if (key?.required) this.#cursor.fail("could not find expected ':'", key.at);
    this.#keys[this.#flow] = undefined;
  }

  /** Begins a block when the indentation is deeper than that of the enclosing block. */
  #roll(column: number, kind: Mark, token?: number): void {
    if (this.#flow > 0 || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    const at = token === undefined ? this.#tokens.length : token - this.#taken;
    this.#tokens.splice(at, 0, { kind, at: this.#tokens[at]?.at ?? this.#cursor.at });
  }

  #unroll(column: number): void {
    if (this.#flow > 0) return;
    while (this.#indent > column) {
      this.#push('block end');
      this.#indent = this.#indents.pop() ?? -1;
    }
  }

  #mark(kind: Mark, keyAllowed: boolean): void {
    this.#keyAllowed = keyAllowed;
    this.#push(kind);
    this.#cursor.skip();
  }

  #end(): void {
    this.#cursor.endLine();
    this.#flow = 0;
    this.#unroll(-1);
    for (const key of this.#keys) if (key?.required) this.#cursor.fail("could not find expected ':'", key.at);
    this.#keys.length = 0;
    this.#keys.push(undefined);
    this.#keyAllowed = false;
    this.#push('stream end');
  }

  #directive(): void {
    this.#unroll(-1);
    this.#dropKey();
    this.#keyAllowed = false;
    this.#push('directive');
    while (!isBreakOrEnd(this.#cursor.code())) this.#cursor.skip();
  }

  #documentMark(): void {
    const kind = this.#cursor.code() === 0x2d ? 'document start' : 'document end';
    this.#unroll(-1);
    this.#dropKey();
    this.#keyAllowed = false;
    this.#push(kind);
    this.#cursor.skip(3);
  }

  #blockEntry(): void {
    if (this.#flow === 0) {
      if (!this.#keyAllowed) this.#cursor.fail('block sequence entries are not allowed in this context');
      this.#roll(this.#cursor.column, 'block sequence');
    }
    this.#dropKey();
    this.#mark('block entry', true);
  }

  #key(): void {
    if (this.#flow === 0) {
      if (!this.#keyAllowed) this.#cursor.fail('mapping keys are not allowed in this context');
      this.#roll(this.#cursor.column, 'block map');
    }
    this.#dropKey();
    this.#mark('key', this.#flow === 0);
  }

  #value(): void {
    const key = this.#keys[this.#flow];
    if (key) {
      this.#tokens.splice(key.token - this.#taken, 0, { kind: 'key', at: key.at });
      this.#roll(key.column, 'block map', key.token);
      this.#keys[this.#flow] = undefined;
      this.#mark('value', false);
      return;
    }
    if (this.#flow === 0) {
      if (!this.#keyAllowed) this.#cursor.fail('mapping values are not allowed in this context');
      this.#roll(this.#cursor.column, 'block map');
    }
    this.#mark('value', this.#flow === 0);
  }

  #scalar(scan: () => { value: string; plain: boolean; endedLine: boolean }): void {
    const { at } = this.#cursor;
    this.#saveKey();
    this.#keyAllowed = false;
    const { value, plain, endedLine } = scan();
    if (endedLine) this.#keyAllowed = true;
    this.#tokens.push({ kind: 'scalar', at, value, plain });
  }

  #blockScalar(): void {
    const { at } = this.#cursor;
    this.#dropKey();
    this.#keyAllowed = true;
    this.#tokens.push({ kind: 'scalar', at, value: scanBlock(this.#cursor, this.#indent), plain: false });
  }

  #name(sign: string): void {
    const cursor = this.#cursor;
    const { at } = cursor;
    this.#saveKey();
    this.#keyAllowed = false;
    cursor.skip();
    while (isWordCharacter(cursor.code())) cursor.skip();
    const value = cursor.text.slice(at + 1, cursor.at);
    const ends = isBlankOrEnd(cursor.code()) || '?:,]}%@`'.includes(cursor.text[cursor.at] ?? '');
    if (value === '' || !ends) cursor.fail('did not find expected alphabetic or numeric character');
    this.#tokens.push({ kind: sign === '*' ? 'alias' : 'anchor', at, value });
  }

  #tag(): void {
    const cursor = this.#cursor;
    const { at } = cursor;
    this.#saveKey();
    this.#keyAllowed = false;
    // A character that a URI cannot hold ends the tag. Whether the tag is known is checked later.
    const written = /^!(?:<[^\s>]*>|[-\w;/?:@&=+$,.!~*'()[\]%#]*)/.exec(cursor.text.slice(at, at + 500))?.[0] ?? '!';
    const flowed = this.#flow > 0 ? (written.split(/[,[\]{}]/)[0] ?? written) : written;
    cursor.skip(flowed.length);
    if (!isBlankOrEnd(cursor.code()) && !(this.#flow > 0 && cursor.code() === 0x2c))
      cursor.fail('did not find expected whitespace or line break');
    const value = flowed.startsWith('!!')
      ? `tag:yaml.org,2002:${flowed.slice(2)}`
      : flowed.startsWith('!<')
        ? flowed.slice(2, -1)
        : flowed;
    this.#tokens.push({ kind: 'tag', at, value });
  }
}
