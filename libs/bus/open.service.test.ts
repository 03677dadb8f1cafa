import { openStore } from '@anneal/store/open.ts';
import { describe, expect, it } from 'vitest';
import { openTestBus } from './conformance/open.ts';

describe('openBus', () => {
  it.each([
    ['carrier-pigeon:x', /the schemes are sqlite:/],
    ['no scheme', /the schemes are sqlite:/],
    ['sqlite:', /does not name a file/],
    ['sqlite:x?synchronous=off', /synchronous=off is not an option/],
  ])('refuses %s and lists the supported schemes', async (url, message) => {
    const store = await openStore({ url: 'sqlite::memory:' });
    const opening = openTestBus({ url, store });
    await expect(opening).rejects.toMatchObject({
      code: 'InvalidRequest',
      message: expect.stringMatching(message) as string,
    });
    await store.close();
  });
});
