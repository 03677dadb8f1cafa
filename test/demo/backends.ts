/** An external broker and database: the demo uses separate names on them, and removes its data at the end. */
import { randomBytes } from 'node:crypto';
import { openBus } from '@anneal/bus/open.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { createLog } from '@anneal/runtime/observe/log.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { openStore } from '@anneal/store/open.ts';
import { v7 } from 'uuid';

export interface DemoBackends {
  readonly bus: string | undefined;
  readonly store: string | undefined;
  /** Removes the data of this run. */
  clear(): Promise<void>;
}

/** Adds the run's name as prefix on a broker, or as database of a store. An embedded one is in the data folder. */
export function ownNames(urls: { bus: string | undefined; store: string | undefined }): DemoBackends {
  const name = `anneal-demo-${randomBytes(4).toString('hex')}`;
  const bus =
    urls.bus === undefined || urls.bus.startsWith('sqlite:')
      ? urls.bus
      : `${urls.bus}${urls.bus.includes('?') ? '&' : '?'}prefix=${name}`;
  const store = urls.store?.startsWith('mongodb')
    ? urls.store.replace(/^([^/]+\/\/[^/?]+)(?:\/[^?]*)?/, `$1/${name}`)
    : urls.store;
  return {
    bus,
    store,
    async clear() {
      if (bus !== undefined && bus !== urls.bus) await removeQueues(bus);
      if (store !== undefined && store !== urls.store) await dropDatabase(store);
    },
  };
}

async function removeQueues(url: string): Promise<void> {
  const store = await openStore({ url: 'sqlite::memory:' });
  const log = createLog({ level: 'silent', format: 'json' });
  const bus = await openBus({
    url,
    source: 'anneal/demo',
    store,
    registry,
    newId: () => v7(),
    now: () => new Date(),
    log,
  });
  try {
    for (const { name } of await bus.queues.list()) await bus.queues.remove(name);
  } finally {
    await bus.close();
    await store.close();
  }
}
