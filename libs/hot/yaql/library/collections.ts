/** Functions on lists, maps and sets: create them, read from them, return changed copies. */
import { stated, why } from '../../evaluate/reason.ts';
import type { Call, FunctionDefinition } from '../call.ts';
import { define, elements, listValue, listing, mapValue, whole } from '../define.ts';
import { fault } from '../fault.ts';
import { tooMuchMemory } from '../../limits.ts';
import {
  asSet,
  changeable,
  Dict,
  equal,
  includes,
  isListing,
  Once,
  Rule,
  SetValue,
  type Value,
  View,
} from '../value.ts';

/** Expands sequences that can be read once; lists in them stay lists. */
function* spread(items: Iterable<Value>): Generator<Value> {
  for (const item of items) {
    if (item instanceof Once) yield* spread(item);
    else yield item;
  }
}

function* flatten(items: Iterable<Value>, { machine }: Call, depth = 0): Generator<Value> {
  if (depth > 100) fault(why`Lists in lists are too deep`);
  for (const item of items) {
    machine.step();
    if (isListing(item)) yield* flatten(listing(item), { machine } as Call, depth + 1);
    else yield item;
  }
}

const once = (source: () => Iterable<Value>): Once =>
  new Once({
    *[Symbol.iterator]() {
      yield* source();
    },
  });

const pairs = (rules: readonly Value[]): [Value, Value][] =>
  rules.map((rule) => (rule instanceof Rule ? [rule.source, rule.destination] : fault(why`Not a pair`)));

function pairOf(item: Value): [Value, Value] {
  const parts = elements(item) ?? [];
  const [key, value] = parts;
  return key === undefined || value === undefined ? fault(why`A map is made of pairs`) : [key, value];
}

const at = (items: readonly Value[], index: number): Value =>
  items.at(index) ?? (index < items.length && index >= -items.length ? null : fault(why`list index out of range`));

function lookUp(dict: Dict, key: Value): Value {
  const value = dict.get(key);
  return value === undefined
    ? fault(typeof key === 'string' ? why`KeyError: '${key}'` : why`KeyError: no such key`)
    : value;
}

const inRange = (index: number, position: number, count: number): boolean =>
  count >= 0 ? index >= position && index < position + count : index >= position;

function* replaced(items: Iterable<Value>, position: number, values: Iterable<Value>, count: number): Generator<Value> {
  let [index, done] = [0, false];
  for (const item of items) {
    if (!inRange(index, position, count)) yield item;
    else if (!done) {
      yield* values;
      done = true;
    }
    index += 1;
  }
}

function* inserted(
  items: Iterable<Value>,
  position: number,
  values: Iterable<Value>,
  before: boolean,
): Generator<Value> {
  let index = -1;
  if (before && position < 0) yield* values;
  for (const item of items) {
    index += 1;
    if (index === position) yield* values;
    yield item;
  }
  if (position > index) yield* values;
}

function insertInList(items: Value[], position: number, value: Value): Value[] {
  const copy = [...items];
  copy.splice(position < 0 ? Math.max(0, copy.length + position) : position, 0, value);
  return changeable(copy);
}

const without = (dict: Dict, keys: Iterable<Value>): Dict => {
  const gone = new SetValue(keys);
  return new Dict([...dict.entries()].filter(([key]) => !gone.has(key)));
};

function plus(left: Value | undefined, right: Value | undefined): Value {
  if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
  if (left instanceof SetValue && right instanceof SetValue) return new SetValue([...left.items(), ...right.items()]);
  return once(function* () {
    yield* listing(left);
    yield* listing(right);
  });
}

function timesList(items: Value[], count: number, { machine }: Call): Value {
  const { memory } = machine.work.limits;
  const bytes = count * (40 + 8 * items.length) - (count - 1) * 56;
  if (memory >= 0 && bytes > memory) fault(why`${stated(tooMuchMemory(memory))}`);
  machine.work.spend(Math.max(0, count) * (1 + items.length));
  return Array.from({ length: Math.max(0, count) }, () => items).flat();
}

