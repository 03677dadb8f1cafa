/** Questions to sequences. Most are worked out only as far as somebody reads them. */
import type { Call, Definition, Lambda } from './call.ts';
import { define, elements, empty, list, listing, map, whole } from './define.ts';
import { fault, YaqlFault } from './fault.ts';
import {
  changeable,
  Dict,
  equal,
  isListing,
  keyOf,
  Once,
  Ordering,
  Remembered,
  type OrderingField,
  truth,
  type Value,
} from './value.ts';

const lazily = (source: () => Iterable<Value>): Once =>
  new Once({
    *[Symbol.iterator]() {
      yield* source();
    },
  });

function* where(items: Iterable<Value>, predicate: Lambda): Generator<Value> {
  for (const item of items) if (truth(predicate(item))) yield item;
}
function* select(items: Iterable<Value>, selector: Lambda): Generator<Value> {
  for (const item of items) yield selector(item);
}
function* skip(items: Iterable<Value>, most: number): Generator<Value> {
  if (most < 0) fault('The number of items to skip must not be negative');
  let index = 0;
  for (const item of items) if (index++ >= most) yield item;
}
/** Stops before it reads one more than it gives. */
function* take(items: Iterable<Value>, most: number): Generator<Value> {
  if (most < 0) fault('The number of items must not be negative');
  const iterator = items[Symbol.iterator]();
  for (let index = 0; index < most; index += 1) {
    const { value, done } = iterator.next();
    if (done) return;
    yield value;
  }
}
export function* distinct(items: Iterable<Value>, key: Lambda | undefined): Generator<Value> {
  const seen = new Set<string>();
  for (const item of items) {
    const id = keyOf(key ? key(item) : item);
    if (seen.has(id)) continue;
    seen.add(id);
    yield item;
  }
}
function* numbered(items: Iterable<Value>, start: bigint): Generator<Value> {
  for (const item of items) yield changeable([start++, item]);
}
function* counting(start: bigint, stop: bigint | undefined, step: bigint, { machine }: Call): Generator<Value> {
  if (step === 0n && stop !== undefined) fault('range() arg 3 must not be zero');
  const before = (at: bigint): boolean => stop === undefined || (step > 0n ? at < stop : at > stop);
  for (let at = start; before(at); at += step) {
    machine.step();
    yield at;
  }
}
function* selectMany(items: Iterable<Value>, selector: Lambda): Generator<Value> {
  for (const item of items) {
    const inner = selector(item);
    if (isListing(inner)) yield* listing(inner);
    else yield inner;
  }
}
function* zip(columns: readonly Iterable<Value>[], fill: Value | undefined): Generator<Value> {
  const iterators = columns.map((column) => column[Symbol.iterator]());
  for (;;) {
    const row: Value[] = [];
    let ended = 0;
    for (const iterator of iterators) {
      const { value, done } = iterator.next();
      if (done && fill === undefined) return;
      if (done) ended += 1;
      row.push(done ? (fill ?? null) : value);
    }
    if (ended === iterators.length) return;
    yield row;
  }
}
function* join(
  left: Iterable<Value>,
  right: readonly Value[] | Iterable<Value>,
  predicate: Lambda,
  selector: Lambda,
): Generator<Value> {
  const others = Array.isArray(right) ? right : new Remembered(right);
  for (const item of left) {
    for (const other of others) if (truth(predicate(item, other))) yield selector(item, other);
  }
}
function* takeWhile(items: Iterable<Value>, predicate: Lambda): Generator<Value> {
  for (const item of items) {
    if (!truth(predicate(item))) return;
    yield item;
  }
}
function* skipWhile(items: Iterable<Value>, predicate: Lambda): Generator<Value> {
  let skipping = true;
  for (const item of items) {
    skipping = skipping && truth(predicate(item));
    if (!skipping) yield item;
  }
}
function* cut(items: Iterable<Value>, length: number): Generator<Value> {
  if (length < 0) fault('The length of a slice must not be negative');
  const iterator = { [Symbol.iterator]: (): Iterator<Value> => inner };
  const inner = items[Symbol.iterator]();
  for (;;) {
    const part = [...take(iterator, length)];
    if (part.length === 0) return;
    yield part;
  }
}
function* splitWhere(items: readonly Value[], predicate: Lambda): Generator<Value> {
  let start = 0;
  for (const [index, item] of items.entries()) {
    if (!truth(predicate(item))) continue;
    yield items.slice(start, index);
    start = index + 1;
  }
  if (start !== items.length) yield items.slice(start);
}
function* sliceWhere(items: readonly Value[], predicate: Lambda): Generator<Value> {
  let start = 0;
  let before: Value | undefined;
  for (const [index, item] of items.entries()) {
    const now = predicate(item);
    if (before !== undefined && !equal(now, before)) {
      yield items.slice(start, index);
      start = index;
    }
    before = now;
  }
  if (start !== items.length) yield items.slice(start);
}
function* accumulate(items: Iterable<Value>, selector: Lambda, seed: Value | undefined): Generator<Value> {
  const iterator = items[Symbol.iterator]();
  let total = seed;
  if (total === undefined) {
    const { value, done } = iterator.next();
    if (done) return fault('accumulate() of empty sequence with no initial value');
    total = value;
  }
  yield total;
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    total = selector(total, next.value);
    yield total;
  }
}
function* generate(initial: Value, call: Call): Generator<Value> {
  const seen = call.machine && call.given(4) ? new Set<string>() : undefined;
  for (let at = initial; truth(call.lambda(1)(at)); at = call.lambda(2)(at)) {
    call.machine.step();
    if (seen?.has(keyOf(at))) return;
    seen?.add(keyOf(at));
    yield call.given(3) ? call.lambda(3)(at) : at;
  }
}
function* generateMany(initial: Value, decycle: boolean, depthFirst: boolean, call: Call): Generator<Value> {
  const seen = decycle ? new Set<string>() : undefined;
  let queue: Value[] = [initial];
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    call.machine.step();
    if (seen?.has(keyOf(at))) continue;
    seen?.add(keyOf(at));
    yield call.given(2) ? call.lambda(2)(at) : at;
    const produced = call.lambda(1)(at);
    const more = elements(produced) ?? fault('The producer must give a collection');
    queue = depthFirst ? [...more, ...queue] : [...queue, ...more];
    if (queue.length > 10_000) fault('Expression consumed too much memory');
  }
}

