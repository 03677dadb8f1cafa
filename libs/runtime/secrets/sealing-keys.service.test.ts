import { openStore } from '@anneal/store/open.ts';
import { expect, it } from 'vitest';
import { requireSealingKeys } from './sealing-keys.ts';

it('lets processes that start at once on a new store record the same key', async () => {
  const store = await openStore({ url: 'sqlite::memory:' });
  const start = (keyIds: string[]) => requireSealingKeys({ store, secrets: { keyIds }, source: 'keys' });
  await Promise.all(Array.from({ length: 4 }, () => start(['first'])));
  await start(['second', 'first']);
  await expect(start(['second'])).rejects.toThrow('sealed with key first, but keys contains only second');
  await store.close();
});
