/**
 * Those who wait for something to happen, by key. In memory only: an event on the bus wakes them in every replica, and
 * whoever waits looks again after a while in any case, so that a lost event costs time and nothing else.
 */
export interface Wakeups {
  /** Wakes all that wait for the key now. */
  wake(key: string): void;
  wakeAll(): void;
  /** Listen from now on: what happens before `next` is called is not missed. */
  listen(key: string): Listener;
}

export interface Listener {
  /** Resolves at the next wake-up, after `ms`, or when the signal aborts; at once for a wake-up that came before. */
  next(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

interface Ear {
  woken: boolean;
  resolve: (() => void) | undefined;
}

export function createWakeups(): Wakeups {
  const ears = new Map<string, Set<Ear>>();
  const wakeEar = (ear: Ear): void => {
    ear.woken = true;
    ear.resolve?.();
  };
  return {
    wake(key) {
      for (const ear of ears.get(key) ?? []) wakeEar(ear);
    },
    wakeAll() {
      for (const set of ears.values()) for (const ear of set) wakeEar(ear);
    },
    listen(key) {
      const ear: Ear = { woken: false, resolve: undefined };
      const set = ears.get(key) ?? new Set<Ear>();
      ears.set(key, set.add(ear));
      return {
        async next(ms, signal) {
          if (!ear.woken && !signal.aborted) {
            await new Promise<void>((resolve) => {
              const timer = setTimeout(resolve, ms);
              ear.resolve = () => {
                clearTimeout(timer);
                resolve();
              };
              signal.addEventListener('abort', ear.resolve, { once: true });
            });
            if (ear.resolve) signal.removeEventListener('abort', ear.resolve);
            ear.resolve = undefined;
          }
          ear.woken = false;
        },
        close() {
          set.delete(ear);
          if (set.size === 0 && ears.get(key) === set) ears.delete(key);
        },
      };
    },
  };
}

export const queueKey = (project: string, queue: string): string => `queue ${project} ${queue}`;
export const eventsKey = (project: string): string => `events ${project}`;
