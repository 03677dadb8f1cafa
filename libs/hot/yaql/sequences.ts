/** Operations on sequences. Most are lazy: they evaluate only the elements that are read. */
import { why } from '../evaluate/reason.ts';
import type { Call, Lambda } from './call.ts';
import { elements, listValue, listing } from './define.ts';
import { fault, YaqlFault } from './fault.ts';
import { changeable, equal, isListing, valueKey, Once, Remembered, truth, type Value } from './value.ts';

/** A sequence that is made when it is first read, and can be read once. */
export const lazily = (source: () => Iterable<Value>): Once =>
  new Once({
    *[Symbol.iterator]() {
      yield* source();
    },
  });

/** The items for which the predicate is true. */
export function* where(items: Iterable<Value>, predicate: Lambda): Generator<Value> {
  for (const item of items) if (truth(predicate(item))) yield item;
}
/** The results of the selector. */
export function* select(items: Iterable<Value>, selector: Lambda): Generator<Value> {
  for (const item of items) yield selector(item);
}
/** The items after the first ones. @throws YaqlFault for a negative number */
export function* skip(items: Iterable<Value>, most: number): Generator<Value> {
  if (most < 0) fault(why`The number of items to skip must not be negative`);
  let index = 0;
  for (const item of items) if (index++ >= most) yield item;
}
/** Does not read beyond the last element that it returns. */
export function* take(items: Iterable<Value>, most: number): Generator<Value> {
  if (most < 0) fault(why`The number of items must not be negative`);
  const iterator = items[Symbol.iterator]();
  for (let index = 0; index < most; index += 1) {
    const { value, done } = iterator.next();
    if (done) return;
    yield value;
  }
}
/** The first item of each key. */
export function* distinct(items: Iterable<Value>, key: Lambda | undefined): Generator<Value> {
  const seen = new Set<string>();
  for (const item of items) {
    const id = valueKey(key ? key(item) : item);
    if (seen.has(id)) continue;
    seen.add(id);
    yield item;
  }
}
/** Pairs of a number and the item. */
export function* numbered(items: Iterable<Value>, start: bigint): Generator<Value> {
  for (const item of items) yield changeable([start++, item]);
}
/** Integers from `start`, without an end if `stop` is undefined. @throws YaqlFault for a step of 0 */
export function* counting(start: bigint, stop: bigint | undefined, step: bigint, { machine }: Call): Generator<Value> {
  if (step === 0n && stop !== undefined) fault(why`range() arg 3 must not be zero`);
  const before = (at: bigint): boolean => stop === undefined || (step > 0n ? at < stop : at > stop);
  for (let at = start; before(at); at += step) {
    machine.step();
    yield at;
  }
}
/** The results of the selector, with the items of a list one by one. */
export function* selectMany(items: Iterable<Value>, selector: Lambda): Generator<Value> {
  for (const item of items) {
    const inner = selector(item);
    if (isListing(inner)) yield* listing(inner);
    else yield inner;
  }
}
/** Rows of one item from each column. Ends with the shortest one, unless `fill` is given. */
export function* zip(columns: readonly Iterable<Value>[], fill: Value | undefined): Generator<Value> {
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
/** The results for every pair that the predicate accepts. */
export function* joinSequences(
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
/** The items before the first one that the predicate refuses. */
export function* takeWhile(items: Iterable<Value>, predicate: Lambda): Generator<Value> {
  for (const item of items) {
    if (!truth(predicate(item))) return;
    yield item;
  }
}
/** The items from the first one that the predicate refuses. */
export function* skipWhile(items: Iterable<Value>, predicate: Lambda): Generator<Value> {
  let skipping = true;
  for (const item of items) {
    skipping = skipping && truth(predicate(item));
    if (!skipping) yield item;
  }
}
/** Slices of this length; the last one may be shorter. */
export function* cut(items: Iterable<Value>, length: number): Generator<Value> {
  if (length < 0) fault(why`The length of a slice must not be negative`);
  const iterator = { [Symbol.iterator]: (): Iterator<Value> => inner };
  const inner = items[Symbol.iterator]();
  for (;;) {
    const part = [...take(iterator, length)];
    if (part.length === 0) return;
    yield part;
  }
}
/** Slices between the items that the predicate accepts, without these. */
export function* splitWhere(items: readonly Value[], predicate: Lambda): Generator<Value> {
  let start = 0;
  for (const [index, item] of items.entries()) {
    if (!truth(predicate(item))) continue;
    yield items.slice(start, index);
    start = index + 1;
  }
  if (start !== items.length) yield items.slice(start);
}
/** Slices that end where the result of the predicate changes. */
export function* sliceWhere(items: readonly Value[], predicate: Lambda): Generator<Value> {
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
/** Every intermediate result of a reduction. */
export function* accumulate(items: Iterable<Value>, selector: Lambda, seed: Value | undefined): Generator<Value> {
  const iterator = items[Symbol.iterator]();
  let total = seed;
  if (total === undefined) {
    const { value, done } = iterator.next();
    if (done) return fault(why`accumulate() of empty sequence with no initial value`);
    total = value;
  }
  yield total;
  for (let next = iterator.next(); !next.done; next = iterator.next()) {
    total = selector(total, next.value);
    yield total;
  }
}
/** Values from `initial` on, while the predicate is true. */
export function* generate(initial: Value, call: Call): Generator<Value> {
  const seen = call.machine && call.given(4) ? new Set<string>() : undefined;
  for (let at = initial; truth(call.lambda(1)(at)); at = call.lambda(2)(at)) {
    call.machine.step();
    if (seen?.has(valueKey(at))) return;
    seen?.add(valueKey(at));
    yield call.given(3) ? call.lambda(3)(at) : at;
  }
}
/** The values of a tree, from its root on. */
export function* generateMany(initial: Value, decycle: boolean, depthFirst: boolean, call: Call): Generator<Value> {
  const seen = decycle ? new Set<string>() : undefined;
  let queue: Value[] = [initial];
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    call.machine.step();
    if (seen?.has(valueKey(at))) continue;
    seen?.add(valueKey(at));
    yield call.given(2) ? call.lambda(2)(at) : at;
    const produced = call.lambda(1)(at);
    const more = elements(produced) ?? fault(why`The producer must give a collection`);
    queue = depthFirst ? [...more, ...queue] : [...queue, ...more];
    if (queue.length > 10_000) fault(why`Expression consumed too much memory`);
  }
}

/** The result of the selector over all items. @throws YaqlFault without items and seed */
export function reduce(items: Iterable<Value>, selector: Lambda, seed: Value | undefined): Value {
  let total = seed;
  for (const item of items) total = total === undefined ? item : selector(total, item);
  return total === undefined ? fault(why`reduce() of empty iterable with no initial value`) : total;
}

/** The first item. Undefined when there is none. */
export function first(items: Iterable<Value>): Value | undefined {
  const { value, done } = items[Symbol.iterator]().next();
  return done ? undefined : value;
}

/** The number of items. Each costs a step. */
export function count(items: Iterable<Value>, { machine }: Call): bigint {
  let total = 0n;
  for (const _ of items) {
    machine.step();
    total += 1n;
  }
  return total;
}

/** Pairs of a key and the values of that key. */
export function groups(call: Call, items: Iterable<Value>): Once {
  const found = new Map<string, [Value, Value[]]>();
  for (const item of items) {
    const value = call.given(2) ? call.lambda(2)(item) : item;
    const key = call.lambda(1)(item);
    const id = valueKey(key);
    const group = found.get(id);
    if (group) group[1].push(value);
    else found.set(id, [key, changeable([value])]);
  }
  const rows = [...found.values()];
  return lazily(() => (call.given(3) ? aggregated(rows, call.lambda(3)) : rows));
}

/**
 * Calls the aggregator with the values of a group. One written for older releases takes key and values, and returns
 * both.
 */
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
    if (!isListing(result) || listValue(result).length !== 2) throw failure;
    yield result;
  }
}

/** The position of the first or the last item that holds; -1 when none does. */
export const index = (items: Iterable<Value>, holds: (item: Value) => boolean, last: boolean): bigint => {
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
