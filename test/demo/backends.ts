/** A broker and a database that were given: the demo takes names of its own on them, and leaves nothing there. */
import { randomBytes } from 'node:crypto';
import { openBus } from '@anneal/bus/open.ts';
import { registry } from '@anneal/contracts/registry.ts';
import { createLog } from '@anneal/runtime/log.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { openStore } from '@anneal/store/open.ts';
import { v7 } from 'uuid';

export interface Backends {
  readonly bus: string | undefined;
  readonly store: string | undefined;
  /** Removes what this run made there. */
  clear(): Promise<void>;
}

/** Before every name on a broker; the last segment of a database's URL. An embedded one is in the data folder anyway. */
export function ownNames(given: { bus: string | undefined; store: string | undefined }): Backends {
  const name = `anneal-demo-${randomBytes(4).toString('hex')}`;
  const bus =
    given.bus === undefined || given.bus.startsWith('sqlite:')
      ? given.bus
      : `${given.bus}${given.bus.includes('?') ? '&' : '?'}prefix=${name}`;
  const store = given.store?.startsWith('mongodb')
    ? given.store.replace(/^([^/]+\/\/[^/?]+)(?:\/[^?]*)?/, `$1/${name}`)
    : given.store;
  return {
    bus,
    store,
    async clear() {
      if (bus !== undefined && bus !== given.bus) await removeQueues(bus);
      if (store !== undefined && store !== given.store) await dropDatabase(store);
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
