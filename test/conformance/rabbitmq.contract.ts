/** The bus on a real RabbitMQ: what every bus must do. */
import { createBus } from '@anneal/bus/bus.ts';
import { silent, testRegistry } from '@anneal/bus/conformance-messages.ts';
import { busConformance, type OpenedBus } from '@anneal/bus/conformance.ts';
import { openRabbitmqBroker } from '@anneal/bus/rabbitmq/open.ts';
import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import type { BackendServer } from '../backends/backend.ts';
import { findRabbitmq } from '../backends/rabbitmq.ts';

const found = await findRabbitmq();
const missing = 'missing' in found ? found.missing : undefined;
if (missing !== undefined) {
  if (process.env['CI'] === 'true') throw new Error(missing);
  process.stdout.write(`Skipped: the bus on RabbitMQ. ${missing}\n`);
}
const server = found as BackendServer;

interface Place {
  readonly url: string;
  readonly storeUrl: string;
  dispose(): Promise<void>;
}

async function open({ url, storeUrl }: Pick<Place, 'url' | 'storeUrl'>): Promise<OpenedBus> {
  const store = await openStore({ url: storeUrl });
  const broker = await openRabbitmqBroker({
    url,
    source: 'anneal/test',
    store,
    newId: randomUUID,
    now: () => new Date(),
    log: silent,
  });
  const bus = createBus({ broker, store, registry: testRegistry, log: silent });
  return {
    bus: {
      ...bus,
      async close() {
        await bus.close();
        await store.close();
      },
    },
    sendRaw: (queue, bytes) => broker.send({ queue, packets: [{ type: '', bytes }] }),
  };
}

/** All names of a test have a prefix of their own. */
async function fresh(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-bus-'));
  const url = `${server.url}${server.url.includes('?') ? '&' : '?'}prefix=${randomUUID().slice(0, 8)}.`;
  const storeUrl = `sqlite:${join(folder, 'store.db')}`;
  return {
    url,
    storeUrl,
    async dispose() {
      const { bus } = await open({ url, storeUrl });
      for (const { name } of await bus.queues.list()) await bus.queues.remove(name);
      await bus.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

describe.skipIf(missing !== undefined)('RabbitMQ', () => {
  afterAll(() => server.stop());

  busConformance('RabbitMQ', { fresh, open });
});
