/** Functions on strings and regular expressions. Positions count characters. */
import { Pattern, type Match } from '../pattern/pattern.ts';
import { pythonQuoted } from '../python.ts';
import type { Call, Definition } from './call.ts';
import { characters, define, listing, map, text, whole } from './define.ts';
import { fault } from './fault.ts';
import { Names } from './names.ts';
import { Dict, Once, representation, type Value } from './value.ts';

export function toText(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  return typeof value === 'string' ? value : representation(value, pythonQuoted);
}

// oxlint-disable-next-line no-control-regex -- Python counts the separators of files and records as blank
const blank = /[\s\u001c-\u001f\u0085]/;
function strip(value: string, chars: Value | undefined, sides: 'both' | 'left' | 'right'): string {
  const set = typeof chars === 'string' ? new Set(characters(chars)) : undefined;
  const drop = (character: string | undefined): boolean =>
    character !== undefined && (set ? set.has(character) : blank.test(character) && character !== '\ufeff');
  const all = characters(value);
  let [from, to] = [0, all.length];
  if (sides !== 'right') while (from < to && drop(all[from])) from += 1;
  if (sides !== 'left') while (to > from && drop(all[to - 1])) to -= 1;
  return all.slice(from, to).join('');
}

/** Without a separator, runs of blanks separate and those at the ends do not count. */
function split(value: string, separator: Value | undefined, most: number, fromRight: boolean): Value {
  if (separator === null || separator === undefined) return splitBlank(value, most, fromRight);
  const by = text(separator);
  if (by === '') return fault('empty separator');
  const parts = value.split(by);
  if (most < 0 || parts.length - 1 <= most) return parts;
  return fromRight
    ? [parts.slice(0, parts.length - most).join(by), ...parts.slice(parts.length - most)]
    : [...parts.slice(0, most), parts.slice(most).join(by)];
}
function splitBlank(value: string, most: number, fromRight: boolean): Value {
  const words = value.split(new RegExp(`${blank.source}+`)).filter((word) => word !== '');
  if (most < 0 || words.length - 1 <= most) return words;
  const found: string[] = [];
  let rest = fromRight ? strip(value, null, 'right') : strip(value, null, 'left');
  for (let count = 0; count < most; count += 1) {
    const word = fromRight ? (/\S+$/.exec(rest)?.[0] ?? '') : (/^\S+/.exec(rest)?.[0] ?? '');
    found.push(word);
    rest = fromRight
      ? strip(rest.slice(0, rest.length - word.length), null, 'right')
      : strip(rest.slice(word.length), null, 'left');
  }
  return fromRight ? [rest, ...found.reverse()] : [...found, rest];
}

/** Python's `replace`: an empty old string stands between all characters. */
function replace(value: string, old: string, by: string, count: number): string {
  const limit = count < 0 ? Infinity : count;
  if (old === '') {
    const all = characters(value);
    const put = all.map((character, index) => (index < limit ? by + character : character)).join('');
    return all.length < limit ? put + by : put;
  }
  const parts = value.split(old);
  const head = parts.slice(0, Math.min(parts.length, limit + 1)).join(by);
  return [head, ...parts.slice(Math.min(parts.length, limit + 1))].join(old);
}

function find(value: string, sub: string, from: number, to: number, last: boolean): bigint {
  const all = characters(value);
  const start = from < 0 ? Math.max(0, from + all.length) : from;
  const end = Math.min(all.length, to < 0 ? Math.max(0, to + all.length) : to);
  if (start > end) return -1n;
  const part = all.slice(start, end).join('');
  const at = last ? part.lastIndexOf(sub) : part.indexOf(sub);
  return at < 0 ? -1n : BigInt(start + characters(part.slice(0, at)).length);
}
const ranged =
  (last: boolean) =>
  ([value, sub, start, length]: Value[]): Value => {
    const size = characters(text(value)).length;
    const from = whole(start) < 0 ? whole(start) + size : whole(start);
    const count = whole(length) < 0 ? size - from : whole(length);
    return find(text(value), text(sub), from, from + count, last);
  };

