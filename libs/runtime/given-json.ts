/** Reads JSON that a client or a host sent. Pure. */
import { isObject } from '@anneal/contracts/json.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';

/** The value of a text, or the reason to refuse it. */
export type GivenJson =
  | { readonly isRead: true; readonly value: unknown }
  /** `detail` may quote the text, and `why` never does. */
  | { readonly isRead: false; readonly why: string; readonly detail?: string };

/**
 * The deepest accepted nesting, far more than any template has. Readers of a body recurse, so the depth needs a limit.
 */
const deepest = 500;

/** Reads a text as JSON, with numbers and the order of keys as sent. Refuses keys that could change the prototype of an object. */
export function readGivenJson(sent: string): GivenJson {
  const text = sent.startsWith(byteOrderMark) ? sent.slice(1) : sent;
  if (isTooDeep(text)) return { isRead: false, why: `is nested deeper than ${deepest} levels` };
  let value: unknown;
  try {
    value = parseExact(text);
  } catch (error) {
    return { isRead: false, why: 'is not valid JSON', detail: error instanceof Error ? error.message : String(error) };
  }
  const path = mayHoldForbidden.test(text) ? forbiddenIn(value, []) : undefined;
  if (!path) return { isRead: true, value };
  return { isRead: false, why: `has a forbidden prototype property: ${path.join('.').slice(0, longestPath)}` };
}

const byteOrderMark = '\ufeff';
const longestPath = 300;
/** Any letter may be written as an escape, so a text with an escape may hold such a key, too. */
const mayHoldForbidden = /__proto__|"constructor"|\\u00/;

/** The path of the first key that could change the prototype of an object. */
function forbiddenIn(value: unknown, path: readonly (string | number)[]): readonly (string | number)[] | undefined {
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = forbiddenIn(item, [...path, index]);
      if (found) return found;
    }
    return undefined;
  }
  if (!isObject(value)) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const here = [...path, key];
    if (key === '__proto__') return here;
    if (key === 'constructor' && isObject(item) && Object.hasOwn(item, 'prototype')) return [...here, 'prototype'];
    const found = forbiddenIn(item, here);
    if (found) return found;
  }
  return undefined;
}

const [quote, backslash, list, map, listEnd, mapEnd] = Array.from('"\\[{]}', (character) => character.charCodeAt(0));

/** Compares codes, because a text for each character of a long body costs as much as parsing it. */
function isTooDeep(text: string): boolean {
  let depth = 0;
  let quoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code === quote) quoted = !quoted;
    else if (quoted) {
      if (code === backslash) index += 1;
    } else if (code === list || code === map) depth += 1;
    else if (code === listEnd || code === mapEnd) depth -= 1;
    if (depth > deepest) return true;
  }
  return false;
}
