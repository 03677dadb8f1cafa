/** Queues arrivals per stack. One call of `take` runs per stack at a time, and it gets all that have arrived. */
export interface ShardInbox<T> {
  /** Resolves when the item is processed. */
  put(key: string, item: T): Promise<void>;
  /** Resolves when no item is being processed. */
  idle(): Promise<void>;
}

interface Waiting<T> {
  readonly item: T;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

export function createInbox<T>(take: (key: string, items: readonly T[]) => Promise<void>): ShardInbox<T> {
  const waiting = new Map<string, Waiting<T>[]>();
  const running = new Map<string, Promise<void>>();

  /** Takes the items one by one, so that a failing item does not block the others. */
  const takeSingly = async (key: string, batch: readonly Waiting<T>[]): Promise<void> => {
    for (const { item, resolve, reject } of batch) await take(key, [item]).then(resolve, reject);
  };

  const drain = async (key: string): Promise<void> => {
    // Wait one turn of the event loop, so that items delivered together are taken together.
    await new Promise((resolve) => setImmediate(resolve));
    for (let batch = waiting.get(key); batch; batch = waiting.get(key)) {
      waiting.delete(key);
      try {
        await take(
          key,
          batch.map(({ item }) => item),
        );
        for (const { resolve } of batch) resolve();
      } catch (error) {
        if (batch.length === 1) batch[0]?.reject(error);
        else await takeSingly(key, batch);
      }
    }
    running.delete(key);
  };

  return {
    put(key, item) {
      return new Promise((resolve, reject) => {
        const list = waiting.get(key);
        if (list) list.push({ item, resolve, reject });
        else waiting.set(key, [{ item, resolve, reject }]);
        if (!running.has(key)) running.set(key, drain(key));
      });
    },
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}
