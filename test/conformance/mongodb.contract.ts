import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimCheckConformance } from '@anneal/bus/conformance/claim-checks.ts';
import { opener } from '@anneal/bus/conformance/open.ts';
import { openEmbeddedBroker } from '@anneal/bus/embedded/open.ts';
import { storeConformance } from '@anneal/store/conformance/conformance.ts';
import { timersConformance } from '@anneal/store/conformance/timers.ts';
import { dropDatabase } from '@anneal/store/mongodb/drop.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Document } from '@anneal/store/port.ts';
import { afterAll, describe, expect, it } from 'vitest';
import type { BackendServer } from '../backends/backend.ts';
import { databaseUrl, findMongodb } from '../backends/mongodb.ts';

const server = await findMongodb();
const missing = 'missing' in server ? server.missing : '';

const required = process.env['CI'] === 'true';
it.skipIf(missing !== '' && !required)('has a MongoDB to run on', () => expect(missing).toBe(''));
if ('missing' in server) process.stderr.write(`${missing}\n`);
else runOn(server);

function runOn(started: BackendServer): void {
  afterAll(() => started.stop());
  const fresh = async () => {
    const own = databaseUrl(started.url, `anneal_test_${randomBytes(6).toString('hex')}`);
    return { url: own, dispose: () => dropDatabase(own) };
  };
  storeConformance('MongoDB', { fresh });
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

  describe('a document in pieces', () => {
    const text = (mebibytes: number): string => randomBytes(mebibytes * 1024 * 1024).toString('base64');

    it('leaves no piece behind when it is refused or replaced', { timeout: 180_000 }, async () => {
      const { url, dispose } = await fresh();
      const store = await openStore({ url });
      const large = await store.collection<Document & { text: string }>({ name: 'test_large', indexes: [] });
      // Read the pieces as if they were documents of the port.
      const pieces = await store.collection({ name: 'document_pieces', indexes: [] });
      await large.insert({ id: 'a', text: text(9) });
      expect(await pieces.count({})).toBe(2);
      await expect(large.insert({ id: 'a', text: text(9) })).rejects.toMatchObject({ fields: ['id'] });
      await large.replace({ id: 'a', text: 'small' }, 1);
      expect(await pieces.count({})).toBe(0);
      await store.close();
      await dispose();
    });

    it(
      'is refused when it is too large for memory, and the other writes of its batch succeed',
      { timeout: 180_000 },
      async () => {
        const { url, dispose } = await fresh();
        const store = await openStore({ url });
        const large = await store.collection<Document & { text: string }>({ name: 'test_large', indexes: [] });
        const [refused] = await Promise.allSettled([
          large.insert({ id: 'a', text: text(66) }),
          large.insert({ id: 'b', text: 'small' }),
        ]);
        expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'TooLarge' } });
        expect((await large.getMany(['a', 'b'])).map(({ id }) => id)).toEqual(['b']);
        await store.close();
        await dispose();
      },
    );
  });
}
