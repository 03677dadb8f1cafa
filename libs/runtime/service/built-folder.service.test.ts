import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildFolder, isBuilt, type BuiltFolder } from './built-folder.ts';
import { lockDataFolder } from './folder-lock.ts';

let root = '';
let folder: BuiltFolder;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'anneal-built-'));
  await mkdir(join(root, 'src'));
  await writeFile(join(root, 'src/a.md'), 'first');
  const program = join(root, 'build.ts');
  await writeFile(program, '');
  folder = {
    title: 'the pages',
    program,
    command: 'npm run build',
    target: join(root, 'dist'),
    root,
    sources: ['src/*.md'],
  };
});
afterEach(() => rm(root, { recursive: true, force: true }));

const write = async (next: string): Promise<void> =>
  writeFile(join(next, 'page.html'), await readFile(join(root, 'src/a.md')));
const built = (): Promise<string> => readFile(join(root, 'dist/page.html'), 'utf8');

test('is built once, and again after a source has changed, appeared or gone', async () => {
  expect(await isBuilt(folder)).toBe(false);
  expect(await buildFolder(folder, write)).toMatch(/^Built the pages in /);
  expect(await isBuilt(folder)).toBe(true);
  expect(await buildFolder(folder, () => Promise.reject(new Error('built again')))).toMatch(/is current\.$/);
  await writeFile(join(root, 'src/a.md'), 'second');
  expect(await isBuilt(folder)).toBe(false);
  await buildFolder(folder, write);
  expect(await built()).toBe('second');
  await writeFile(join(root, 'src/b.md'), '');
  expect(await isBuilt(folder)).toBe(false);
  await rm(join(root, 'src/b.md'));
  expect(await isBuilt(folder)).toBe(true);
});

test('is current in an installation without its program and sources', async () => {
  await buildFolder(folder, write);
  await rm(join(root, 'src'), { recursive: true });
  expect(await isBuilt(folder)).toBe(false);
  await rm(folder.program);
  expect(await isBuilt(folder)).toBe(true);
});

test('a failed build leaves the last one as it was, and the next build leaves nothing of it', async () => {
  await buildFolder(folder, write);
  const failing = async (next: string): Promise<void> => {
    await writeFile(join(next, 'half.html'), '');
    throw new Error('broken link');
  };
  await expect(buildFolder(folder, failing, { force: true })).rejects.toThrow('broken link');
  expect(await built()).toBe('first');
  await buildFolder(folder, write, { force: true });
  expect(await readdir(join(root, 'dist'))).toEqual(['page.html', 'sources.sha256']);
});

test('leaves the work to a build that runs', async () => {
  const lock = await lockDataFolder({ folder: join(root, '.build/lock') });
  try {
    expect(await buildFolder(folder, write)).toBe('Another process is building the pages.');
    expect(await isBuilt(folder)).toBe(false);
  } finally {
    await lock.release();
  }
});