function reduce(items: Iterable<Value>, selector: Lambda, seed: Value | undefined): Value {
  let total = seed;
  for (const item of items) total = total === undefined ? item : selector(total, item);
  return total === undefined ? fault('reduce() of empty iterable with no initial value') : total;
}

function first(items: Iterable<Value>): Value | undefined {
  const { value, done } = items[Symbol.iterator]().next();
  return done ? undefined : value;
}

const given = (found: Value | undefined, other: Value | undefined): Value =>
  found !== undefined ? found : other !== undefined ? other : empty();

function count(items: Iterable<Value>, { machine }: Call): bigint {
  let total = 0n;
  for (const _ of items) {
    machine.step();
    total += 1n;
  }
  return total;
}

function groups(call: Call, items: Iterable<Value>): Once {
  const found = new Map<string, [Value, Value[]]>();
  for (const item of items) {
    const value = call.given(2) ? call.lambda(2)(item) : item;
    const key = call.lambda(1)(item);
    const id = keyOf(key);
    const group = found.get(id);
    if (group) group[1].push(value);
    else found.set(id, [key, changeable([value])]);
  }
  const rows = [...found.values()];
  return lazily(() => (call.given(3) ? aggregated(rows, call.lambda(3)) : rows));
}

/** The aggregator takes the values of a group; one written for older releases takes the key too, and gives both back. */
function* aggregated(rows: readonly [Value, Value[]][], aggregator: Lambda): Generator<Value> {
  let failure: YaqlFault | undefined;
  let older = true;
  for (const [key, values] of rows) {
    if (!failure) {
      try {
        const result = aggregator(values);
        const looksOlder =
          values.length === 2 &&
          Array.isArray(result) &&
          result.length === 2 &&
          equal(result[0] ?? null, values[0] ?? null);
        if (!looksOlder) older = false;
        yield [key, result];
        continue;
      } catch (error) {
        if (!(error instanceof YaqlFault)) throw error;
        failure = error;
      }
    }
    if (!older) throw failure;
    const result = aggregator([key, values]);
    if (!isListing(result) || list(result).length !== 2) throw failure;
    yield result;
  }
}

