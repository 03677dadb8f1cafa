/** Functions for choices, names and sequencing: `and`, `switch`, `coalesce`, `let`, `->`. */
import { why } from '../../evaluate/reason.ts';
import type { Call, FunctionDefinition } from '../call.ts';
import { define, listValue, listing, mapValue, text, whole } from '../define.ts';
import { fault } from '../fault.ts';
import { YaqlNames } from '../names.ts';
import { Once, truth, type Value } from '../value.ts';

/** Each argument in order, evaluated when it is read. */
function* each(values: readonly Value[], call: Call): Generator<[number, Value]> {
  for (const index of values.keys()) yield [index, call.lambda(index)()];
}

const lazily = (source: () => Iterable<Value>): Once =>
  new Once({
    *[Symbol.iterator]() {
      yield* source();
    },
  });

function named(items: readonly Value[], { names, named: extra }: Call): YaqlNames {
  for (const [index, value] of items.entries()) names.set(String(index + 1), value);
  for (const [name, value] of extra) names.set(name, value);
  return names;
}

/** The functions of this file. */
export const controlFunctions: FunctionDefinition[] = [
  define('#operator_and', 'function', 'left:lambda, right:lambda', (_, call) => {
    const left = call.lambda(0)();
    return truth(left) ? call.lambda(1)() : left;
  }),
  define('#operator_or', 'function', 'left:lambda, right:lambda', (_, call) => {
    const left = call.lambda(0)();
    return truth(left) ? left : call.lambda(1)();
  }),
  define('#unary_not', 'function', 'arg:any', ([a = null]) => !truth(a)),
  define('bool', 'function', 'value:any', ([a = null]) => truth(a)),
  define('coalesce', 'function', '*args:lambda', (values, call) => {
    for (const [, value] of each(values, call)) if (value !== null) return value;
    return null;
  }),
  define('selectCase', 'function', '*args:lambda', (values, call) => {
    for (const [index, value] of each(values, call)) if (truth(value)) return BigInt(index);
    return BigInt(values.length);
  }),
  define('selectAllCases', 'function', '*args:lambda', (values, call) =>
    lazily(function* () {
      for (const [index, value] of each(values, call)) if (truth(value)) yield BigInt(index);
    }),
  ),
  define('examine', 'function', '*args:lambda', (values, call) =>
    lazily(function* () {
      for (const [, value] of each(values, call)) yield truth(value);
    }),
  ),
  define('switchCase', 'method', 'case:int, *args:lambda', ([index, ...rest], call) => {
    if (rest.length === 0) return null;
    const chosen = whole(index) >= 0 && whole(index) < rest.length ? whole(index) : rest.length - 1;
    return call.lambda(chosen + 1)();
  }),
  define('let', 'function', '*args:any, **', (items, call) => named(items, call)),
  define('with', 'function', '*args:any', (items, call) => named(items, call)),
  define('unpack', 'method', 'sequence:listing, *args:string', ([items, ...names], call) => {
    const all = names.length === 0 ? listValue(items) : firstOf(items, names.length + 1);
    if (names.length > 0 && all.length !== names.length)
      fault(why`Cannot unpack ${all.length} elements into ${names.length}`);
    for (const [index, value] of all.entries())
      call.names.set(names.length > 0 ? text(names[index]) : String(index + 1), value);
    return call.names;
  }),
  define('#operator_->', 'function', 'left:names, right:lambda', ([left], call) => call.within(1, left as YaqlNames)),
  define('def', 'function', 'name:string, func:lambda', ([name], call) => {
    const scope = call.names;
    scope.define(text(name), (items, extra) => {
      call.machine.step();
      const inner = new YaqlNames(scope);
      for (const [index, value] of items.entries()) inner.set(String(index + 1), value);
      for (const [key, value] of extra) inner.set(key, value);
      return call.within(1, inner);
    });
    return scope;
  }),
  define('assert', 'method', 'obj:any, condition:lambda, message:string=null', ([obj = null, , message], call) => {
    const kept = obj instanceof Once ? listValue(obj) : obj;
    return truth(call.lambda(1)(kept))
      ? kept
      : fault(typeof message === 'string' ? why`${message}` : why`Assertion failed`);
  }),
  define('call', 'function', 'name:string, args:list, kwargs:dict, receiver:any=nothing', (values, call) => {
    const [name, items, extra, receiver = null] = values;
    const method = call.given(3);
    const keywords = Array.from(mapValue(extra).entries()).flatMap(([key, value]): [string, Value][] =>
      typeof key === 'string' ? [[key, value]] : [],
    );
    return call.machine.call(text(name), [...(method ? [receiver] : []), ...(items as Value[])], {
      method,
      names: call.names,
      named: new Map(keywords),
    });
  }),
];

function firstOf(items: Value | undefined, most: number): Value[] {
  const found: Value[] = [];
  for (const item of listing(items)) {
    found.push(item);
    if (found.length === most) break;
  }
  return found;
}
