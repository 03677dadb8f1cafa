/**
 * The values of expressions, as in Python: integers (bigint here) are not floats (number here); 1, 1.0 and true are the
 * same key of a map; and the result of a function like `where` can be read only once.
 */
import { stated, why } from '../evaluate/reason.ts';
import { Pattern } from '@anneal/python/pattern/pattern.ts';
import { floatText } from '@anneal/python/values/compare.ts';
import { fault } from './fault.ts';
import { Moment, TimeSpan } from './library/moment.ts';

/** A value of an expression. */
export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Value[]
  | Dict
  | SetValue
  | Once
  | View
  | Rule
  | NamesValue
  | Pattern
  | Ordering
  | Moment
  | TimeSpan;

/** The names that an expression can read, as a value: the left side of `->`. */
export interface NamesValue {
  get(name: string): Value;
  defined(name: string): DefinedFunction | undefined;
}

/** A function made with `def`: computes a value from the given arguments. */
export type DefinedFunction = (items: readonly Value[], named: ReadonlyMap<string, Value>) => Value;

/** Returns a key that equal values share. @throws YaqlFault for mutable values, which cannot be keys. */
export function valueKey(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'string') return `"${value}`;
  if (typeof value === 'boolean') return value ? '1' : '0';
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value).toString() : String(value);
  if (Array.isArray(value)) {
    if (isChangeable(value)) return fault(why`A list that was made by a function cannot be a key`);
    return `[${value.map((item) => escaped(valueKey(item))).join(',')}]`;
  }
  if (value instanceof Dict) {
    const parts = Array.from(value.entries(), ([key, item]) => `${escaped(valueKey(key))}:${escaped(valueKey(item))}`);
    return `{${parts.sort().join(',')}}`;
  }
  if (value instanceof SetValue) return `<${Array.from(value.items(), valueKey).map(escaped).sort().join(',')}>`;
  if (value instanceof Moment) return `@${value.instant}`;
  if (value instanceof TimeSpan) return `~${value.micros}`;
  // Keys and items of a map are sets, which in Python change with the map.
  if (value instanceof View && value.kind !== 'values') return fault(why`${stated(valueKind(value))} cannot be a key`);
  return identityOf(value);
}
/** Every other value is a key by identity. */
const identities = new WeakMap<object, string>();
let identified = 0;
function identityOf(value: object): string {
  const known = identities.get(value) ?? `#${(identified += 1)}`;
  identities.set(value, known);
  return known;
}
const escaped = (key: string): string => key.replace(/[\\,:\]}>]/g, '\\$&');

/**
 * Marks a Python list. Lists of the data and of the expression are Python tuples; a few functions return Python lists,
 * which cannot be keys and never equal a tuple.
 */
const lists = new WeakSet<Value[]>();
/** Marks a list as changeable, so that it cannot be a key. Returns it. */
export function changeable(items: Value[]): Value[] {
  lists.add(items);
  return items;
}
const isChangeable = (items: Value[]): boolean => lists.has(items);

/** A map that keeps the insertion order of its keys. */
export class Dict {
  readonly #entries = new Map<string, [Value, Value]>();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of entries) {
      const id = valueKey(key);
      const before = this.#entries.get(id);
      this.#entries.set(id, [before ? before[0] : key, value]);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: Value): boolean {
    return this.#entries.has(valueKey(key));
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(valueKey(key))?.[1];
  }

  entries(): Iterable<[Value, Value]> {
    return this.#entries.values();
  }
}

/** A set. Equal values are one item. */
export class SetValue {
  readonly #items = new Map<string, Value>();

  constructor(items: Iterable<Value> = []) {
    for (const item of items) {
      const id = valueKey(item);
      if (!this.#items.has(id)) this.#items.set(id, item);
    }
  }

  get size(): number {
    return this.#items.size;
  }

  has(value: Value): boolean {
    return this.#items.has(valueKey(value));
  }

  items(): Iterable<Value> {
    return this.#items.values();
  }
}

/** A lazy sequence that can be read once. */
export class Once {
  readonly #iterator: Iterator<Value>;

  constructor(source: Iterable<Value>) {
    this.#iterator = source[Symbol.iterator]();
  }

  [Symbol.iterator](): Iterator<Value> {
    // Has no `return`, so that a reader that stops early does not end it: the rest can be read later.
    return { next: () => this.#iterator.next() };
  }
}

/** A lazy sequence that can be read any number of times. */
export class Remembered extends Once {
  readonly #items: Value[] = [];

  override [Symbol.iterator](): Iterator<Value> {
    let index = 0;
    const source = super[Symbol.iterator]();
    return {
      next: () => {
        if (index === this.#items.length) {
          const { value, done } = source.next();
          if (done) return { value: undefined, done: true };
          this.#items.push(value);
        }
        index += 1;
        return { value: this.#items[index - 1] ?? null, done: false };
      },
    };
  }
}

/** The `keys`, `values` and `items` of a map: neither lists nor limited to one reading. */
export class View {
  readonly kind: 'keys' | 'values' | 'items';
  readonly dict: Dict;

  constructor(kind: View['kind'], dict: Dict) {
    this.kind = kind;
    this.dict = dict;
  }

  *[Symbol.iterator](): Iterator<Value> {
    for (const [key, value] of this.dict.entries()) {
      yield this.kind === 'keys' ? key : this.kind === 'values' ? value : [key, value];
    }
  }
}

/** `a => b`, both evaluated. */
export class Rule {
  readonly source: Value;
  readonly destination: Value;

