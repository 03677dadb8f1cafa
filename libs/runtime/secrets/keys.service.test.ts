import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadKeys } from './keys.ts';

const rounds = 100;
/** The size of 32 bytes in base64 with the end of the line. */
const fileBytes = 45;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-keys-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('shows other processes that start at the same time the whole key or none, and leaves no other file', async () => {
  const seen = new Set<number | undefined>([fileBytes]);
  for (let round = 0; round < rounds; round += 1) {
    const dataDirectory = join(folder, `round-${round}`);
    const sizeNow = (): Promise<number | undefined> =>
      stat(join(dataDirectory, 'keys')).then(
        ({ size }) => size,
        () => undefined,
      );
    const loading = loadKeys({ setting: undefined, dataDirectory });
    const loaded = loading.then(() => 'loaded' as const);
    for (;;) {
      const size = await Promise.race([loaded, sizeNow()]);
      if (size === 'loaded') break;
      seen.add(size);
    }
    expect(await loading).toHaveLength(1);
    expect(await readdir(dataDirectory)).toEqual(['keys']);
  }
  seen.delete(undefined);
  expect([...seen]).toEqual([fileBytes]);
});
