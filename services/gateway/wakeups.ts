/**
 * Clients that wait for an event, by key. In memory only: an event on the bus wakes them in every replica. A waiting
 * client also polls after a while, so a lost event costs only time.
 */
export interface Wakeups {
  /** Wakes all clients that now wait for the key. */
  wake(key: string): void;
  wakeAll(): void;
  /** Listens from now on, so that an event before `next` is called is not missed. */
  listen(key: string): WakeupListener;
}

export interface WakeupListener {
  /** Resolves at the next wake-up, after `ms`, or when the signal aborts. Resolves at once after an earlier wake-up. */
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
export const contextsKey = (project: string): string => `contexts ${project}`;
export const eventsKey = (project: string): string => `events ${project}`;
