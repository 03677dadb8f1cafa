/** Stores that do something around each call of another: measure it, or end its wait. */

/** The calls of a collection that reach the database. */
export const collectionCalls = [
  'insert',
  'get',
  'getMany',
  'find',
  'rows',
  'count',
  'replace',
  'remove',
  'bulk',
] as const;

type Call = (...given: unknown[]) => Promise<unknown>;

/** An object with these methods, each as `wrap` returns it. `wrap` runs once for each method, not for each call. */
export function wrapCalls<T extends object, Name extends keyof T>(
  target: T,
  names: readonly Name[],
  wrap: (method: Call, name: Name) => Call,
): T {
  const entries = names.map((name) => [name, wrap((target[name] as Call).bind(target), name)] as const);
  return Object.fromEntries(entries) as T;
}
