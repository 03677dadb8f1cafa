import { describe, expect, it } from 'vitest';
import { openStore } from './open.ts';

describe('openStore', () => {
  it.each([
    ['oracle:x', /scheme oracle:; the schemes are mongodb:, mongodb\+srv:, sqlite:/],
    ['no scheme', /without a scheme; the schemes are mongodb:/],
    ['sqlite:', /does not name a file/],
    ['mongodb://user:secret@h:port/x', /mongodb:\/\/h:port\/x is not a valid store URL/],
    ['sqlite:x?synchronous=off', /synchronous=off is not an option/],
  ])('refuses %s and lists the supported schemes', async (url, message) => {
    await expect(openStore({ url })).rejects.toMatchObject({
      code: 'InvalidRequest',
      message: expect.stringMatching(message) as string,
    });
  });

  it('shares no data between stores in memory', async () => {
    const [one, two] = await Promise.all([
      openStore({ url: 'sqlite::memory:' }),
      openStore({ url: 'sqlite::memory:' }),
    ]);
    const hash = await one.blobs.put('x');
    expect(await two.blobs.get(hash)).toBeUndefined();
    await Promise.all([one.close(), two.close()]);
  });
});
