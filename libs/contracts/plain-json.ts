/** Reads JSON without schemas. Apart from `json.ts`, because completion in a shell must start without zod. */

/** Any value that survives a round trip through JSON. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
/** A JSON object. */
export interface JsonObject {
  [key: string]: Json;
}

/** True for a map, among values that are JSON: neither a list nor null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a text; undefined for a text that is not JSON. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** The value of a text, or the text itself when it is not JSON. */
export function jsonOrText(text: string): Json {
  const value = jsonIn(text);
  return value === undefined ? text : value;
}