const set = (value: Value | undefined): SetValue => asSet(value ?? null) ?? new SetValue();

const maps: FunctionDefinition[] = [
  define('dict', 'function', '*args:rule', (rules) => new Dict(pairs(rules)), true),
  define('#map', 'function', '*args:rule', (rules) => new Dict(pairs(rules)), true),
  define('dict', 'function', 'items:listing', ([items]) => new Dict(Array.from(listing(items), pairOf)), true),
  define(
    'toDict',
    'method',
    'collection:listing, keySelector:lambda, valueSelector:lambda=null',
    ([items], call) =>
      new Dict(
        Array.from(listing(items), (item) => [call.lambda(1)(item), call.given(2) ? call.lambda(2)(item) : item]),
      ),
  ),
  define('#indexer', 'function', 'dict:dict, key:any', ([dict, key = null]) => lookUp(mapValue(dict), key)),
  define(
    '#indexer',
    'function',
    'dict:dict, key:any, default:any',
    ([dict, key = null, other = null]) => mapValue(dict).get(key) ?? (mapValue(dict).has(key) ? null : other),
  ),
  define('get', 'method', 'dict:dict, key:any, default:any=null', ([dict, key = null, other = null]) =>
    mapValue(dict).has(key) ? (mapValue(dict).get(key) ?? null) : other,
  ),
  define(
    'set',
    'method',
    'dict:dict, key:any, value:any',
    ([dict, key = null, value = null]) => new Dict([...mapValue(dict).entries(), [key, value]]),
    true,
  ),
  define(
    'set',
    'method',
    'dict:dict, replacements:dict',
    ([dict, more]) => new Dict([...mapValue(dict).entries(), ...mapValue(more).entries()]),
    true,
  ),
  define(
    'set',
    'method',
    'dict:dict, *args:rule',
    ([dict, ...rules]) => new Dict([...mapValue(dict).entries(), ...pairs(rules)]),
    true,
  ),
  define('keys', 'method', 'dict:dict', ([dict]) => new View('keys', mapValue(dict))),
  define('values', 'method', 'dict:dict', ([dict]) => new View('values', mapValue(dict))),
  define('items', 'method', 'dict:dict', ([dict]) => new View('items', mapValue(dict))),
  define('containsKey', 'method', 'dict:dict, key:any', ([dict, key = null]) => mapValue(dict).has(key)),
  define('containsValue', 'method', 'dict:dict, value:any', ([dict, value = null]) =>
    includes(new View('values', mapValue(dict)), value),
  ),
  define(
    '#operator_+',
    'function',
    'left:dict, right:dict',
    ([a, b]) => new Dict([...mapValue(a).entries(), ...mapValue(b).entries()]),
  ),
  define('isDict', 'function', 'arg:any', ([a]) => a instanceof Dict),
  define('len', 'both', 'dict:dict', ([dict]) => BigInt(mapValue(dict).size)),
  define('delete', 'method', 'dict:dict, *keys:any', ([dict, ...keys]) => without(mapValue(dict), keys)),
  define('deleteAll', 'method', 'dict:dict, keys:listing', ([dict, keys]) => without(mapValue(dict), listing(keys))),
];

function contains(items: Value, value: Value): boolean {
  if (items instanceof View && items.kind === 'items') {
    const pair = elements(value) ?? [];
    const [key, item] = pair;
    if (key === undefined || item === undefined || pair.length > 2)
      return fault(why`Only a pair can be an item of a map`);
    const found = items.dict.get(key);
    return found !== undefined && equal(found, item);
  }
  const asOne = asSet(items);
  return asOne ? asOne.has(value) : includes(listing(items), value);
}

