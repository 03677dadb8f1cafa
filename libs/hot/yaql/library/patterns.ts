/** Regular expressions. Positions count characters. */
import { why } from '../../evaluate/reason.ts';
import { type Match, Pattern, type Search } from '@anneal/python/pattern/pattern.ts';
import type { Call, FunctionDefinition } from '../call.ts';
import { define, text, whole } from '../define.ts';
import { fault } from '../fault.ts';
import { YaqlNames } from '../names.ts';
import { changeable, Dict, Once, type Value } from '../value.ts';

const compiled = (pattern: Value | undefined, { machine }: Call, flags = ''): Pattern => {
  machine.work.characters(text(pattern).length);
  try {
    const made = new Pattern(text(pattern), flags);
    machine.work.spend(made.size / 2);
    return made;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fault(why`The regular expression is not valid: ${error.message}`);
  }
};
const pattern = (value: Value | undefined): Pattern => value as Pattern;

function first(by: Pattern, value: string, { machine }: Call): Match | undefined {
  return by.on(value, machine.work).search();
}

function* matchesOf(search: Search, { machine }: Call): Generator<Match> {
  for (let from = 0; from <= search.characters.length;) {
    machine.work.spend(1);
    const found = search.search(from);
    if (!found) return;
    yield found;
    from = found.end > found.start ? found.end : found.end + 1;
  }
}

/** Sets `$1` to the whole match and `$2` to the first group. */
function published(by: Pattern, found: Match, parent: YaqlNames): YaqlNames {
  const names = new YaqlNames(parent);
  // yaql itself fails here on named groups.
  if (by.names.size > 0) fault(why`Named groups cannot be published to a selector`);
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
  const search = by.on(value, call.machine.work);
  const units = search.characters;
  const limit = count === 0 ? Infinity : count;
  let [result, from, done] = ['', 0, 0];
  for (const found of matchesOf(search, call)) {
    if (done >= limit) break;
    result += units.slice(from, found.start).join('') + put(found);
    from = found.end;
    done += 1;
  }
  return result + units.slice(from).join('');
}

function splitBy(by: Pattern, value: string, most: number, call: Call): Value {
  const search = by.on(value, call.machine.work);
  const units = search.characters;
  const limit = most === 0 ? Infinity : most;
  const parts: Value[] = [];
  let from = 0;
  for (const found of matchesOf(search, call)) {
    if (limit <= 0) break;
    parts.push(units.slice(from, found.start).join(''), ...found.groups.map((group) => group?.text ?? null));
    from = found.end;
    if (parts.length >= limit * (1 + found.groups.length)) break;
  }
  return changeable([...parts, units.slice(from).join('')]);
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
    if (replacement === null) return '';
    return typeof replacement === 'string' ? replacement : fault(why`The replacement must be a string`);
  });

/** The functions of this file. */
export const patternFunctions: FunctionDefinition[] = [
  define(
    'regex',
    'function',
    'pattern:string, ignoreCase:bool?=false, multiLine:bool?=false, dotAll:bool?=false',
    ([a, i, m, s], call) =>
      compiled(a, call, `${i === true ? 'i' : ''}${m === true ? 'm' : ''}${s === true ? 's' : ''}`),
  ),
  define(
    'matches',
    'method',
    'regexp:pattern, string:string',
    ([by, a], call) => first(pattern(by), text(a), call) !== undefined,
  ),
  define(
    'matches',
    'method',
    'string:string, regexp:string',
    ([a, by], call) => first(compiled(by, call), text(a), call) !== undefined,
  ),
  define(
    '#operator_=~',
    'function',
    'string:string, regexp:pattern',
    ([a, by], call) => first(pattern(by), text(a), call) !== undefined,
  ),
  define(
    '#operator_=~',
    'function',
    'string:string, pattern:string',
    ([a, by], call) => first(compiled(by, call), text(a), call) !== undefined,
  ),
  define(
    '#operator_!~',
    'function',
    'string:string, regexp:pattern',
    ([a, by], call) => first(pattern(by), text(a), call) === undefined,
  ),
  define(
    '#operator_!~',
    'function',
    'string:string, pattern:string',
    ([a, by], call) => first(compiled(by, call), text(a), call) === undefined,
  ),
  define('search', 'method', 'regexp:pattern, string:string, selector:lambda=null', ([by, a], call) => {
    const found = first(pattern(by), text(a), call);
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
          for (const found of matchesOf(pattern(by).on(text(a), call.machine.work), call)) {
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
    substitute(pattern(by), text(a), whole(count), call, expanding(text(put), pattern(by))),
  ),
  define('replace', 'method', 'string:string, regexp:pattern, repl:string, count:int=0', ([a, by, put, count], call) =>
    substitute(pattern(by), text(a), whole(count), call, expanding(text(put), pattern(by))),
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

/** Expands `\1` and `\g<name>` to groups. Mistakes in the template are found even when nothing matches. */
function expanding(template: string, by: Pattern): (found: Match) => string {
  const parts: (string | number)[] = [];
  let at = 0;
  for (const match of template.matchAll(escapeInTemplate)) {
    const [whole_, named, octal, decimal, letter] = match;
    parts.push(template.slice(at, match.index));
    at = match.index + whole_.length;
    if (octal !== undefined) parts.push(octalCharacter(octal));
    else if (letter !== undefined) parts.push(escapes[letter] ?? fault(why`bad escape \\${letter} in the replacement`));
    else if (named === undefined && decimal === undefined) parts.push(whole_);
    else parts.push(groupOf(named ?? decimal ?? '', by));
  }
  parts.push(template.slice(at));
  return (found) =>
    parts
      .map((part) => (typeof part === 'string' ? part : part === 0 ? found.text : (found.groups[part - 1]?.text ?? '')))
      .join('');
}
/** A group, three octal digits or a zero and up to two, one or two digits, a letter, a backslash; else it is plain text. */
const escapeInTemplate = /\\(?:g<([^>]*)>|(0[0-7]{0,2}|[1-3][0-7]{2})|([1-9][0-9]?)|([A-Za-z\\]))/g;
const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
};
const octalCharacter = (digits: string): string => String.fromCharCode(Number.parseInt(digits, 8) & 0o377);

function groupOf(key: string, by: Pattern): number {
  const index = /^\d+$/.test(key) ? Number(key) : (by.names.get(key) ?? fault(why`unknown group name '${key}'`));
  return index <= by.groups ? index : fault(why`invalid group reference ${index}`);
}
