/**
 * Writes asyncapi.yaml and the lock of the wire from the registry; with `--check` writes no file and fails when they are
 * stale.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asyncApi } from './asyncapi/document.ts';
import { readableYaml } from './readable-yaml.ts';
import { definitionsByFile, registry } from './registry.ts';
import { wireLock } from './wire-lock.ts';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');
const textOf = (path: string): Promise<string> => readFile(join(root, path), 'utf8').catch(() => '');

const { version } = JSON.parse(await textOf('package.json')) as { version: string };
const lock = 'libs/contracts/wire.lock';
const wanted = {
  'asyncapi.yaml': readableYaml(asyncApi({ version, byFile: definitionsByFile })),
  [lock]: wireLock(registry.values(), { version, before: await textOf(lock) }),
};
const stale: string[] = [];
for (const [path, text] of Object.entries(wanted)) {
  if ((await textOf(path)) === text) continue;
  stale.push(path);
  if (!process.argv.includes('--check')) await writeFile(join(root, path), text);
}
if (process.argv.includes('--check')) {
  if (stale.length > 0) {
    process.stderr.write(
      `Generated files are out of date; run: npm run contracts\n${stale.map((path) => `  ${path}`).join('\n')}\n`,
    );
    process.exitCode = 1;
  }
} else process.stdout.write(`Written: ${stale.join(', ') || 'nothing, all is current'}.\n`);