function merge(
  a: Dict,
  b: Dict,
  options: { lists: (x: Value, y: Value) => Value; items: (x: Value, y: Value) => Value; levels: number },
): Dict {
  const { lists, items, levels } = options;
  const merged = Array.from(a.entries(), ([key, left]): [Value, Value] => {
    if (!b.has(key)) return [key, left];
    const right = b.get(key) ?? null;
    if (levels !== 1 && right instanceof Dict) {
      if (!(left instanceof Dict)) return fault('Cannot merge a map with something else');
      return [key, merge(left, right, { ...options, levels: levels === 0 ? 0 : levels - 1 })];
    }
    if (levels !== 1 && Array.isArray(right)) {
      return Array.isArray(left) ? [key, lists(left, right)] : fault('Cannot merge a list with something else');
    }
    return [key, items(left, right)];
  });
  return new Dict([...merged, ...Array.from(b.entries()).filter(([key]) => !a.has(key))]);
}

function ordering(ascending: boolean) {
  return ([items]: Value[], call: Call): Value => {
    const compare = (left: Value, right: Value, fields: readonly OrderingField[]): number => {
      for (const field of fields) {
        call.machine.step();
        const [a, b] = [field.select(left), field.select(right)];
        const sign =
          call.machine.call('#operator_<', [a, b]) === true
            ? -1
            : call.machine.call('#operator_>', [a, b]) === true
              ? 1
              : 0;
        if (sign !== 0) return field.ascending ? sign : -sign;
      }
      return 0;
    };
    const made = new Ordering(listing(items), compare);
    made.fields.push({ select: call.lambda(1), ascending });
    return made;
  };
}
const thenBy =
  (ascending: boolean) =>
  ([items]: Value[], call: Call): Value => {
    const made = items as Ordering;
    made.fields.push({ select: call.lambda(1), ascending });
    return made;
  };

const index = (items: Iterable<Value>, holds: (item: Value) => boolean, last: boolean): bigint => {
  let [at, found] = [0n, -1n];
  for (const item of items) {
    if (holds(item)) {
      if (!last) return at;
      found = at;
    }
    at += 1n;
  }
  return found;
};

const folding = (name: string, by: string): Definition =>
  define(name, 'method', 'collection:listing, initial:any=nothing', ([items, initial], call) =>
    reduce(listing(items), (a = null, b = null) => call.machine.call(by, [a, b]), call.given(1) ? initial : undefined),
  );

const aliased = (names: readonly string[], ...rest: [Definition['as'], string, Definition['run']]): Definition[] =>
  names.map((name) => define(name, ...rest));

