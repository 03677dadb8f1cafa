/**
 * The database and the broker of a process. Those on a network are waited for; an embedded one opens at once or fails.
 * Their checks answer from the beginning, and report what the process waits for.
 */
import type { OpenBusOptions } from '@anneal/bus/open-options.ts';
import { openBus } from '@anneal/bus/open.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { awaitDependency, type AwaitedDependency } from './await-dependency.ts';

type Part = 'store' | 'bus';
const names: Readonly<Record<Part, string>> = { store: 'the database', bus: 'the broker' };
/** One connection writes this process's sign of life, the other reads those of the other processes. */
const presenceConnections = 2;

/** The store and the broker of a process. An open call throws AnnealError Unavailable until its part is there. */
export interface Dependencies {
  readonly checks: Readonly<Record<Part, () => Promise<void>>>;
  openStore(): Promise<Store>;
  /** The same database over connections of its own; undefined on the embedded broker, which no other process shares. */
  openPresence(): Promise<Store | undefined>;
  openBus(options: Omit<OpenBusOptions, 'url'>): Promise<Bus>;
}

/** Begins to open the store and the broker. Returns at once; the checks report what is still missing. */
export function createDependencies(options: {
  storeUrl: string;
  busUrl: string;
  log: AwaitedDependency<unknown>['log'];
  signal: AbortSignal | undefined;
}): Dependencies {
  const { storeUrl, busUrl, log, signal } = options;
  const isEmbedded = (url: string): boolean => url.startsWith('sqlite:');
  const opened: Partial<Record<Part, { check(): Promise<void> }>> = {};
  const waiting = { store: 'the database is not open yet', bus: 'the broker is not open yet' };

  const open = async <T extends Store | Bus>(part: Part, url: string, run: () => Promise<T>): Promise<T> => {
    const onWaiting = (reason: string): void => void (waiting[part] = reason);
    const dependency = isEmbedded(url)
      ? await run()
      : await awaitDependency({ what: names[part], open: run, onWaiting, log, signal });
    opened[part] ??= dependency;
    return dependency;
  };
  const check = (part: Part) => async (): Promise<void> => {
    const dependency = opened[part];
    if (!dependency) throw new AnnealError('Unavailable', waiting[part]);
    await dependency.check();
  };
  return {
    checks: { bus: check('bus'), store: check('store') },
    openStore: () => open('store', storeUrl, () => openStore({ url: storeUrl })),
    openPresence: async () =>
      isEmbedded(busUrl)
        ? undefined
        : open('store', storeUrl, () => openStore({ url: storeUrl, connections: presenceConnections })),
    openBus: (busOptions) => open('bus', busUrl, () => openBus({ ...busOptions, url: busUrl })),
  };
}
