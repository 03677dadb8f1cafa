/** docs/reference/compatibility.md names each program of OpenStack in the version that the tests run. */
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const programs = fileURLToPath(new URL('../programs/', import.meta.url));
const page = fileURLToPath(new URL('../../docs/reference/compatibility.md', import.meta.url));

/** Packages that the programs only need. */
const helpers = new Set(['oauthlib', 'psutil', 'setuptools', 'dib-utils']);

it('names every client that the tests run, and its version', async () => {
  const folders = ['openstack', 'collectors'];
  const files = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(`${programs}${folder}`))
        .filter((name) => name.endsWith('.ts'))
        .map((name) => `${programs}${folder}/${name}`),
    ),
  );
  const texts = await Promise.all(files.flat().map((file) => readFile(file, 'utf8')));
  const packages = texts.flatMap((text) => [...text.matchAll(/'([\w-]+)==([\d.]+)'/g)]);
  const text = await readFile(page, 'utf8');
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  const missing = packages.filter(
    ([, name = '', version = '']) =>
      !helpers.has(name) && !rows.some((row) => row.includes(`| ${name} `) && row.includes(version)),
  );
  expect(packages.length).toBeGreaterThan(15);
  expect(missing.map(([found]) => found)).toEqual([]);
});
