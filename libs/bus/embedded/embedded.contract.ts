import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { opener } from '../conformance/open.ts';
import { busConformance } from '../conformance/conformance.ts';
import { openEmbeddedBroker } from './open.ts';

async function fresh(): Promise<{ url: string; storeUrl: string; dispose(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-bus-'));
  return {
    url: `sqlite:${join(folder, 'bus.db')}`,
    storeUrl: `sqlite:${join(folder, 'store.db')}`,
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

const open = opener(openEmbeddedBroker);

busConformance('the embedded broker', { fresh, open });

describe('the embedded broker', () => {
  it('serves one process, and refuses a second one with the reason', async () => {
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
