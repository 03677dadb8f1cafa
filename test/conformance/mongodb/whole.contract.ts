/** The whole conformance suite on a real MongoDB, with many and with large documents. */
import { randomBytes } from 'node:crypto';
import { storeConformance } from '@anneal/store/conformance/conformance.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Document } from '@anneal/store/port.ts';
import { afterAll, describe, expect, it } from 'vitest';
import { mongodbForTests } from '../mongodb-place.ts';

const { server, fresh } = mongodbForTests;

describe.skipIf(server === undefined)('the store on a real MongoDB', () => {
  afterAll(() => server?.stop());
  storeConformance('MongoDB', { fresh });

  describe('a document in pieces', () => {
    const text = (mebibytes: number): string => randomBytes(mebibytes * 1024 * 1024).toString('base64');

    it('leaves no piece behind when it is refused or replaced', async () => {
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

    it('is refused when it is too large for memory, and the other writes of its batch succeed', async () => {
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
    });
  });
});