const lists: FunctionDefinition[] = [
  define('list', 'function', '*args:any', (items) => [...spread(items)]),
  define('#list', 'function', '*args:any', (items) => items),
  define('flatten', 'method', 'collection:listing', ([items], call) => once(() => flatten(listing(items), call))),
  define('toList', 'method', 'collection:listing', ([items]) => listValue(items)),
  define('#indexer', 'function', 'list:list, index:int', ([items, index]) => at(items as Value[], whole(index))),
  define('#operator_in', 'function', 'value:any, collection:listing', ([value = null, items = null]) =>
    contains(items, value),
  ),
  define('contains', 'method', 'collection:listing, value:any', ([items = null, value = null]) =>
    contains(items, value),
  ),
  define('#operator_+', 'function', 'left:listing, right:listing', ([a, b]) => plus(a, b)),
  define('#operator_*', 'function', 'left:list, right:int', ([a, b], call) => timesList(a as Value[], whole(b), call)),
  define('#operator_*', 'function', 'left:int, right:list', ([a, b], call) => timesList(b as Value[], whole(a), call)),
  define('isList', 'function', 'arg:any', ([a]) => Array.isArray(a)),
  define('len', 'both', 'sequence:list', ([items]) => BigInt((items as Value[]).length)),
  define('delete', 'method', 'collection:listing, position:int, count:int=1', ([items, position, count]) =>
    once(() => replaced(listing(items), whole(position), [], whole(count))),
  ),
  define(
    'replace',
    'method',
    'collection:listing, position:int, value:any, count:int=1',
    ([items, position, value = null, count]) =>
      once(() => replaced(listing(items), whole(position), [value], whole(count))),
  ),
  define(
    'replaceMany',
    'method',
    'collection:listing, position:int, values:listing, count:int=1',
    ([items, position, values, count]) =>
      once(() => replaced(listing(items), whole(position), listing(values), whole(count))),
  ),
  define('insert', 'method', 'collection:nonset, position:int, value:any', ([items, position, value = null]) =>
    once(() => inserted(listing(items), whole(position), [value], false)),
  ),
  define('insert', 'method', 'collection:list, position:int, value:any', ([items, position, value = null]) =>
    insertInList(items as Value[], whole(position), value),
  ),
  define('insertMany', 'method', 'collection:listing, position:int, values:listing', ([items, position, values]) =>
    once(() => inserted(listing(items), whole(position), listing(values), true)),
  ),
];

const sets: FunctionDefinition[] = [
  define('isSet', 'function', 'arg:any', ([a = null]) => asSet(a) !== undefined),
  define('set', 'function', '*args:any', (items) => new SetValue(spread(items))),
  define('toSet', 'method', 'collection:listing', ([items]) => new SetValue(listing(items))),
  define('len', 'both', 'set:set', ([a]) => BigInt(set(a).size)),
  define('add', 'method', 'set:frozen, *values:any', ([a, ...values]) => new SetValue([...set(a).items(), ...values])),
  define('remove', 'method', 'set:frozen, *values:any', ([a, ...values]) => difference(set(a), new SetValue(values))),
  define('union', 'method', 'left:frozen, right:set', ([a, b]) => new SetValue([...set(a).items(), ...set(b).items()])),
  define(
    'intersect',
    'method',
    'left:frozen, right:set',
    ([a, b]) => new SetValue([...set(a).items()].filter((item) => set(b).has(item))),
  ),
  define('difference', 'method', 'left:frozen, right:set', ([a, b]) => difference(set(a), set(b))),
  define('#operator_-', 'function', 'left:frozen, right:set', ([a, b]) => difference(set(a), set(b))),
  define(
    'symmetricDifference',
    'method',
    'left:frozen, right:set',
    ([a, b]) => new SetValue([...difference(set(a), set(b)).items(), ...difference(set(b), set(a)).items()]),
  ),
];
const difference = (a: SetValue, b: SetValue): SetValue => new SetValue([...a.items()].filter((item) => !b.has(item)));

/** The functions of this file. */
export const yaqlCollectionFunctions: FunctionDefinition[] = [...maps, ...lists, ...sets];
