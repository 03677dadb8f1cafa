/**
 * `npm run build:console`: builds the web console into `dist`, which the gateway serves. It builds only when a source
 * has changed; `--force` builds always.
 */
import { glob, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { buildFolder } from '@anneal/runtime/service/built-folder.ts';
import { builtConsole } from './sources.ts';

async function writeConsole(folder: string): Promise<void> {
  const { build } = await import('vite');
  await build({ root: import.meta.dirname, logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } });
  const compress = [
    ['br', promisify(brotliCompress)],
    ['gz', promisify(gzip)],
  ] as const;
  for await (const name of glob('assets/*.{js,css}', { cwd: folder })) {
    const content = await readFile(join(folder, name));
    for (const [ending, pack] of compress) await writeFile(join(folder, `${name}.${ending}`), await pack(content));
  }
}

const { values } = parseArgs({ options: { force: { type: 'boolean', default: false } } });
process.stdout.write(`${await buildFolder(builtConsole, writeConsole, values)}\n`);
