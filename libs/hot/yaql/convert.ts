/** Converts JSON to the values of expressions and back. */
import { why } from '../evaluate/reason.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { exactNumber, isExact } from '@anneal/python/values/number.ts';
import { isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import { exactEntries } from '@anneal/python/values/record.ts';
import { toText } from './library/text.ts';
import type { YaqlMachine } from './call.ts';
import { fault } from './fault.ts';
import { Dict, isListing, iterate, type Listing, SetValue, type Value, View } from './value.ts';

/** The value of an expression. Numbers keep the difference between integers and floats, also as keys of a map. */
export function valueFromJson(value: Json): Value {
  if (isExact(value)) return /[.en]/.test(value.text) ? Number(value) : BigInt(value.text);
  if (typeof value === 'number') return Number.isInteger(value) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map(valueFromJson);
  if (!isPlainObject(value)) return value;
  return new Dict(
    exactEntries(value).map(([key, item]): [Value, Value] => [valueFromJson(key as Json), valueFromJson(item)]),
  );
}

/** Converts the result. Elements of sets must be plain, because lists and maps cannot be in a set. */
export function valueToJson(value: Value, machine: YaqlMachine, depth = 0): Json {
  if (depth > 100) return fault(why`The result is nested too deeply`);
  const inner = (item: Value): Json => valueToJson(item, machine, depth + 1);
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'bigint') return exactNumber(value);
  if (typeof value === 'number') return exactNumber(value);
  if (value instanceof Dict) {
    machine.limited(new View('items', value));
    return toRecord(Array.from(value.entries(), ([key, item]) => [keyText(key), inner(item)] as const));
  }
  if (!isListing(value)) return fault(why`The result is not data`);
  const items = Array.from(iterate(machine.limited(value) as Listing));
  const isSet = value instanceof SetValue || (value instanceof View && value.kind !== 'values');
  if (isSet && items.some((item) => isListing(item) || item instanceof Dict))
    return fault(why`unhashable type in a set`);
  return items.map(inner);
}

function keyText(key: Value): string {
  if (typeof key === 'string') return key;
  return isListing(key) || key instanceof Dict ? fault(why`A list or a map cannot be a key`) : toText(key);
}
