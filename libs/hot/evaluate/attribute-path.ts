/** The arguments of `get_attr`, and its path into a value, as Heat reads them. */
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { isPlainObject } from '@anneal/python/yaml/node.ts';
import { type PartialValue, type PartialMap, unknown } from './unknown.ts';

/** The arguments of a lookup in their order; `read` gives undefined for one whose value is not known. */
export function lookupArguments(
  argument: Expression,
  read: (item: Expression) => Json | undefined = writtenValue,
): (Json | undefined)[] {
  if (argument.kind === 'list') return argument.items.map(read);
  if (argument.kind !== 'literal') return [];
  return Array.isArray(argument.value) ? argument.value : [argument.value];
}

const writtenValue = (item: Expression): Json | undefined => (item.kind === 'literal' ? item.value : undefined);

/**
 * Follows a path. A missing part is null. A map takes only a text as key; a list or text takes only an integer as index,
 * from the end if negative, and a boolean counts as 0 or 1.
 */
export function walk(value: PartialValue, path: readonly Json[]): PartialValue {
  let at = value;
  for (const step of path) {
    if (at === unknown) return unknown;
    at = part(at, step) ?? null;
  }
  return at;
}

function part(value: Exclude<PartialValue, typeof unknown>, step: Json): PartialValue | undefined {
  if (isMap(value)) return typeof step === 'string' && Object.hasOwn(value, step) ? value[step] : undefined;
  const index = typeof step === 'boolean' ? Number(step) : step;
  if (typeof index !== 'number' || !Number.isInteger(index)) return undefined;
  return Array.isArray(value) || typeof value === 'string' ? value.at(index) : undefined;
}

const isMap = (value: PartialValue): value is PartialMap => isPlainObject(value);
