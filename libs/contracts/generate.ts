/**
 * Writes asyncapi.yaml and schemas/*.json from the registry; with `--check` writes no file and fails when they are
 * stale.
 */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { asyncApi, jsonSchemas } from './asyncapi/document.ts';
import { definitionsByFile, registry } from './registry.ts';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');

async function wanted(): Promise<Map<string, string>> {
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  const files = new Map<string, string>();
  files.set(
    join(root, 'asyncapi.yaml'),
    stringify(asyncApi({ version, byFile: definitionsByFile }), { aliasDuplicateObjects: false, lineWidth: 120 }),
  );
  for (const [name, schema] of Object.entries(jsonSchemas(registry.values()))) {
    files.set(join(here, 'schemas', name), `${JSON.stringify(schema, undefined, 2)}\n`);
  }
  return files;
}

const files = await wanted();
const folder = join(here, 'schemas');
await mkdir(folder, { recursive: true });
const gone = (await readdir(folder)).map((name) => join(folder, name)).filter((path) => !files.has(path));

if (process.argv.includes('--check')) {
  const stale = [...gone];
  for (const [path, text] of files) {
    if ((await readFile(path, 'utf8').catch(() => '')) !== text) stale.push(path);
  }
  if (stale.length > 0) {
    process.stderr.write(
      `Generated files are out of date; run: npm run contracts\n${stale.map((path) => `  ${path.slice(root.length + 1)}`).join('\n')}\n`,
    );
    process.exitCode = 1;
  }
} else {
  for (const path of gone) await rm(path);
  for (const [path, text] of files) await writeFile(path, text);
  process.stdout.write(`${files.size} files written.\n`);
}
