import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeConformance, type StoreHarness } from '../conformance.ts';
import { timersConformance } from '../timers-conformance.ts';

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
