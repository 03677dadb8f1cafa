/**
 * `npm run build:package`: writes the product as one npm package, `anneal-VERSION.tgz`, with the built console and
 * documentation.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { builtConsole } from '@anneal/console/sources.ts';
import { builtDocs } from '@anneal/docs/sources.ts';
import { productFiles, productRoot, readProduct, textOfProduct } from './product.ts';
import { writeCommands } from '../bundle/bundle.ts';
import { asJavaScript, toJavaScript } from './sources.ts';

const usage = `Usage: npm run build:package -- [--output DIR]

Writes Anneal as an npm package, with the web console and the documentation: npm install anneal-VERSION.tgz

  --output DIR   folder of the package (default: the root of the repository)
  --help         show this help
`;

const run = promisify(execFile);

/** Files that the programs read when they run, besides other sources. */
const assets = [
  'services/*/*/sh/*.sh',
  'services/cli/completion/{anneal.*,*.jsonl}',
  'services/cli/*.{mjs,sh}',
  'libs/store/sqlite/*.mjs',
  '{libs/runtime,services/gateway}/package.json',
  'libs/hot/types/unserved-types.json',
  'services/{console,docs}/dist/**/*',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
];
/** The assets that start programs. */
const namesSources = /\.mjs$|launch\.sh$/;

/** Writes the files of the package into an empty folder. @throws when a source names a file that does not exist */
async function writePackage(folder: string): Promise<void> {
  const { sources, folders, manifest } = await readProduct();
  for (const [path, text] of sources) {
    const target = join(folder, asJavaScript(path));
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, toJavaScript(text, path, folders));
  }
  for (const path of await productFiles(assets)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    // Copies keep the permissions: the `anneal` command is executable.
    await cp(join(productRoot, path), join(folder, path));
    if (namesSources.test(path)) {
      await writeFile(join(folder, path), toJavaScript(await textOfProduct(path), path, folders));
    }
  }
  // Where launch.sh looks for it in a package.
  await writeCommands(join(folder, 'services/cli/dist'));
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
}

const { values } = parseArgs({
  options: { output: { type: 'string', default: productRoot }, help: { type: 'boolean', default: false } },
});
if (values.help) process.stdout.write(usage);
else {
  for (const { program } of [builtConsole, builtDocs]) {
    process.stdout.write((await run(process.execPath, ['--disable-warning=ExperimentalWarning', program])).stdout);
  }
  const work = await mkdtemp(join(tmpdir(), 'anneal-package-'));
  try {
    await writePackage(work);
    const output = resolve(values.output);
    await mkdir(output, { recursive: true });
    const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', output], {
      cwd: work,
    });
    const [{ filename, size }] = JSON.parse(stdout) as [{ filename: string; size: number }];
    process.stdout.write(`${join(output, filename)}  ${(size / 1_000_000).toFixed(1)} MB\n`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
