/**
 * Opens each value once. Evaluations read the same parameters and attributes again and again, and looking for seals in
 * them costs more than most expressions.
 */
import type { Json } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';

/** For values that never change: the parameters of plans, and the attributes of resource documents. */
export function openingOnce(secrets: Secrets): Secrets {
  const opened = new WeakMap<object, Json>();
  return {
    ...secrets,
    open<T extends Json>(value: T): T {
      if (typeof value !== 'object' || value === null) return value;
      const before = opened.get(value);
      if (before !== undefined) return before as T;
      const open = secrets.open(value);
      opened.set(value, open);
      return open;
    },
  };
}
