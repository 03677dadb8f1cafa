/**
 * Clients that wait for an event, by key. In memory only: an event on the bus wakes them in every replica. The bus loses
 * events only while its connection is lost, so all clients look again when it is back. A waiting client also polls after
 * a while.
 */
export interface Wakeups {
  /** Wakes all clients that now wait for the key. */
  wake(key: string): void;
  wakeAll(): void;
  /** Wakes all clients that now wait, or those for some keys, some at a time, so that not all ask at the same moment. */
  wakeInTurn(isWanted?: (key: string) => boolean): void;
  /**
   * Listens from now on, so that an event before `next` is called is not missed. Of several listeners of one `client`
   * only the last one is woken: the earlier ones are calls of processes that were killed.
   */
  listen(key: string, client?: string): WakeupListener;
}

export interface WakeupListener {
  /** Resolves at the next wake-up, after `ms`, or when the signal aborts; at once after an earlier wake-up. */
  next(ms: number, signal: AbortSignal): Promise<{ isWoken: boolean }>;
  close(): void;
}

interface Ear {
  readonly client: string | undefined;
  woken: boolean;
  resolve: (() => void) | undefined;
}

/** Ten thousand waiting hosts are woken within 2.5 s. */
const inTurn = 200;
const turnMs = 50;

export function createWakeups(): Wakeups {
  const ears = new Map<string, Set<Ear>>();
  const wakeEar = (ear: Ear): void => {
    ear.woken = true;
    ear.resolve?.();
  };
  return {
    wake(key) {
      for (const ear of hearing(ears.get(key) ?? [])) wakeEar(ear);
    },
    wakeAll() {
      for (const set of ears.values()) for (const ear of hearing(set)) wakeEar(ear);
    },
    wakeInTurn(isWanted = () => true) {
      const waiting = [...ears].flatMap(([key, set]) => (isWanted(key) ? hearing(set) : []));
      const wakeSome = (): void => {
        for (const ear of waiting.splice(0, inTurn)) wakeEar(ear);
        if (waiting.length > 0) setTimeout(wakeSome, turnMs).unref();
      };
      wakeSome();
    },
    listen(key, client) {
      const ear: Ear = { client, woken: false, resolve: undefined };
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
          const isWoken = ear.woken;
          ear.woken = false;
          return { isWoken };
        },
        close() {
          set.delete(ear);
          if (set.size === 0 && ears.get(key) === set) ears.delete(key);
        },
      };
    },
  };
}

/** Those without a client, and the last one of each client. */
function hearing(set: Iterable<Ear>): Ear[] {
  const all = [...set];
  const last = new Map(all.map((ear) => [ear.client, ear]));
  return all.filter((ear) => ear.client === undefined || last.get(ear.client) === ear);
}

export const queueKey = (project: string, queue: string): string => `queue ${project} ${queue}`;
export const contextsKey = (project: string): string => `contexts ${project}`;
export const eventsKey = (project: string): string => `events ${project}`;
/** Whether a key is one of event streams. */
export const isStream = (key: string): boolean => key.startsWith('events ');
