/** Queries on sequences. */
import { why } from '../../evaluate/reason.ts';
import type { Call, FunctionDefinition } from '../call.ts';
import { define, empty, listValue, listing, mapValue, whole } from '../define.ts';
import { fault } from '../fault.ts';
import {
  accumulate,
  count,
  counting,
  cut,
  distinct,
  first,
  generate,
  generateMany,
  groups,
  index,
  joinSequences,
  lazily,
  numbered,
  reduce,
  select,
  selectMany,
  skip,
  skipWhile,
  sliceWhere,
  splitWhere,
  take,
  takeWhile,
  where,
  zip,
} from '../sequences.ts';
import {
  changeable,
  Dict,
  equal,
  Once,
  Ordering,
  Remembered,
  truth,
  type OrderingField,
  type Value,
} from '../value.ts';

const given = (found: Value | undefined, other: Value | undefined): Value =>
  found !== undefined ? found : other !== undefined ? other : empty();

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
      if (!(left instanceof Dict)) return fault(why`Cannot merge a map with something else`);
      return [key, merge(left, right, { ...options, levels: levels === 0 ? 0 : levels - 1 })];
    }
    if (levels !== 1 && Array.isArray(right)) {
      return Array.isArray(left) ? [key, lists(left, right)] : fault(why`Cannot merge a list with something else`);
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

const folding = (name: string, by: string): FunctionDefinition =>
  define(name, 'method', 'collection:listing, initial:any=nothing', ([items, initial], call) =>
    reduce(listing(items), (a = null, b = null) => call.machine.call(by, [a, b]), call.given(1) ? initial : undefined),
  );

const aliased = (
  names: readonly string[],
  ...rest: [FunctionDefinition['as'], string, FunctionDefinition['run']]
): FunctionDefinition[] => names.map((name) => define(name, ...rest));

/** The functions of this file. */
export const queryFunctions: FunctionDefinition[] = [
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
      : fault(found.length === 0 ? why`The collection is empty` : why`Collection contains more than one item`);
  }),
  define('last', 'method', 'collection:listing, default:any=nothing', ([items, other = null], call) =>
    given(listValue(items).at(-1), call.given(1) ? other : undefined),
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
    ([left, right], call) => lazily(() => joinSequences(listing(left), listing(right), call.lambda(2), call.lambda(3))),
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
    lazily(() => splitWhere(listValue(items), call.lambda(1))),
  ),
  define('sliceWhere', 'method', 'collection:listing, predicate:lambda', ([items], call) =>
    lazily(() => sliceWhere(listValue(items), call.lambda(1))),
  ),
  define('splitAt', 'method', 'collection:listing, index:int', ([items, at]) => {
    const all = listValue(items);
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
  define('reverse', 'method', 'collection:listing', ([items]) => new Once(listValue(items).reverse())),
  define(
    'mergeWith',
    'method',
    'dict:dict, another:dict, listMerger:lambda=null, itemMerger:lambda=null, maxLevels:int=0',
    ([a, b, , , levels], call) =>
      merge(mapValue(a), mapValue(b), {
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
