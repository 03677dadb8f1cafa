/** A bus as the tests open it, and the processes that they kill. */
import { openStore } from '@anneal/store/open.ts';
import type { Store } from '@anneal/store/port.ts';
import { randomUUID } from 'node:crypto';
import type { Broker } from '../broker.ts';
import { createBus } from '../bus.ts';
import { silent, testRegistry } from './messages.ts';
import { mayMisbehave } from './store.ts';
import { openBus } from '../open.ts';
import type { OpenBusOptions } from '../open-options.ts';
import type { Bus } from '../port.ts';
import type { OpenedBus } from './harness.ts';

const about = { source: 'anneal/test', newId: randomUUID, now: () => new Date(), log: silent };

/** Opens a bus with the messages of the tests. */
export const openTestBus = (parameters: { url: string; store: Store; source?: string }): Promise<Bus> =>
  openBus({ ...about, registry: testRegistry, ...parameters });

/** Opens a bus and gives access to its broker, past the bus. */
export const opener =
  (openBroker: (options: Omit<OpenBusOptions, 'registry'>) => Promise<Broker>) =>
  async ({ url, storeUrl }: { url: string; storeUrl: string }): Promise<OpenedBus> => {
    const { store, trouble } = mayMisbehave(await openStore({ url: storeUrl }));
    const broker = await openBroker({ ...about, url, store }).catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    const bus = createBus({ ...about, broker, store, registry: testRegistry });
    return {
      bus: {
        ...bus,
        async close() {
          await bus.close();
          await store.close();
        },
      },
      store: trouble,
      sendRaw: (queue, bytes) => broker.send({ queue, packets: [{ type: '', bytes }] }),
    };
  };
