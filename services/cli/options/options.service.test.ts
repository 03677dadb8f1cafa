import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { byteCount, readBundle } from './options.ts';

describe('the files of a template', () => {
  let cwd: string;
  let asked: number;
  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), 'anneal-options-'));
    asked = 0;
    await writeFile(
      join(cwd, 'web.yaml'),
      'resources: { a: { x: { get_file: a.bin } }, b: { x: { get_file: b.bin } } }',
    );
  });
  afterEach(() => rm(cwd, { recursive: true }));

  /** Sparse, so that only a reader would need the memory. */
  const makeFile = async (name: string, bytes: number): Promise<void> => {
    await writeFile(join(cwd, name), '');
    await truncate(join(cwd, name), bytes);
  };
  const read = (limit: number | undefined) =>
    readBundle({
      template: 'web.yaml',
      environments: [],
      cwd,
      bodyLimit() {
        asked += 1;
        return Promise.resolve(limit);
      },
    });

  it('are refused before they are read when one is larger than what the server accepts', async () => {
    await makeFile('a.bin', 8 * 1024 ** 3);
    await makeFile('b.bin', 1);
    await expect(read(1_048_576)).rejects.toMatchObject({
      code: 'TooLarge',
      message: `${join(cwd, 'a.bin')} has 8,589,934,592 bytes; the server accepts 1,048,576 bytes in a request (ANNEAL_GATEWAY_BODY_LIMIT).`,
    });
  });

  it('are refused when only all of them together are larger', async () => {
    await makeFile('a.bin', 600_000);
    await makeFile('b.bin', 600_000);
    await expect(read(1_048_576)).rejects.toMatchObject({
      code: 'TooLarge',
      message: expect.stringMatching(/^With .*b\.bin \(600,000 bytes\), the files have 1,200,0\d\d bytes; /),
    });
    expect(asked).toBe(1);
    await expect(read(2_000_000)).resolves.toMatchObject({ environmentFiles: [] });
    await expect(read(undefined)).resolves.toMatchObject({ environmentFiles: [] });
  });

  it('need no question for the limit when they are small', async () => {
    await makeFile('a.bin', 1000);
    await makeFile('b.bin', 1000);
    await read(1);
    expect(asked).toBe(0);
  });
});

it('accepts the size of an image of a large disk, and nothing that is no number of bytes', () => {
  expect(byteCount('5000000000000')).toBe(5_000_000_000_000);
  for (const wrong of ['0', '-1', '1.5', '10G', ''])
    expect(() => byteCount(wrong)).toThrow('Must be a number of bytes');
});
