/** The bus on a real NATS server: the whole suite. */
import { silent, testRegistry } from '@anneal/bus/conformance-messages.ts';
import { busRestartConformance } from '@anneal/bus/conformance-restart.ts';
import { activeConformance } from '@anneal/bus/conformance-active.ts';
import { topologyConformance } from '@anneal/bus/conformance-topology.ts';
import { busConformance, type OpenedBus } from '@anneal/bus/conformance.ts';
import { createBus } from '@anneal/bus/bus.ts';
import { dropNatsPrefix } from '@anneal/bus/nats/drop.ts';
import { openNatsBroker } from '@anneal/bus/nats/open.ts';
import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { findNats } from '../backends/nats.ts';

const found = await findNats();
const server = 'missing' in found ? undefined : found;
if ('missing' in found) {
  process.stderr.write(`${found.missing}\n`);
  if (process.env['CI'] === 'true') throw new Error(found.missing);
}

const fresh = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-nats-store-'));
  const prefix = `test-${randomUUID().slice(0, 8)}`;
  const url = `${server?.url}${server?.url.includes('?') ? '&' : '?'}prefix=${prefix}`;
  return {
    url,
    storeUrl: `sqlite:${join(folder, 'store.db')}`,
    dispose: async (): Promise<void> => {
      await dropNatsPrefix({ url, log: silent });
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const open = async ({ url, storeUrl }: { url: string; storeUrl: string }): Promise<OpenedBus> => {
  const store = await openStore({ url: storeUrl });
  const broker = await openNatsBroker({
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
};

describe.skipIf(server === undefined)('the bus on a real NATS server', () => {
  afterAll(() => server?.stop());
  busConformance('NATS JetStream', { fresh, open });
  if (server?.mayBeKilled === true) busRestartConformance('NATS JetStream', { fresh, open }, server);
  activeConformance('NATS JetStream', { fresh, open });
  topologyConformance('NATS JetStream', { fresh, open });
});
