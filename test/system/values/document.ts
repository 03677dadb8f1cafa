/**
 * Odd documents, and their JSON read without any code of the project: a map keeps the order of its keys, and a number its
 * text.
 */
import { floatText } from '@anneal/contracts/exact-number.ts';
import { randomOf } from '../../chaos/random.ts';

/** A value of JSON. A number is its text. */
export type Odd = null | boolean | string | OddNumber | Odd[] | OddMap;
export interface OddNumber {
  readonly number: string;
}
export type OddMap = Map<string, Odd>;

/** The JSON of a document. */
export function oddText(value: Odd): string {
  if (value instanceof Map)
    return `{${Array.from(value, ([key, item]) => `${JSON.stringify(key)}:${oddText(item)}`).join(',')}}`;
  if (Array.isArray(value)) return `[${value.map(oddText).join(',')}]`;
  return value !== null && typeof value === 'object' ? value.number : JSON.stringify(value);
}

const token = /\s*([[\]{}:,]|"(?:[^"\\]|\\.)*"|[^\s[\]{}:,"]+)/gy;

/** A text as it is, and the JSON of any other value. */
export const wordOf = (value: Odd): string => (typeof value === 'string' ? value : oddText(value));

/** Reads JSON. @throws SyntaxError */
export function readOdd(text: string): Odd {
  JSON.parse(text);
  const tokens = Array.from(text.matchAll(token), ([, each = '']) => each);
  let index = 0;
  const value = (): Odd => {
    const next = tokens[index++] ?? '';
    if (next === '[') return items(']', value);
    if (next === '{') {
      return new Map(
        items('}', (): [string, Odd] => {
          const key = JSON.parse(tokens[index] ?? '') as string;
          index += 2;
          return [key, value()];
        }),
      );
    }
    if (next.startsWith('"')) return JSON.parse(next) as string;
    return next === 'null' ? null : next === 'true' || next === 'false' ? next === 'true' : { number: next };
  };
  const items = <T>(end: string, one: () => T): T[] => {
    const found: T[] = [];
    while (tokens[index] !== end) {
      found.push(one());
      if (tokens[index] === ',') index += 1;
    }
    index += 1;
    return found;
  };
  return value();
}

/** The value at a path. @throws Error when there is none */
export function at(value: Odd, ...path: readonly (string | number)[]): Odd {
  let found: Odd | undefined = value;
  for (const step of path)
    found =
      found instanceof Map
        ? found.get(String(step))
        : Array.isArray(found) && typeof step === 'number'
          ? found.at(step)
          : undefined;
  if (found === undefined) throw new Error(`nothing at ${path.join('.')} of ${oddText(value).slice(0, 1000)}`);
  return found;
}