export const queryFunctions: Definition[] = [
  ...aliased(['where', 'filter'], 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    lazily(() => where(listing(items), call.lambda(1))),
  ),
  ...aliased(['select', 'map'], 'method', 'collection:listing, selector:lambda', ([items], call) =>
    lazily(() => select(listing(items), call.lambda(1))),
  ),
  define('skip', 'method', 'collection:listing, count:int', ([items, n]) =>
    lazily(() => skip(listing(items), whole(n))),
  ),
  ...aliased(['limit', 'take'], 'method', 'collection:listing, count:int', ([items, n]) =>
    lazily(() => take(listing(items), whole(n))),
  ),
  define('append', 'both', 'collection:listing, *args:any', ([items, ...more]) =>
    lazily(() => [...listing(items), ...more]),
  ),
  define('distinct', 'both', 'collection:listing, keySelector:lambda=null', ([items], call) =>
    lazily(() => distinct(listing(items), call.given(1) ? call.lambda(1) : undefined)),
  ),
  define('enumerate', 'both', 'collection:listing, start:int?=0', ([items, start]) =>
    lazily(() => numbered(listing(items), BigInt(whole(start)))),
  ),
  define('any', 'both', 'collection:listing, predicate:lambda=null', ([items], call) => {
    for (const item of listing(items)) if (!call.given(1) || truth(call.lambda(1)(item))) return true;
    return false;
  }),
  define('all', 'both', 'collection:listing, predicate:lambda=null', ([items], call) => {
    for (const item of listing(items)) if (!truth(call.given(1) ? call.lambda(1)(item) : item)) return false;
    return true;
  }),
  define('concat', 'both', '*collections:listing', (collections) =>
    lazily(function* () {
      for (const items of collections) yield* listing(items);
    }),
  ),
  define('len', 'both', 'collection:once', ([items], call) => count(listing(items), call)),
  define('count', 'method', 'collection:listing', ([items], call) => count(listing(items), call)),
  define('memorize', 'method', 'collection:listing', ([items = null]) =>
    items instanceof Once ? new Remembered(items) : items,
  ),
  folding('sum', '#operator_+'),
  folding('max', 'max'),
  folding('min', 'min'),
  define('first', 'method', 'collection:listing, default:any=nothing', ([items, other = null], call) =>
    given(first(listing(items)), call.given(1) ? other : undefined),
  ),
  define('single', 'method', 'collection:listing', ([items]) => {
    const found = [...take(listing(items), 2)];
    return found.length === 1
      ? (found[0] ?? null)
      : fault(found.length === 0 ? 'The collection is empty' : 'Collection contains more than one item');
  }),
  define('last', 'method', 'collection:listing, default:any=nothing', ([items, other = null], call) =>
    given(list(items).at(-1), call.given(1) ? other : undefined),
  ),
  define('selectMany', 'method', 'collection:listing, selector:lambda', ([items], call) =>
    lazily(() => selectMany(listing(items), call.lambda(1))),
  ),
  define('range', 'function', 'stop:int', ([stop], call) => lazily(() => counting(0n, BigInt(whole(stop)), 1n, call))),
  define('range', 'function', 'start:int, stop:int, step:int=1', ([start, stop, step], call) =>
    lazily(() => counting(BigInt(whole(start)), BigInt(whole(stop)), BigInt(whole(step)), call)),
  ),
  define('sequence', 'function', 'start:int=0, step:int=1', ([start, step], call) =>
    lazily(() => counting(BigInt(whole(start)), undefined, BigInt(whole(step)), call)),
  ),
  define('orderBy', 'method', 'collection:listing, selector:lambda', ordering(true)),
  define('orderByDescending', 'method', 'collection:listing, selector:lambda', ordering(false)),
  define('thenBy', 'method', 'collection:ordering, selector:lambda', thenBy(true)),
  define('thenByDescending', 'method', 'collection:ordering, selector:lambda', thenBy(false)),
  define(
    'groupBy',
    'method',
    'collection:listing, keySelector:lambda, valueSelector:lambda=null, aggregator:lambda=null',
    ([items], call) => groups(call, listing(items)),
  ),
  define(
    'join',
    'method',
    'collection1:listing, collection2:listing, predicate:lambda, selector:lambda',
    ([left, right], call) => lazily(() => join(listing(left), listing(right), call.lambda(2), call.lambda(3))),
  ),
  define('zip', 'method', '*collections:listing', (columns) => lazily(() => zip(columns.map(listing), undefined))),
  define('zipLongest', 'method', '*collections:listing, **', (columns, { named }) =>
    lazily(() => zip(columns.map(listing), named.get('default') ?? null)),
  ),
  define('repeat', 'method', 'value:any, times:int=-1', ([value = null, times], { machine }) =>
    lazily(function* () {
      for (let done = 0; whole(times) < 0 || done < whole(times); done += 1) {
        machine.step();
        yield value;
      }
    }),
  ),
  define('cycle', 'method', 'collection:listing', ([items], { machine }) =>
    lazily(function* () {
      const seen: Value[] = [];
      for (const item of listing(items)) {
        seen.push(item);
        yield item;
      }
      for (let at = 0; seen.length > 0; at = (at + 1) % seen.length) {
        machine.step();
        yield seen[at] ?? null;
      }
    }),
  ),
  define('takeWhile', 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    lazily(() => takeWhile(listing(items), call.lambda(1))),
  ),
  define('skipWhile', 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    lazily(() => skipWhile(listing(items), call.lambda(1))),
  ),
  define('indexOf', 'method', 'collection:listing, item:any', ([items, item = null]) =>
    index(listing(items), (other) => equal(other, item), false),
  ),
  define('lastIndexOf', 'method', 'collection:listing, item:any', ([items, item = null]) =>
    index(listing(items), (other) => equal(other, item), true),
  ),
  define('indexWhere', 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    index(listing(items), (item) => truth(call.lambda(1)(item)), false),
  ),
  define('lastIndexWhere', 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    index(listing(items), (item) => truth(call.lambda(1)(item)), true),
  ),
  define('slice', 'method', 'collection:listing, length:int', ([items, length]) =>
    lazily(() => cut(listing(items), whole(length))),
  ),
  define('splitWhere', 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    lazily(() => splitWhere(list(items), call.lambda(1))),
  ),
  define('sliceWhere', 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    lazily(() => sliceWhere(list(items), call.lambda(1))),
  ),
  define('splitAt', 'method', 'collection:listing, index:int', ([items, at]) => {
    const all = list(items);
    return changeable([all.slice(0, whole(at)), all.slice(whole(at))]);
  }),
  ...aliased(
    ['aggregate', 'reduce'],
    'method',
    'collection:listing, selector:lambda, seed:any=nothing',
    ([items, , seed], call) => reduce(listing(items), call.lambda(1), call.given(2) ? seed : undefined),
  ),
  define('accumulate', 'method', 'collection:listing, selector:lambda, seed:any=nothing', ([items, , seed], call) =>
    lazily(() => accumulate(listing(items), call.lambda(1), call.given(2) ? seed : undefined)),
  ),
  define('reverse', 'method', 'collection:listing', ([items]) => new Once(list(items).reverse())),
  define(
    'mergeWith',
    'method',
    'dict:dict, another:dict, listMerger:lambda=null, itemMerger:lambda=null, maxLevels:int=0',
    ([a, b, , , levels], call) =>
      merge(map(a), map(b), {
        lists: call.given(2) ? call.lambda(2) : (x, y) => [...distinct([...listing(x), ...listing(y)], undefined)],
        items: call.given(3) ? call.lambda(3) : (_, y) => y,
        levels: whole(levels),
      }),
  ),
  define(
    'generate',
    'function',
    'initial:any, predicate:lambda, producer:lambda, selector:lambda=null, decycle:bool=false',
    ([initial = null, , , , decycle], call) =>
      lazily(() => generate(initial, { ...call, given: (at) => (at === 4 ? decycle === true : call.given(at)) })),
  ),
  define(
    'generateMany',
    'function',
    'initial:any, producer:lambda, selector:lambda=null, decycle:bool=false, depthFirst:bool=false',
    ([initial = null, , , decycle, depth], call) =>
      lazily(() => generateMany(initial, decycle === true, depth === true, call)),
  ),
  define('defaultIfEmpty', 'method', 'collection:listing, default:listing', ([items = null, other = null]) => {
    const all = items instanceof Once ? new Remembered(items) : items;
    return first(listing(all)) === undefined ? other : all;
  }),
];