const trimming = (name: string, sides: 'both' | 'left' | 'right'): Definition =>
  define(name, 'method', 'string:string, chars:string?=null', ([value, chars]) => strip(text(value), chars, sides));

const upper = (value: string): string => value.toUpperCase();
const lower = (value: string): string => value.toLowerCase();

function repeated(value: string, count: number, { machine }: Call): Value {
  const { memory } = machine.limits;
  const size = characters(value).length * Math.max(0, count);
  if ((memory >= 0 && 49 + size > memory) || size > 10_000_000) fault('Expression consumed too much memory');
  return value.repeat(Math.max(0, count));
}

const plainText: Definition[] = [
  define('concat', 'function', '*args:string', (parts) => parts.map(text).join('')),
  define('#operator_+', 'function', '*args:string', (parts) => parts.map(text).join('')),
  define('#operator_*', 'function', 'left:string, right:int', ([a, b], call) => repeated(text(a), whole(b), call)),
  define('#operator_*', 'function', 'left:int, right:string', ([a, b], call) => repeated(text(b), whole(a), call)),
  define('#operator_in', 'function', 'left:string, right:string', ([a, b]) => text(b).includes(text(a))),
  define('toUpper', 'method', 'string:string', ([a]) => upper(text(a))),
  define('toLower', 'method', 'string:string', ([a]) => lower(text(a))),
  define('len', 'both', 'string:string', ([a]) => BigInt(characters(text(a)).length)),
  define('split', 'method', 'string:string, separator:string?=null, maxSplits:int=-1', ([a, by, most]) =>
    split(text(a), by, whole(most), false),
  ),
  define('rightSplit', 'method', 'string:string, separator:string?=null, maxSplits:int=-1', ([a, by, most]) =>
    split(text(a), by, whole(most), true),
  ),
  define('join', 'method', 'sequence:listing, separator:string', ([items, by]) =>
    Array.from(listing(items), toText).join(text(by)),
  ),
  define('join', 'method', 'separator:string, sequence:listing', ([by, items]) =>
    Array.from(listing(items), toText).join(text(by)),
  ),
  define('str', 'function', 'value:any', ([a = null]) => toText(a)),
  trimming('trim', 'both'),
  trimming('trimLeft', 'left'),
  trimming('trimRight', 'right'),
  define('norm', 'both', 'string:string?, chars:string?=null', ([a, chars]) =>
    a === null ? null : strip(text(a), chars, 'both') || null,
  ),
  define(
    'isEmpty',
    'both',
    'string:string?, trim:bool=true, chars:string?=null',
    ([a, trim, chars]) => a === null || (trim === true ? strip(text(a), chars, 'both') : text(a)) === '',
  ),
  define('replace', 'method', 'string:string, old:string, new:string, count:int=-1', ([a, old, by, count]) =>
    replace(text(a), text(old), text(by), whole(count)),
  ),
  define('replace', 'method', 'string:string, replacements:dict, count:int=-1', ([a, changes, count]) =>
    Array.from(map(changes).entries()).reduce(
      (at, [old, by]) => replace(at, toText(old), toText(by), whole(count)),
      text(a),
    ),
  ),
  define('substring', 'method', 'string:string, start:int, length:int=-1', ([a, start, length]) => {
    const all = characters(text(a));
    const count = whole(length) < 0 ? all.length : whole(length);
    const from = whole(start) < 0 ? whole(start) + all.length : whole(start);
    return all.slice(from, from + count < 0 && from >= 0 ? 0 : from + count).join('');
  }),
  define('indexOf', 'method', 'string:string, sub:string, start:int=0', ([a, sub, start]) =>
    find(text(a), text(sub), whole(start), Infinity, false),
  ),
  define('indexOf', 'method', 'string:string, sub:string, start:int, length:int', ranged(false)),
  define('lastIndexOf', 'method', 'string:string, sub:string, start:int=0', ([a, sub, start]) =>
    find(text(a), text(sub), whole(start), Infinity, true),
  ),
  define('lastIndexOf', 'method', 'string:string, sub:string, start:int, length:int', ranged(true)),
  define('toCharArray', 'method', 'string:string', ([a]) => characters(text(a))),
  define('isString', 'function', 'arg:any', ([a]) => typeof a === 'string'),
  define('startsWith', 'method', 'string:string, *prefixes:string', ([a, ...prefixes]) =>
    prefixes.some((prefix) => text(a).startsWith(text(prefix))),
  ),
  define('endsWith', 'method', 'string:string, *suffixes:string', ([a, ...suffixes]) =>
    suffixes.some((suffix) => text(a).endsWith(text(suffix))),
  ),
];