  constructor(source: Value, destination: Value) {
    this.source = source;
    this.destination = destination;
  }
}

/** The result of `orderBy`, sorted when first read so that `thenBy` can add to it. */
export class Ordering {
  readonly #source: Iterable<Value>;
  readonly #compare: (left: Value, right: Value, fields: readonly OrderingField[]) => number;
  readonly fields: OrderingField[] = [];
  #sorted: Value[] | undefined;

  constructor(
    source: Iterable<Value>,
    compare: (left: Value, right: Value, fields: readonly OrderingField[]) => number,
  ) {
    this.#source = source;
    this.#compare = compare;
  }

  [Symbol.iterator](): Iterator<Value> {
    this.#sorted ??= [...this.#source].sort((left, right) => this.#compare(left, right, this.fields));
    return this.#sorted[Symbol.iterator]();
  }
}
/** One key of an order. */
export interface OrderingField {
  readonly select: (value: Value) => Value;
  readonly ascending: boolean;
}

/** Values whose items can be iterated. */
export type Listing = Value[] | SetValue | Once | View | Ordering;

/** True for a value whose items can be iterated. */
export function isListing(value: Value): value is Listing {
  return (
    Array.isArray(value) ||
    value instanceof Once ||
    value instanceof View ||
    value instanceof SetValue ||
    value instanceof Ordering
  );
}

/** The items. A sequence can be iterated once. */
export const iterate = (value: Listing): Iterable<Value> => (value instanceof SetValue ? value.items() : value);

/** The value as Python's `bool` sees it. */
export function truth(value: Value): boolean {
  if (value === null || value === false || value === '' || value === 0n || value === 0) return false;
  if (value instanceof TimeSpan) return value.micros !== 0n;
  if (Array.isArray(value)) return value.length > 0;
  if (value instanceof Dict || value instanceof SetValue) return value.size > 0;
  return value instanceof View ? value.dict.size > 0 : true;
}

const isNumeric = (value: Value): value is bigint | number | boolean =>
  typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean';
const numeric = (value: bigint | number | boolean): bigint | number =>
  typeof value === 'boolean' ? BigInt(value) : value;

/** Compares as Python's `==`: deeply, and true equals 1. */
export function equal(a: Value, b: Value): boolean {
  if (a === b) return true;
  // oxlint-disable-next-line eqeqeq -- an integer and a float of one value are equal
  if (isNumeric(a) && isNumeric(b)) return numeric(a) == numeric(b);
  if (Array.isArray(a) && Array.isArray(b)) {
    return (
      a.length === b.length &&
      isChangeable(a) === isChangeable(b) &&
      a.every((item, index) => equal(item, b[index] ?? null))
    );
  }
  if (a instanceof Dict && b instanceof Dict) {
    if (a.size !== b.size) return false;
    for (const [key, value] of a.entries()) {
      const other = b.get(key);
      if (other === undefined || !equal(value, other)) return false;
    }
    return true;
  }
  if (a instanceof Moment && b instanceof Moment) return a.instant === b.instant;
  if (a instanceof TimeSpan && b instanceof TimeSpan) return a.micros === b.micros;
  const left = asSet(a);
  const right = asSet(b);
  if (!left || !right) return false;
  return left.size === right.size && Array.from(left.items()).every((item) => right.has(item));
}

/** The value as a set, which may be the keys or items of a map. */
export function asSet(value: Value): SetValue | undefined {
  if (value instanceof SetValue) return value;
  return value instanceof View && value.kind !== 'values' ? new SetValue(value) : undefined;
}

/** True when an item equals the value. */
export function includes(list: Iterable<Value>, value: Value): boolean {
  for (const item of list) if (equal(item, value)) return true;
  return false;
}

/** Names the kind of a value for messages. */
export function valueKind(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'bigint') return 'an integer';
  if (typeof value === 'number') return 'a float';
  if (typeof value === 'string') return 'a string';
  if (typeof value === 'boolean') return 'a boolean';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Dict) return 'a map';
  if (value instanceof SetValue) return 'a set';
  if (value instanceof Moment) return 'a datetime';
  if (value instanceof TimeSpan) return 'a timespan';
  return isListing(value) ? 'a sequence' : 'an object';
}

const viewNames = { keys: 'KeysView', values: 'ValuesView', items: 'ItemsView' };
const flagNames = { i: 're.IGNORECASE', m: 're.MULTILINE', s: 're.DOTALL' };
function patternText({ source, flags }: Pattern, quote: (text: string) => string): string {
  const names = Object.entries(flagNames).flatMap(([flag, name]) => (flags.includes(flag) ? name : []));
  return `re.compile(${[quote(source), ...(names.length > 0 ? [names.join('|')] : [])].join(', ')})`;
}

/** Python's `repr`. */
export function representation(value: Value, quote: (text: string) => string): string {
  const inner = (item: Value): string => representation(item, quote);
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') return floatText(value);
  if (typeof value === 'string') return quote(value);
  if (Array.isArray(value) && isChangeable(value)) return `[${value.map(inner).join(', ')}]`;
  if (Array.isArray(value)) return `(${value.map(inner).join(', ')}${value.length === 1 ? ',' : ''})`;
  if (value instanceof Dict) {
    return `{${Array.from(value.entries(), ([key, item]) => `${inner(key)}: ${inner(item)}`).join(', ')}}`;
  }
  if (value instanceof SetValue) {
    return value.size === 0 ? 'frozenset()' : `frozenset({${Array.from(value.items(), inner).join(', ')}})`;
  }
  if (value instanceof View) return `${viewNames[value.kind]}(${inner(value.dict)})`;
  if (value instanceof Pattern) return patternText(value, quote);
  return fault(why`${stated(valueKind(value))} has no text`);
}
