/** Parses Python's regular expressions to a tree. It refuses what Python's `re` refuses. */

/** A node of the tree of a regular expression. */
export type PatternItem =
  | { readonly kind: 'set'; readonly test: (character: string) => boolean }
  | {
      readonly kind: 'assert';
      readonly what: 'start' | 'end' | 'line start' | 'line end' | 'last end' | 'word' | 'not word';
    }
  | { readonly kind: 'group'; readonly index: number | undefined; readonly body: PatternItem }
  | { readonly kind: 'sequence'; readonly items: readonly PatternItem[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternItem[] }
  | {
      readonly kind: 'repeat';
      readonly body: PatternItem;
      readonly least: number;
      readonly most: number;
      readonly greedy: boolean;
    }
  | { readonly kind: 'back'; readonly index: number; readonly ignoreCase: boolean }
  | {
      readonly kind: 'look';
      readonly body: PatternItem;
      readonly behind: number | undefined;
      readonly negative: boolean;
    }
  | { readonly kind: 'given'; readonly index: number; readonly yes: PatternItem; readonly no: PatternItem };

/** The tree, with the number and the names of its groups. */
export interface Parsed {
  readonly root: PatternItem;
  readonly groups: number;
  readonly names: ReadonlyMap<string, number>;
}

interface Flags {
  readonly i: boolean;
  readonly m: boolean;
  readonly s: boolean;
  readonly x: boolean;
  readonly a: boolean;
}

const deepest = 100;
// oxlint-disable-next-line no-control-regex -- Python counts the separators of files and records as blank
const blank = /[ \t-\r\u001c-\u001f\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
const classes: Record<string, { readonly unicode: RegExp; readonly ascii: RegExp }> = {
  d: { unicode: /\p{Nd}/u, ascii: /[0-9]/ },
  w: { unicode: /[\p{L}\p{N}_]/u, ascii: /[A-Za-z0-9_]/ },
  s: { unicode: blank, ascii: /[ \t-\r]/ },
};
const controls: Record<string, string> = { a: '\u0007', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };

/** @throws SyntaxError */
export function parsePattern(source: string, flags: string): Parsed {
  return new Parser(source).parse(flags);
}

class Parser {
  readonly #text: readonly string[];
  readonly #names = new Map<string, number>();
  readonly #open = new Set<number>();
  #at = 0;
  #groups = 0;
  #depth = 0;

  constructor(source: string) {
    this.#text = Array.from(source);
  }

  parse(given: string): Parsed {
    let flags: Flags = { i: given.includes('i'), m: given.includes('m'), s: given.includes('s'), x: false, a: false };
    // Flags for the whole expression are allowed only at its start.
    const leading = /^\(\?([aiLmsux]+)\)/.exec(this.#text.slice(0, 20).join(''));
    if (leading) {
      this.#at = leading[0].length;
      flags = this.#flagged(flags, leading[1] ?? '', true);
    }
    const root = this.#choice(flags);
    if (this.#at < this.#text.length) this.#fail('unbalanced parenthesis');
    return { root, groups: this.#groups, names: this.#names };
  }

  #fail(message: string): never {
    throw new SyntaxError(`${message} at position ${this.#at}`);
  }

  #flagged(flags: Flags, letters: string, on: boolean): Flags {
    const changed: Record<string, boolean> = { ...flags };
    for (const letter of letters) {
      if (letter === 'L') this.#fail("cannot use 'L' flag with a str pattern");
      if (letter === 'u') changed['a'] = false;
      else changed[letter] = on;
    }
    return changed as unknown as Flags;
  }

  #peek(text: string): boolean {
    return Array.from(text).every((character, index) => this.#text[this.#at + index] === character);
  }

  #accept(text: string): boolean {
    if (!this.#peek(text)) return false;
    this.#at += text.length;
    return true;
  }

  #until(end: string): string {
    const from = this.#at;
    while (this.#at < this.#text.length && this.#text[this.#at] !== end) this.#at += 1;
    const found = this.#text.slice(from, this.#at).join('');
    if (!this.#accept(end)) this.#fail(`missing ${end}, unterminated name`);
    return found;
  }

  #choice(flags: Flags): PatternItem {
    if (++this.#depth > deepest) this.#fail('nested too deeply');
    const options = [this.#sequence(flags)];
    while (this.#accept('|')) options.push(this.#sequence(flags));
    this.#depth -= 1;
    return options.length === 1 && options[0] ? options[0] : { kind: 'choice', options };
  }

  #sequence(flags: Flags): PatternItem {
    const items: PatternItem[] = [];
    while (this.#at < this.#text.length && !this.#peek('|') && !this.#peek(')')) {
      if (flags.x && this.#skipVerbose()) continue;
      const item = this.#item(flags);
      if (item) items.push(this.#repeated(item, flags));
    }
    return { kind: 'sequence', items };
  }

  #skipVerbose(): boolean {
    const character = this.#text[this.#at] ?? '';
    if (/[ \t-\r]/.test(character)) {
      this.#at += 1;
      return true;
    }
    if (character !== '#') return false;
    while (this.#at < this.#text.length && this.#text[this.#at] !== '\n') this.#at += 1;
    return true;
  }

  #repeated(item: PatternItem, flags: Flags): PatternItem {
    let result = item;
    let times = 0;
    for (;;) {
      while (flags.x && this.#at < this.#text.length && this.#skipVerbose());
      const bounds = this.#bounds();
      if (!bounds) return result;
      if (++times > 1) this.#fail('multiple repeat');
      if (item.kind === 'assert') this.#refuseRepeat(item);
      const [least, most] = bounds;
      if (most < least) this.#fail('min repeat greater than max repeat');
      const greedy = !this.#accept('?');
      result = { kind: 'repeat', body: item, least, most, greedy };
    }
  }

  #refuseRepeat(item: Extract<PatternItem, { kind: 'assert' }>): void {
    if (item.what === 'start' || item.what === 'line start') this.#fail('nothing to repeat');
  }

  #bounds(): [number, number] | undefined {
    if (this.#accept('*')) return [0, Infinity];
    if (this.#accept('+')) return [1, Infinity];
    if (this.#accept('?')) return [0, 1];
    if (!this.#peek('{')) return undefined;
    const match = /^\{(\d*)(?:(,)(\d*))?\}/.exec(this.#text.slice(this.#at, this.#at + 40).join(''));
    if (!match || (match[1] === '' && match[2] === undefined)) return undefined;
    this.#at += match[0].length;
    const least = match[1] === '' ? 0 : Number(match[1]);
    const most = match[2] === undefined ? least : match[3] === '' ? Infinity : Number(match[3]);
    return [least, most];
  }

  #item(flags: Flags): PatternItem | undefined {
    const character = this.#text[this.#at] ?? '';
    if ('*+?'.includes(character)) this.#fail('nothing to repeat');
    this.#at += 1;
    switch (character) {
      case '.':
        return { kind: 'set', test: flags.s ? () => true : (other) => other !== '\n' };
      case '^':
        return { kind: 'assert', what: flags.m ? 'line start' : 'start' };
      case '$':
        return { kind: 'assert', what: flags.m ? 'line end' : 'last end' };
      case '(':
        return this.#group(flags);
      case '[':
        return this.#set(flags);
      case '\\':
        return this.#escape(flags);
      default:
        return literal(character, flags);
    }
  }

  #group(flags: Flags): PatternItem | undefined {
    if (!this.#accept('?')) return this.#capture(flags, undefined);
    if (this.#accept('P<')) return this.#capture(flags, this.#name('>'));
    if (this.#accept('P=')) return this.#back(this.#reference(this.#name(')')), flags);
    if (this.#accept('#')) {
      this.#until(')');
      return undefined;
    }
    if (this.#accept(':')) return this.#close({ kind: 'group', index: undefined, body: this.#choice(flags) });
    for (const [mark, behind, negative] of looks) {
      if (this.#accept(mark)) return this.#look(flags, behind, negative);
    }
    if (this.#accept('(')) return this.#conditional(flags);
    const scoped = /^([aimsux]*)(?:-([imsx]+))?:/.exec(this.#text.slice(this.#at, this.#at + 20).join(''));
    if (!scoped) return this.#fail('unknown extension');
    this.#at += scoped[0].length;
    const inner = this.#flagged(this.#flagged(flags, scoped[1] ?? '', true), scoped[2] ?? '', false);
    return this.#close({ kind: 'group', index: undefined, body: this.#choice(inner) });
  }

  #name(end: string): string {
    const name = this.#until(end);
    return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : this.#fail(`bad character in group name '${name}'`);
  }

  #close<T extends PatternItem>(item: T): T {
    return this.#accept(')') ? item : this.#fail('missing ), unterminated subpattern');
  }

  #capture(flags: Flags, name: string | undefined): PatternItem {
    const index = ++this.#groups;
    if (name !== undefined) {
      if (this.#names.has(name)) this.#fail(`redefinition of group name '${name}'`);
      this.#names.set(name, index);
    }
    this.#open.add(index);
    const body = this.#choice(flags);
    this.#open.delete(index);
    return this.#close({ kind: 'group', index, body });
  }

  #look(flags: Flags, behind: boolean, negative: boolean): PatternItem {
    const body = this.#choice(flags);
    const [least, most] = widthOf(body);
    if (behind && least !== most) this.#fail('look-behind requires fixed-width pattern');
    return this.#close({ kind: 'look', body, behind: behind ? least : undefined, negative });
  }

  #conditional(flags: Flags): PatternItem {
    const name = this.#until(')');
    const index = /^\d+$/.test(name) ? Number(name) : this.#reference(name);
    const body = this.#choice(flags);
    const [yes, no, ...more] = body.kind === 'choice' ? body.options : [body];
    if (more.length > 0) this.#fail('conditional backref with more than two branches');
    const nothing: PatternItem = { kind: 'sequence', items: [] };
    return this.#close({ kind: 'given', index, yes: yes ?? nothing, no: no ?? nothing });
  }

  #reference(name: string): number {
    return this.#names.get(name) ?? this.#fail(`unknown group name '${name}'`);
  }

  #back(index: number, flags: Flags): PatternItem {
    if (index < 1 || index > this.#groups) this.#fail(`invalid group reference ${index}`);
    if (this.#open.has(index)) this.#fail('cannot refer to an open group');
    return { kind: 'back', index, ignoreCase: flags.i };
  }

  #escape(flags: Flags): PatternItem {
    const character = this.#text[this.#at];
    if (character === undefined) return this.#fail('bad escape (end of pattern)');
    const anchors: Record<string, Extract<PatternItem, { kind: 'assert' }>['what']> = {
      A: 'start',
      Z: 'end',
      b: 'word',
      B: 'not word',
    };
    const anchor = anchors[character];
    if (anchor !== undefined && Object.hasOwn(anchors, character)) {
      this.#at += 1;
      return { kind: 'assert', what: anchor };
    }
    if (/[1-9]/.test(character) && !/^[0-3][0-7]{2}/.test(this.#text.slice(this.#at, this.#at + 3).join(''))) {
      const digits = /^[1-9]\d?/.exec(this.#text.slice(this.#at, this.#at + 2).join(''))?.[0] ?? '';
      this.#at += digits.length;
      return this.#back(Number(digits), flags);
    }
    const found = this.#escaped(flags);
    return typeof found === 'string' ? literal(found, flags) : { kind: 'set', test: found };
  }

  /** Reads the character or class after a backslash. */
  #escaped(flags: Flags): string | ((character: string) => boolean) {
    const character = this.#text[this.#at] ?? '';
    const rest = this.#text.slice(this.#at, this.#at + 9).join('');
    this.#at += 1;
    const kind = classes[character.toLowerCase()];
    if (kind && Object.hasOwn(classes, character.toLowerCase())) {
      const rule = flags.a ? kind.ascii : kind.unicode;
      return character === character.toLowerCase() ? (other) => rule.test(other) : (other) => !rule.test(other);
    }
    const code = /^(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/.exec(rest);
    const octal = /^(?:0[0-7]{0,2}|[0-3][0-7]{2})/.exec(rest);
    if (code ?? octal) {
      const digits = code?.[1] ?? code?.[2] ?? code?.[3];
      const point = digits === undefined ? Number.parseInt(octal?.[0] ?? '0', 8) : Number.parseInt(digits, 16);
      this.#at += (code ?? octal ?? [''])[0].length - 1;
      return point <= 0x10ffff ? String.fromCodePoint(point) : this.#fail('bad escape');
    }
    if (Object.hasOwn(controls, character)) return controls[character] ?? character;
    if (character === '') return this.#fail('bad escape (end of pattern)');
    return /[A-Za-z0-9]/.test(character) ? this.#fail(`bad escape \\${character}`) : character;
  }

  #set(flags: Flags): PatternItem {
    const negative = this.#accept('^');
    const tests: ((character: string) => boolean)[] = [];
    for (let first = true; first || !this.#peek(']'); first = false) {
      if (this.#at >= this.#text.length) this.#fail('unterminated character set');
      const low = this.#member(flags);
      const isRange = this.#peek('-') && this.#text[this.#at + 1] !== ']' && this.#text[this.#at + 1] !== undefined;
      if (!isRange) {
        tests.push(typeof low === 'string' ? same(low, flags) : low);
        continue;
      }
      this.#at += 1;
      const high = this.#member(flags);
      if (typeof low !== 'string' || typeof high !== 'string' || codeOf(low) > codeOf(high))
        return this.#fail('bad character range');
      tests.push(between(codeOf(low), codeOf(high), flags));
    }
    this.#at += 1;
    return { kind: 'set', test: (character) => tests.some((test) => test(character)) !== negative };
  }

  #member(flags: Flags): string | ((character: string) => boolean) {
    const character = this.#text[this.#at];
    if (character === undefined) return this.#fail('unterminated character set');
    this.#at += 1;
    return character === '\\' ? this.#escaped(flags) : character;
  }
}

const looks = [
  ['=', false, false],
  ['!', false, true],
  ['<=', true, false],
  ['<!', true, true],
] as const;

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
const fold = (character: string): string => character.toLowerCase();

function same(wanted: string, flags: Flags): (character: string) => boolean {
  if (!flags.i) return (character) => character === wanted;
  const folded = fold(wanted);
  return (character) => fold(character) === folded;
}
function between(low: number, high: number, flags: Flags): (character: string) => boolean {
  const inside = (character: string): boolean => codeOf(character) >= low && codeOf(character) <= high;
  return flags.i
    ? (character) => inside(character) || inside(fold(character)) || inside(character.toUpperCase())
    : inside;
}
const literal = (character: string, flags: Flags): PatternItem => ({ kind: 'set', test: same(character, flags) });

/** Minimum and maximum number of characters that an item matches. */
export function widthOf(item: PatternItem): [number, number] {
  switch (item.kind) {
    case 'set':
      return [1, 1];
    case 'assert':
    case 'look':
      return [0, 0];
    case 'group':
      return widthOf(item.body);
    case 'sequence':
      return item.items.map(widthOf).reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
    case 'choice': {
      const widths = item.options.map(widthOf);
      return [Math.min(...widths.map(([least]) => least)), Math.max(...widths.map(([, most]) => most))];
    }
    case 'repeat': {
      const [least, most] = widthOf(item.body);
      return [least * item.least, most === 0 ? 0 : most * item.most];
    }
    case 'back':
      return [0, Infinity];
    case 'given': {
      const [a, b] = [widthOf(item.yes), widthOf(item.no)];
      return [Math.min(a[0], b[0]), Math.max(a[1], b[1])];
    }
  }
}
