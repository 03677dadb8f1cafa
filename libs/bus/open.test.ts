import { openStore } from '@anneal/store/open.ts';
import { describe, expect, it } from 'vitest';
import { openTestBus } from './conformance/open.ts';

describe('openBus', () => {
  it.each([
    ['carrier-pigeon:x', /known are sqlite:/],
    ['no scheme', /known are sqlite:/],
    ['sqlite:', /the file is missing/],
    ['sqlite:x?synchronous=off', /synchronous=off is not known/],
  ])('refuses %s and says what is known', async (url, message) => {
    const store = await openStore({ url: 'sqlite::memory:' });
    const opening = openTestBus({ url, store });
    await expect(opening).rejects.toMatchObject({
      code: 'InvalidRequest',
      message: expect.stringMatching(message) as string,
    });
    await store.close();
  });
});
