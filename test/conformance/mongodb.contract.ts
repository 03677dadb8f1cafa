/** The conformance of the store on a real MongoDB. `mongodb/` has what takes longer: large documents, a server that dies. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimCheckConformance } from '@anneal/bus/conformance/claim-checks.ts';
import { opener } from '@anneal/bus/conformance/open.ts';
import { openEmbeddedBroker } from '@anneal/bus/embedded/open.ts';
import { storeConformance } from '@anneal/store/conformance/conformance.ts';
import { timersConformance } from '@anneal/store/conformance/timers.ts';
import { afterAll, describe } from 'vitest';
import { mongodbForTests } from './mongodb-place.ts';

const { server, fresh } = mongodbForTests;

describe.skipIf(server === undefined)('the store on a real MongoDB', () => {
  afterAll(() => server?.stop());
  storeConformance('MongoDB', { fresh, quick: true });
  timersConformance('MongoDB', { fresh });
  claimCheckConformance('the embedded broker with MongoDB', {
    fresh: async () => {
      const [place, folder] = await Promise.all([fresh(), mkdtemp(join(tmpdir(), 'anneal-bus-'))]);
      return {
        url: `sqlite:${join(folder, 'bus.db')}`,
        storeUrl: place.url,
        dispose: async () => {
          await place.dispose();
          await rm(folder, { recursive: true, force: true });
        },
      };
    },
    open: opener(openEmbeddedBroker),
  });
});