const compiled = (pattern: Value | undefined, flags = ''): Pattern => {
  try {
    return new Pattern(text(pattern), flags);
  } catch (error) {
    return fault(`The regular expression is not valid: ${(error as Error).message}`);
  }
};
const pattern = (value: Value | undefined): Pattern => value as Pattern;

function* matchesOf(by: Pattern, value: string, { machine }: Call): Generator<Match> {
  const units = characters(value);
  for (let from = 0; from <= units.length;) {
    machine.step();
    const found = by.search(value, from);
    if (!found) return;
    yield found;
    from = found.end > found.start ? found.end : found.end + 1;
  }
}

/** `$1` is the whole match, `$2` the first group. */
function published(by: Pattern, found: Match, parent: Names): Names {
  const names = new Names(parent);
  // yaql itself fails on named groups here.
  if (by.names.size > 0) fault('Named groups cannot be published to a selector');
  for (const [index, group] of [found, ...found.groups].entries()) {
    names.set(
      String(index + 1),
      new Dict([
        ['value', group?.text ?? null],
        ['start', BigInt(group?.start ?? -1)],
        ['end', BigInt(group?.end ?? -1)],
      ]),
    );
  }
  return names;
}

function substitute(by: Pattern, value: string, count: number, call: Call, put: (found: Match) => string): string {
  const units = characters(value);
  const limit = count === 0 ? Infinity : count;
  let [result, from, done] = ['', 0, 0];
  for (const found of matchesOf(by, value, call)) {
    if (done >= limit) break;
    result += units.slice(from, found.start).join('') + put(found);
    from = found.end;
    done += 1;
  }
  return result + units.slice(from).join('');
}

function splitBy(by: Pattern, value: string, most: number, call: Call): Value {
  const units = characters(value);
  const limit = most === 0 ? Infinity : most;
  const parts: Value[] = [];
  let from = 0;
  for (const found of matchesOf(by, value, call)) {
    if (limit <= 0) break;
    parts.push(units.slice(from, found.start).join(''), ...found.groups.map((group) => group?.text ?? null));
    from = found.end;
    if (parts.length >= limit * (1 + found.groups.length)) break;
  }
  return [...parts, units.slice(from).join('')];
}

const replaceBy = (
  by: Value | undefined,
  value: Value | undefined,
  index: number,
  count: Value | undefined,
  call: Call,
): Value =>
  substitute(pattern(by), text(value), whole(count), call, (found) => {
    const replacement = call.within(index, published(pattern(by), found, call.names));
    return typeof replacement === 'string' ? replacement : fault('The replacement must be a string');
  });

