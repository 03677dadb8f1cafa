/**
 * Opens the properties of resources. A property is secret when a hidden parameter went into any part of it, so every
 * reader of a property opens it: a secret value acts as a plain one. What the reader stores or shows of it stays sealed,
 * but for names and choices that identify an object. Pure.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, storedProperty, type Json, type JsonObject, type SealableObject } from '@anneal/contracts/json.ts';
import type { Secrets } from './secrets.ts';

/** All properties, open. */
export const openProperties = (secrets: Pick<Secrets, 'open'>, properties: SealableObject): JsonObject =>
  secrets.open<JsonObject>(properties as JsonObject);

/** One property, open. Costs nothing for the other properties, which may be large. */
export function openProperty(
  secrets: Pick<Secrets, 'open'>,
  properties: SealableObject,
  name: string,
): Json | undefined {
  const stored = storedProperty(properties, name);
  return stored === undefined ? undefined : secrets.open<Json>(stored);
}

/** True when a part of the value is secret. Then no text for people may quote it. */
export const isSecret = (secrets: Pick<Secrets, 'open'>, value: Json | undefined): boolean =>
  value !== undefined && secrets.open<Json>(value) !== value;

/**
 * The value with seals only on its leaves, so that its maps, lists and names can be read. `isOpen` chooses leaves that are
 * not secret by themselves.
 */
export function sealLeaves<T extends Json>(
  secrets: Pick<Secrets, 'replaceSeals' | 'seal'>,
  value: T,
  isOpen: (leaf: Json) => boolean = () => false,
): T {
  const close = (content: Json): Json => {
    if (Array.isArray(content)) return content.map(close);
    if (isObject(content)) {
      return toRecord(Object.entries(content).map(([name, item]): [string, Json] => [name, close(item)]));
    }
    return content === null || isOpen(content) ? content : secrets.seal(content);
  };
  return secrets.replaceSeals(value, close) as typeof value;
}
