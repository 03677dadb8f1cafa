/** Reads JSON without schemas. Apart from `json.ts`, because completion in a shell must start without zod. */
import { isExact } from './exact-number.ts';
import type { Json, JsonObject } from './json-type.ts';
import { parseExact } from './read-json.ts';

export type { Json, JsonObject } from './json-type.ts';

/** True for a map, among values that are JSON: neither a list, null nor a number that keeps its text (`exact-number.ts`). */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value);
}

/** The value of a text; undefined for a text that is not JSON. */
export function jsonIn(text: string): Json | undefined {
  try {
    return parseExact(text);
  } catch {
    return undefined;
  }
}

/** The value of a text, or the text itself when it is not JSON. */
export function jsonOrText(text: string): Json {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}
