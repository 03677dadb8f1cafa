/** Functions on strings. Positions count characters. */
import { stated, why } from '../../evaluate/reason.ts';
import { lengthOf, pythonQuoted } from '@anneal/python/values/compare.ts';
import type { Call, FunctionDefinition } from '../call.ts';
import { characters, define, listing, mapValue, text, whole } from '../define.ts';
import { fault } from '../fault.ts';
import { formatYaqlText } from '../format.ts';
import { tooMuchMemory } from '../../limits.ts';
import { Moment, TimeSpan } from './moment.ts';
import { changeable, representation, type Value } from '../value.ts';

/** The value as YAQL's `str` writes it. */
export function toText(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (value instanceof Moment || value instanceof TimeSpan) return value.toString();
  return typeof value === 'string' ? value : representation(value, pythonQuoted);
}

// oxlint-disable-next-line no-control-regex -- Python counts the separators of files and records as blank
const blank = /[\s\u001c-\u001f\u0085]/;
// oxlint-disable-next-line no-control-regex -- all others
const word = /(?:[^\s\u001c-\u001f\u0085]|\ufeff)+/g;
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

/** Without a separator, splits at runs of blanks and ignores those at the ends. */
function split(value: string, separator: Value | undefined, most: number, fromRight: boolean): Value {
  if (separator === null || separator === undefined) return splitBlank(value, most, fromRight);
  const by = text(separator);
  if (by === '') return fault(why`empty separator`);
  const parts = value.split(by);
  if (most < 0 || parts.length - 1 <= most) return changeable(parts);
  return changeable(
    fromRight
      ? [parts.slice(0, parts.length - most).join(by), ...parts.slice(parts.length - most)]
      : [...parts.slice(0, most), parts.slice(most).join(by)],
  );
}
/** The rest after the last split keeps its blanks. */
function splitBlank(value: string, most: number, fromRight: boolean): Value {
  const found = [...value.matchAll(word)];
  const words = found.map(([one]) => one);
  if (most < 0 || words.length - 1 <= most) return changeable(words);
  if (!fromRight) return changeable([...words.slice(0, most), value.slice(found[most]?.index)]);
  const last = found[words.length - most - 1];
  const end = last ? last.index + last[0].length : 0;
  return changeable([value.slice(0, end), ...words.slice(words.length - most)]);
}

/** Python's `replace`: an empty old string matches before, between and after all characters. */
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

const trimming = (name: string, sides: 'both' | 'left' | 'right'): FunctionDefinition =>
  define(name, 'method', 'string:string, chars:string?=null', ([value, chars]) => strip(text(value), chars, sides));

const upper = (value: string): string => value.toUpperCase();
const lower = (value: string): string => value.toLowerCase();

function repeated(value: string, count: number, { machine }: Call): Value {
  const { memory } = machine.work.limits;
  const size = characters(value).length * Math.max(0, count);
  if (memory >= 0 && 49 + size > memory) fault(why`${stated(tooMuchMemory(memory))}`);
  machine.work.characters(size);
  return value.repeat(Math.max(0, count));
}

const lowerAscii = 'abcdefghijklmnopqrstuvwxyz';
const upperAscii = lowerAscii.toUpperCase();
const digits = '0123456789';
const punctuation = '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~';
const whitespace = ' \t\n\r\v\f';
/** The sets that `characters` can return, by the names of its arguments. */
const characterSets: readonly (readonly [string, string | undefined])[] = [
  ['digits', digits],
  ['hexdigits', `${digits}abcdefABCDEF`],
  ['asciiLowercase', lowerAscii],
  ['asciiUppercase', upperAscii],
  ['asciiLetters', lowerAscii + upperAscii],
  // Python 3 lacks `letters`, `lowercase` and `uppercase`, so yaql fails when they are requested.
  ['letters', undefined],
  ['octdigits', '01234567'],
  ['punctuation', punctuation],
  ['printable', digits + lowerAscii + upperAscii + punctuation + whitespace],
  ['lowercase', undefined],
  ['uppercase', undefined],
  ['whitespace', whitespace],
];

/** The functions of this file. */
export const yaqlTextFunctions: FunctionDefinition[] = [
  define('concat', 'function', '*args:string', (parts) => parts.map(text).join('')),
  define('#operator_+', 'function', '*args:string', (parts) => parts.map(text).join('')),
  define('#operator_*', 'function', 'left:string, right:int', ([a, b], call) => repeated(text(a), whole(b), call)),
  define('#operator_*', 'function', 'left:int, right:string', ([a, b], call) => repeated(text(b), whole(a), call)),
  define('#operator_in', 'function', 'left:string, right:string', ([a, b]) => text(b).includes(text(a))),
  define('toUpper', 'method', 'string:string', ([a]) => upper(text(a))),
  define('toLower', 'method', 'string:string', ([a]) => lower(text(a))),
  define('len', 'both', 'string:string', ([a]) => BigInt(lengthOf(text(a)))),
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
    Array.from(mapValue(changes).entries()).reduce(
      (at, [old, by]) => replace(at, toText(old), toText(by), whole(count)),
      text(a),
    ),
  ),
  define('format', 'both', 'string:string, *args:any, **', ([a, ...places], { named, machine }) =>
    formatYaqlText(text(a), { places, named }, machine),
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
  define('characters', 'function', characterSets.map(([name]) => `${name}:bool=false`).join(', '), (wanted) => [
    ...new Set(
      characterSets.flatMap(([name, set], index) =>
        wanted[index] !== true
          ? []
          : set === undefined
            ? fault(why`There is no set of characters "${stated(name)}"`)
            : characters(set),
      ),
    ),
  ]),
  define('toCharArray', 'method', 'string:string', ([a]) => characters(text(a))),
  define('isString', 'function', 'arg:any', ([a]) => typeof a === 'string'),
  define('startsWith', 'method', 'string:string, *prefixes:string', ([a, ...prefixes]) =>
    prefixes.some((prefix) => text(a).startsWith(text(prefix))),
  ),
  define('endsWith', 'method', 'string:string, *suffixes:string', ([a, ...suffixes]) =>
    suffixes.some((suffix) => text(a).endsWith(text(suffix))),
  ),
];