const patterns: Definition[] = [
  define(
    'regex',
    'function',
    'pattern:string, ignoreCase:bool?=false, multiLine:bool?=false, dotAll:bool?=false',
    ([a, i, m, s]) => compiled(a, `${i === true ? 'i' : ''}${m === true ? 'm' : ''}${s === true ? 's' : ''}`),
  ),
  define(
    'matches',
    'method',
    'regexp:pattern, string:string',
    ([by, a]) => pattern(by).search(text(a), 0) !== undefined,
  ),
  define(
    'matches',
    'method',
    'string:string, regexp:string',
    ([a, by]) => compiled(by).search(text(a), 0) !== undefined,
  ),
  define(
    '#operator_=~',
    'function',
    'string:string, regexp:pattern',
    ([a, by]) => pattern(by).search(text(a), 0) !== undefined,
  ),
  define(
    '#operator_=~',
    'function',
    'string:string, pattern:string',
    ([a, by]) => compiled(by).search(text(a), 0) !== undefined,
  ),
  define(
    '#operator_!~',
    'function',
    'string:string, regexp:pattern',
    ([a, by]) => pattern(by).search(text(a), 0) === undefined,
  ),
  define(
    '#operator_!~',
    'function',
    'string:string, pattern:string',
    ([a, by]) => compiled(by).search(text(a), 0) === undefined,
  ),
  define('search', 'method', 'regexp:pattern, string:string, selector:lambda=null', ([by, a], call) => {
    const found = pattern(by).search(text(a), 0);
    if (!found) return null;
    return call.given(2) ? call.within(2, published(pattern(by), found, call.names)) : found.text;
  }),
  define(
    'searchAll',
    'method',
    'regexp:pattern, string:string, selector:lambda=null',
    ([by, a], call) =>
      new Once(
        (function* () {
          for (const found of matchesOf(pattern(by), text(a), call)) {
            yield call.given(2) ? call.within(2, published(pattern(by), found, call.names)) : found.text;
          }
        })(),
      ),
  ),
  define('split', 'method', 'regexp:pattern, string:string, maxSplit:int=0', ([by, a, most], call) =>
    splitBy(pattern(by), text(a), whole(most), call),
  ),
  define('split', 'method', 'string:string, regexp:pattern, maxSplit:int=0', ([a, by, most], call) =>
    splitBy(pattern(by), text(a), whole(most), call),
  ),
  define('replace', 'method', 'regexp:pattern, string:string, repl:string, count:int=0', ([by, a, put, count], call) =>
    substitute(pattern(by), text(a), whole(count), call, (found) => expand(text(put), found, pattern(by))),
  ),
  define('replace', 'method', 'string:string, regexp:pattern, repl:string, count:int=0', ([a, by, put, count], call) =>
    substitute(pattern(by), text(a), whole(count), call, (found) => expand(text(put), found, pattern(by))),
  ),
  define('replaceBy', 'method', 'regexp:pattern, string:string, repl:lambda, count:int=0', ([by, a, , count], call) =>
    replaceBy(by, a, 2, count, call),
  ),
  define('replaceBy', 'method', 'string:string, regexp:pattern, repl:lambda, count:int=0', ([a, by, , count], call) =>
    replaceBy(by, a, 2, count, call),
  ),
  define('escapeRegex', 'function', 'string:string', ([a]) => text(a).replace(/[\s#$&()*+\-.?[\\\]^{|}~]/g, '\\$&')),
  define('isRegex', 'function', 'value:any', ([a]) => a instanceof Pattern),
];

/** `\1` and `\g<name>` stand for groups. */
function expand(template: string, found: Match, by: Pattern): string {
  return template.replace(
    /\\(?:g<(\w+)>|([0-9]{1,2})|([abfnrtv\\])|([A-Za-z]))/g,
    (_, named?: string, digits?: string, letter?: string) => {
      if (letter !== undefined)
        return letter === '\\'
          ? '\\'
          : ({ a: '\u0007', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' }[letter] ?? letter);
      const key = named ?? digits;
      if (key === undefined) return fault('bad escape in the replacement');
      const index = /^\d+$/.test(key) ? Number(key) : (by.names.get(key) ?? fault(`unknown group name '${key}'`));
      if (index > found.groups.length) return fault(`invalid group reference ${index}`);
      return index === 0 ? found.text : (found.groups[index - 1]?.text ?? '');
    },
  );
}

export const textFunctions: Definition[] = [...plainText, ...patterns];
