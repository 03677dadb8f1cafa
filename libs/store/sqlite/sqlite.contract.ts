import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeConformance } from '../conformance.ts';

for (const synchronous of ['normal', 'full']) {
  storeConformance(`SQLite (synchronous=${synchronous})`, {
    async fresh() {
      const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
      return {
        url: `sqlite:${join(folder, 'store.db')}?synchronous=${synchronous}`,
        dispose: () => rm(folder, { recursive: true, force: true }),
      };
    },
  });
}
