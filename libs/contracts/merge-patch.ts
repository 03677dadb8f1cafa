/** JSON merge patches (RFC 7396): an object names what changes, and null removes a field. */
import { toRecord } from './ordered-map.ts';
import { isObject, sameJson, type Json, type JsonObject } from './json.ts';

/** The target with the changes of the patch. An array is replaced as a whole. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const result = new Map(isObject(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key);
    else result.set(key, mergePatch(result.get(key), value));
  }
  return toRecord(result);
}

/**
 * The smallest patch that turns one object into the other, or undefined when they are equal. A field that becomes null
 * cannot be written as a patch: it is removed.
 */
export function mergePatchBetween(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const changes = new Map<string, Json>();
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) changes.set(key, null);
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined;
    if (isObject(old) && isObject(value)) {
      const inner = mergePatchBetween(old, value);
      if (inner) changes.set(key, inner);
    } else if (!sameJson(old, value)) changes.set(key, value);
  }
  return changes.size === 0 ? undefined : toRecord(changes);
}