/** The first place where two values differ; undefined when they are the same. */
export function difference(sent: Odd, received: Odd, path = 'document'): string | undefined {
  if (sent instanceof Map && received instanceof Map) {
    const [keys, others] = [[...sent.keys()], [...received.keys()]];
    if (JSON.stringify(keys) !== JSON.stringify(others))
      return `${path}: the keys ${JSON.stringify(keys)} arrived as ${JSON.stringify(others)}`;
    for (const key of keys) {
      const found = difference(at(sent, key), at(received, key), `${path}[${JSON.stringify(key)}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (Array.isArray(sent) && Array.isArray(received) && sent.length === received.length) {
    for (const [index, item] of sent.entries()) {
      const found = difference(item, received[index] ?? null, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return oddText(sent) === oddText(received) ? undefined : `${path}: ${oddText(sent)} arrived as ${oddText(received)}`;
}

/** Smaller values of the same kind, for the search of the smallest one. */
export function partsOf(value: Odd): Odd[] {
  if (Array.isArray(value)) {
    const [only, ...others] = value;
    if (only === undefined) return [];
    return others.length > 0 ? value.map((item) => [item]) : partsOf(only).map((part) => [part]);
  }
  if (!(value instanceof Map)) return [];
  const [first, ...others] = value;
  if (!first) return [];
  // The order of two keys may matter, so pairs come after single entries.
  if (others.length > 1) return [...singles(value), ...pairs(value)];
  if (others.length > 0) return singles(value);
  return partsOf(first[1]).map((part) => new Map([[first[0], part]]));
}
const singles = (map: OddMap): OddMap[] => Array.from(map, (entry) => new Map([entry]));
const pairs = (map: OddMap): OddMap[] => {
  const entries = [...map];
  return entries.slice(1).map((entry, index) => new Map([entries[index] ?? entry, entry]));
};

const numbers =
  '0 -0 1 1.0 -1.0 0.0 -0.0 1.10 100.00 1e2 1E+2 1e-2 2.5e3 9007199254740993 -9007199254740993 12345678901234567890 0.1 1e-7 1e21 5e-324 1.7976931348623157e308 3.141592653589793238462643 123456789012345678901234567890.5';
const strings = [
  '',
  ' ',
  'text',
  '1.0',
  'null',
  'yes',
  '\0',
  'a\0b',
  '\u2028 \u2029',
  '\u0085\u00a0\ufeff',
  '\ud800',
  'x\udfffy',
  '😀 𝒳',
  'é',
  'e\u0301',
  '\u001b[31m\u0007',
  'line\r\nline\n\tend \n',
  '"\\/\'`$',
  '%2F%00',
  '<b>&amp;</b>',
  '{{ x }} <% $.x %> $(x) ${x}',
  '012:34',
  '2026-12-01',
];
const names = [
  'constructor',
  'toString',
  'hasOwnProperty',
  'valueOf',
  'toJSON',
  'length',
  'then',
  'version',
  'id',
  '10',
  '2',
  '1',
  '01',
  '-1',
  '1.5',
  '4294967296',
  '$ref',
  '$sealed',
  '.',
  'a.b',
  'a/b',
  '~1',
  '#',
  '*',
  'prototype',
  ...strings,
];

/** A document with every oddity, and random ones around them. The same seed gives the same document. */
export function oddDocument(seed: number): OddMap {
  const random = randomOf(seed);
  const one = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const count = (most: number): number => Math.floor(random() * (most + 1));
  const sources = numbers.split(' ');
  const shuffled = <T>(values: readonly T[]): T[] =>
    values
      .map((value) => [random(), value] as const)
      .sort(([a], [b]) => a - b)
      .map(([, value]) => value);
  const value = (depth: number): Odd => {
    const kind = random();
    if (depth > 0 && kind < 0.25) return Array.from({ length: count(4) }, () => value(depth - 1));
    if (depth > 0 && kind < 0.5)
      return new Map(Array.from({ length: count(5) }, (): [string, Odd] => [one(names), value(depth - 1)]));
    if (kind < 0.7) return { number: one(sources) };
    return kind < 0.9 ? one(strings) : one([null, true, false]);
  };
  const all: [string, Odd][] = [
    ['numbers', shuffled(sources).map((number) => ({ number }))],
    ['strings', shuffled(strings)],
    ['names', new Map(shuffled([...new Set(names)]).map((name): [string, Odd] => [name, value(1)]))],
    ['empty', [null, new Map(), [], '', [[]], new Map([['', new Map()]])]],
    ['random', Array.from({ length: 4 }, () => value(4))],
    ['10', { number: '1.0' }],
    ['9', { number: '12345678901234567890' }],
  ];
  return new Map(shuffled(all));
}

/** The document with each string and name as `keep` returns it. Names that become equal stay one. */
export function mapOdd(
  value: Odd,
  convert: (leaf: string | OddNumber) => Odd,
  name = (key: string): string => key,
): Odd {
  if (typeof value === 'string' || (value !== null && typeof value === 'object' && 'number' in value))
    return convert(value);
  if (Array.isArray(value)) return value.map((item) => mapOdd(item, convert, name));
  if (value instanceof Map)
    return new Map(Array.from(value, ([key, item]) => [name(key), mapOdd(item, convert, name)]));
  return value;
}

/** The document with its numbers as Python writes them, which reads and writes the values of templates. */
export const inPython = (value: Odd): Odd =>
  mapOdd(value, (leaf) => {
    if (typeof leaf === 'string') return leaf;
    const { number } = leaf;
    return { number: /[.eE]/.test(number) ? floatText(Number(number)) : BigInt(number).toString() };
  });
