import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storeConformance, type StoreHarness } from '../conformance/conformance.ts';
import { openStore } from '../open.ts';
import type { Document } from '../port.ts';
import { timersConformance } from '../conformance/timers.ts';

interface Thing extends Document {
  readonly colour: string | null;
}

it('an index finds what was written by a process that does not know the index', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const url = `sqlite:${join(folder, 'store.db')}`;
  const [older, newer] = await Promise.all([openStore({ url }), openStore({ url })]);
  const unknowing = await older.collection<Thing>({ name: 'test_things', indexes: [] });
  await unknowing.insert({ id: 'before', colour: 'red' });
  const knowing = await newer.collection<Thing>({ name: 'test_things', indexes: [{ fields: ['colour'] }] });
  await knowing.insert({ id: 'known', colour: 'red' });
  await knowing.insert({ id: 'overwritten', colour: 'blue' });
  await unknowing.replace({ id: 'overwritten', colour: 'red' }, 1);
  await unknowing.insert({ id: 'after', colour: null });
  const found = await knowing.find({ where: { colour: 'red' } });
  expect(found.map(({ id }) => id)).toEqual(['before', 'known', 'overwritten']);
  expect(await knowing.find({ where: { colour: null } })).toMatchObject([{ id: 'after' }]);
  await Promise.all([older.close(), newer.close()]);
  await rm(folder, { recursive: true, force: true });
});

for (const synchronous of ['normal', 'full']) {
  const name = `SQLite (synchronous=${synchronous})`;
  const harness: StoreHarness = {
    async fresh() {
      const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
      return {
        url: `sqlite:${join(folder, 'store.db')}?synchronous=${synchronous}`,
        dispose: () => rm(folder, { recursive: true, force: true }),
      };
    },
  };
  storeConformance(name, harness);
  timersConformance(name, harness);
}
