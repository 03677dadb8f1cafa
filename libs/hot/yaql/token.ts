/** Splits text into tokens. The words `and or not in mod` are operators, unless a parenthesis follows immediately. */
import { stated, why } from '../evaluate/reason.ts';
import { fault } from './fault.ts';

/** A token. `offset` is its character in the expression. */
export type YaqlToken =
  | { readonly kind: 'number'; readonly value: number | bigint; readonly offset: number }
  | { readonly kind: 'text'; readonly value: string; readonly offset: number }
  /** `$`, `$name`, `$1` */
  | { readonly kind: 'variable'; readonly name: string; readonly offset: number }
  /** A name with the opening parenthesis of its arguments. */
  | { readonly kind: 'function'; readonly name: string; readonly offset: number }
  | { readonly kind: 'word'; readonly name: string; readonly offset: number }
  | { readonly kind: 'symbol'; readonly symbol: string; readonly offset: number };

const wordOperators = new Set(['and', 'or', 'not', 'in', 'mod']);
const rules = {
  blank: /[ \t\r\n]+/y,
  variable: /\$[\p{L}\p{N}_]*/uy,
  number: /\d+(?:\.\d+)?(?![\p{L}\p{N}_])/uy,
  function: /[\p{L}_][\p{L}\p{N}_]*\(/uy,
  word: /(?!__)[\p{L}_][\p{L}\p{N}_]*/uy,
  quoted: /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/y,
  verbatim: /`(?:[^`\\]|\\.)*`/y,
  symbol: /=>|=~|!~|!=|>=|<=|->|\?\.|[-+*/.<>=()\],}[{]/y,
};

/** The tokens of an expression. @throws YaqlFault for a character that begins none */
export function tokens(text: string): YaqlToken[] {
  const found: YaqlToken[] = [];
  let offset = 0;
  const match = (rule: RegExp): string | undefined => {
    rule.lastIndex = offset;
    return rule.exec(text)?.[0];
  };
  while (offset < text.length) {
    const blank = match(rules.blank);
    if (blank !== undefined) {
      offset += blank.length;
      continue;
    }
    const [length, token] =
      next(match, offset) ?? fault(why`Lexical error: illegal character '${stated(text[offset] ?? '')}'`, offset);
    found.push(token);
    offset += length;
  }
  return found;
}

function next(match: (rule: RegExp) => string | undefined, offset: number): [number, YaqlToken] | undefined {
  let text = match(rules.variable);
  if (text !== undefined) return [text.length, { kind: 'variable', name: text.slice(1), offset }];
  text = match(rules.number);
  if (text !== undefined) {
    const value = text.includes('.') ? Number(text) : BigInt(text);
    return [text.length, { kind: 'number', value, offset }];
  }
  text = match(rules.function);
  if (text !== undefined) return [text.length, { kind: 'function', name: text.slice(0, -1), offset }];
  text = match(rules.word);
  if (text !== undefined) {
    const token: YaqlToken = wordOperators.has(text)
      ? { kind: 'symbol', symbol: text, offset }
      : { kind: 'word', name: text, offset };
    return [text.length, token];
  }
  text = match(rules.quoted);
  if (text !== undefined) return [text.length, { kind: 'text', value: unescape(text.slice(1, -1), offset), offset }];
  text = match(rules.verbatim);
  if (text !== undefined) {
    return [text.length, { kind: 'text', value: text.slice(1, -1).replaceAll('\\`', '`'), offset }];
  }
  text = match(rules.symbol);
  return text === undefined ? undefined : [text.length, { kind: 'symbol', symbol: text, offset }];
}

const letters: Record<string, string> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};
const escape = /\\(?:U([^]{8})|u([^]{4})|x([^]{2})|([0-7]{1,3})|([\\'"abfnrtv]))/g;

/** Keeps unknown escapes, so that `\d` in a pattern needs no second backslash. */
function unescape(text: string, offset: number): string {
  return text.replace(escape, (_, long?: string, short?: string, byte?: string, octal?: string, letter?: string) => {
    if (letter !== undefined) return letters[letter] ?? letter;
    if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8));
    const digits = long ?? short ?? byte ?? '';
    const code = /^[0-9a-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Infinity;
    return code <= 0x10ffff ? String.fromCodePoint(code) : fault(why`Lexical error: illegal escape`, offset);
  });
}
