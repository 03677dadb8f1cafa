/** The path of `get_attr` into a value. */
import type { Json } from '@anneal/contracts/json.ts';
import { type Partial, unknown } from './unknown.ts';

/** Follows a path. A missing part is null; indexes are integers. */
export function walk(value: Partial, path: readonly Json[]): Partial {
  let at = value;
  for (const step of path) {
    if (at === unknown) return unknown;
    if (Array.isArray(at)) at = (typeof step === 'number' ? at.at(step) : undefined) ?? null;
    else if (typeof at === 'object' && at !== null) {
      const map: { readonly [key: string]: Partial } = at;
      const key = typeof step === 'object' ? undefined : String(step);
      at = (key !== undefined && Object.hasOwn(map, key) ? map[key] : undefined) ?? null;
    } else if (typeof at === 'string' && typeof step === 'number') at = at.at(step) ?? null;
    else return null;
  }
  return at;
}
