/** A JSON Patch (RFC 6902: add, replace, remove, test) over fields that have defaults. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { NodePatch } from './calls/nodes.ts';
import type { Mistake } from './errors.ts';
import { isObject, type Json, type JsonObject } from './json.ts';
import { joinRecords, withoutKey } from './ordered-map.ts';

/** The fields that a patch may change, and the values that the removal of a field restores. */
export interface PatchedFields {
  readonly names: readonly string[];
  readonly defaults: JsonObject;
}

/** The fields after all operations, and each operation that is impossible. */
export function patched(
  fields: JsonObject,
  patch: NodePatch,
  allowed: PatchedFields,
): { readonly result: JsonObject; readonly mistakes: Mistake[] } {
  const mistakes: Mistake[] = [];
  // Each operation makes new holders.
  let result = fields;
  for (const [at, operation] of patch.entries()) {
    try {
      result = applied(result, operation, allowed);
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      mistakes.push({ code: 'invalid_patch', path: `[${at}].path`, message: error.message });
    }
  }
  return { result, mistakes };
}

class Refused extends Error {}

/** @throws Refused with the reason. */
function applied(
  fields: JsonObject,
  operation: NodePatch[number],
  { names: known, defaults }: PatchedFields,
): JsonObject {
  const { path } = operation;
  const [root, ...names] = path.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const [name] = names;
  if (root !== '' || name === undefined || names.includes('')) throw new Refused(`${path} is not the path of a field`);
  if (!known.includes(name)) {
    throw new Refused(`Cannot patch /${name}. Only the following can be updated: ${known.join(', ')}`);
  }
  const changed = changedIn(fields, names, operation);
  return names.length === 1 ? { ...defaults, ...(changed as JsonObject) } : (changed as JsonObject);
}

/** The holder after an operation at the path below it. */
function changedIn(holder: Json | undefined, names: readonly string[], operation: NodePatch[number]): Json {
  const { op, path, value } = operation;
  const [name = '', ...below] = names;
  if (Array.isArray(holder)) return changedItems(holder, names, operation);
  if (!isObject(holder)) throw new Refused(`${path} does not exist`);
  if (below.length > 0) {
    const inner = Object.hasOwn(holder, name) ? holder[name] : undefined;
    return joinRecords(holder, { [name]: changedIn(inner, below, operation) });
  }
  if (op !== 'add' && !Object.hasOwn(holder, name)) throw new Refused(`can't ${op} a non-existent object '${name}'`);
  if (op === 'remove') return withoutKey(holder, name);
  if (value === undefined) throw new Refused(`${op} needs a value`);
  if (op === 'test') return tested(holder, holder[name], operation);
  return joinRecords(holder, { [name]: value });
}

/** The list after an operation on an item, or on what an item holds. `-` is the place behind the last item. */
function changedItems(list: readonly Json[], names: readonly string[], operation: NodePatch[number]): Json {
  const { op, path, value } = operation;
  const [name = '', ...below] = names;
  const isEnd = name === '-' && op === 'add' && below.length === 0;
  const at = isEnd ? list.length : /^(?:0|[1-9]\d{0,5})$/.test(name) ? Number(name) : -1;
  const most = op === 'add' && below.length === 0 ? list.length : list.length - 1;
  if (at < 0 || at > most) throw new Refused(`${path} does not exist: the list has ${list.length} items`);
  if (below.length > 0) return list.with(at, changedIn(list[at], below, operation));
  if (op === 'remove') return list.toSpliced(at, 1);
  if (value === undefined) throw new Refused(`${op} needs a value`);
  if (op === 'test') return tested([...list], list[at], operation);
  return op === 'add' ? list.toSpliced(at, 0, value) : list.with(at, value);
}

function tested(holder: Json, found: Json | undefined, { path, value }: NodePatch[number]): Json {
  if (isDeepStrictEqual(found, value)) return holder;
  throw new Refused(`${path} is not the tested value`);
}
