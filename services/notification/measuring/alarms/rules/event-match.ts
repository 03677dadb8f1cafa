/** Whether an event triggers an event alarm. Pure. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { isObject, type Json } from '@anneal/contracts/json.ts';
import type { EventRule } from './definition.ts';
import { compareTexts } from './filter.ts';

export function eventFits({ event_type: wanted, query }: EventRule, event: Envelope): boolean {
  return isWildcard(event.type, wanted) && query.every((each) => holds(each, event));
}

function holds({ field, type, op, value }: EventRule['query'][number], event: Envelope): boolean {
  const found = valueAt(event, field.replace(/^traits\./, 'data.'));
  if (found === undefined || found === null || typeof found === 'object') return false;
  return compareTexts(String(found), { compare: op, value, type });
}

/** A field of the event, or of its data, which traits are. */
function valueAt(event: Envelope, field: string): Json | undefined {
  const walk = (from: Json | undefined, path: readonly string[]): Json | undefined =>
    path.reduce<Json | undefined>(
      (value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined),
      from,
    );
  const path = field.split('.');
  return walk(event as unknown as Json, path) ?? walk(event.data as Json, path);
}

/** The wildcards of a shell, `*` and `?`, in time proportional to both texts. */
function isWildcard(text: string, pattern: string): boolean {
  let [at, next, star, resume] = [0, 0, -1, 0];
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next;
      resume = at;
      next += 1;
    } else if (next < pattern.length && (pattern[next] === '?' || pattern[next] === text[at])) {
      at += 1;
      next += 1;
    } else if (star >= 0) {
      next = star + 1;
      resume += 1;
      at = resume;
    } else return false;
  }
  return /^\**$/.test(pattern.slice(next));
}
