import { describe, expect, it } from 'vitest';
import { openStore } from './open.ts';

describe('openStore', () => {
  it.each([
    ['oracle:x', /oracle:; known are mongodb:, mongodb\+srv:, sqlite:/],
    ['no scheme', /known are mongodb:/],
    ['sqlite:', /the file is missing/],
    ['mongodb://user:secret@h:port/x', /mongodb:\/\/h:port\/x is not the URL of a store/],
    ['sqlite:x?synchronous=off', /synchronous=off is not known/],
  ])('refuses %s and says what is known', async (url, message) => {
    await expect(openStore({ url })).rejects.toMatchObject({
      code: 'InvalidRequest',
      message: expect.stringMatching(message) as string,
    });
  });

  it('keeps a store in memory to itself', async () => {
    const [one, two] = await Promise.all([
      openStore({ url: 'sqlite::memory:' }),
      openStore({ url: 'sqlite::memory:' }),
    ]);
    const hash = await one.blobs.put('x');
    expect(await two.blobs.get(hash)).toBeUndefined();
    await Promise.all([one.close(), two.close()]);
  });
});
