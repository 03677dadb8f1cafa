/**
 * One at a time per key, in the order of asking. It only spares the replicas of one process from colliding: what must
 * hold across processes is held by versions in the store.
 */
export type KeyedLock = <T>(key: string, work: () => Promise<T>) => Promise<T>;

export function createKeyedLock(): KeyedLock {
  const tails = new Map<string, Promise<unknown>>();
  return async (key, work) => {
    const before = tails.get(key) ?? Promise.resolve();
    const run = before.then(work);
    // A failure belongs to its asker; the next in line goes on.
    const tail = run.catch(() => undefined);
    tails.set(key, tail);
    try {
      return await run;
    } finally {
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
}
