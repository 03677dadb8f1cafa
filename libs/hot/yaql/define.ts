/** Definition of a library function: its name, how it is called, its parameters, its code. */
import { why } from '../evaluate/reason.ts';
import type { Call, FunctionDefinition } from './call.ts';
import { fault } from './fault.ts';
import { signature } from './signature.ts';
import { Dict, isListing, iterate, type Listing, type Value } from './value.ts';

/** A `method` follows a dot, a `function` does not, `both` may. `rules`: takes `a => b` as positional arguments. */
export type Manner = 'function' | 'method' | 'both';

/** A form of a function. `takes` is its signature as text: names and kinds. */
export function define(
  name: string,
  as: Manner,
  takes: string,
  run: (values: Value[], call: Call) => Value,
  rules = false,
): FunctionDefinition {
  return { name, as, signature: signature(takes), run, rules };
}

/** The kinds are already checked against the signature when these are called. */
export const listing = (value: Value | undefined): Iterable<Value> => iterate(value as Listing);
/** The argument as a list. */
export const listValue = (value: Value | undefined): Value[] => [...listing(value)];
/** The argument as text, which the signature has checked. */
export const text = (value: Value | undefined): string => value as string;
/** The argument as a map, which the signature has checked. */
export const mapValue = (value: Value | undefined): Dict => value as Dict;
/** Booleans count as integers. */
export const whole = (value: Value | undefined): number => Number(value);
/** The argument as a number, which the signature has checked. */
export const numeric = (value: Value | undefined): number | bigint => value as number | bigint;

/** Characters, not UTF-16 units, because positions count as in Python. */
export const characters = (value: string): string[] =>
  /[\ud800-\udfff]/.test(value) ? Array.from(value) : value.split('');

/** Iterates as Python does: also the characters of a string and the keys of a map. */
export function elements(value: Value): Value[] | undefined {
  if (isListing(value)) return listValue(value);
  if (value instanceof Dict) return Array.from(value.entries(), ([key]) => key);
  return typeof value === 'string' ? characters(value) : undefined;
}

/** Refuses an empty collection. @throws YaqlFault */
export function empty(): never {
  return fault(why`The collection is empty`);
}
