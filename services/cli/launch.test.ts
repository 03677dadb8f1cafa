import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const command = new URL('./anneal.mjs', import.meta.url).pathname;
const version = async (environment: Record<string, string>): Promise<{ stdout: string; stderr: string }> =>
  promisify(execFile)(process.execPath, [command, '--version'], { env: { PATH: process.env['PATH'], ...environment } });

/** Each test starts whole processes. */
describe('the anneal command', { timeout: 120_000 }, () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-launch-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('caches compiled code for its next start in NODE_COMPILE_CACHE, or else in the installation', async () => {
    await version({ NODE_COMPILE_CACHE: folder });
    expect(await readdir(folder)).toHaveLength(1);
    await version({});
    const compiled = new URL('../../node_modules/.cache/anneal/compiled', import.meta.url).pathname;
    expect(await readdir(compiled)).not.toEqual([]);
  });

  it('runs without a warning where the cache folder cannot be written', async () => {
    const kept = await version({ NODE_COMPILE_CACHE: '/dev/null/none' });
    expect(kept).toEqual({ stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' });
  });

  it('runs in several processes at the same time', async () => {
    const all = await Promise.all(Array.from({ length: 3 }, () => version({ NODE_COMPILE_CACHE: folder })));
    expect(new Set(all.map(({ stdout }) => stdout)).size).toBe(1);
  });
});
