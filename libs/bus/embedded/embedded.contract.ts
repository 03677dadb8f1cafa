import { openStore } from '@anneal/store/open.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createBus } from '../bus.ts';
import { silent, testRegistry } from '../conformance-messages.ts';
import { busConformance, type OpenedBus } from '../conformance.ts';
import { openEmbeddedBroker } from './open.ts';

async function fresh(): Promise<{ url: string; storeUrl: string; dispose(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-bus-'));
  return {
    url: `sqlite:${join(folder, 'bus.db')}`,
    storeUrl: `sqlite:${join(folder, 'store.db')}`,
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

async function open({ url, storeUrl }: { url: string; storeUrl: string }): Promise<OpenedBus> {
  const broker = await openEmbeddedBroker({
    url,
    source: 'anneal/test',
    newId: randomUUID,
    now: () => new Date(),
    log: silent,
  });
  const store = await openStore({ url: storeUrl });
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

busConformance('the embedded broker', { fresh, open });

describe('the embedded broker', () => {
  it('serves one process: a second one is told who is in the way', async () => {
    const place = await fresh();
    const first = await open(place);
    await expect(open(place)).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining('another process has it open') as string,
    });
    await first.bus.close();
    await (await open(place)).bus.close();
    await place.dispose();
  });
});
