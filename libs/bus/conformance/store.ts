/** A store that is away or answers late on command. */
import type { Collection, Document, Store } from '@anneal/store/port.ts';

/** Switches for the faults of a store. They apply to every later operation. */
export interface StoreTrouble {
  away: boolean;
  /** The delay of every answer. The operation itself is done at once. */
  lateMs: number;
  /** Operations neither begin nor fail until it is false again, as over a network that swallows packets. */
  cutOff: boolean;
}

const lookMs = 20;

/** A store that fails, answers late or cannot be reached while a test wants it. */
export function mayMisbehave(store: Store): { store: Store; trouble: StoreTrouble } {
  const trouble: StoreTrouble = { away: false, lateMs: 0, cutOff: false };
  const call = async (run: () => unknown): Promise<unknown> => {
    while (trouble.cutOff) await new Promise((resolve) => void setTimeout(resolve, lookMs));
    if (trouble.away) throw new Error('the store is away');
    const answer: unknown = await run();
    const { lateMs } = trouble;
    if (lateMs > 0) await new Promise((resolve) => void setTimeout(resolve, lateMs));
    return answer;
  };
  const guarded = <T extends object>(target: T): T =>
    new Proxy(target, {
      get: (_target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...parameters: unknown[]): unknown => call(() => Reflect.apply(method, target, parameters));
      },
    });
  return {
    store: {
      blobs: guarded(store.blobs),
      collection: async <T extends Document>(definition: Parameters<Store['collection']>[0]): Promise<Collection<T>> =>
        guarded(await store.collection<T>(definition)),
      check: async () => void (await call(() => store.check())),
      close: () => store.close(),
    },
    trouble,
  };
}
