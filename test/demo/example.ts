/**
 * `npm run example -- NAME`: runs a template of `examples/` on a new server with a lab, prints the outputs of the stack,
 * and removes everything. Exits with 0 only when the stack completes and is deleted again.
 *
 *     node test/demo/example.ts tools/ansible [-P NAME=VALUE …]
 */
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createChildren, killAllOf } from './children.ts';
import { command, heading, reportFailure } from './report.ts';
import { startDemoServer } from './start.ts';

const folder = fileURLToPath(new URL('../../examples/', import.meta.url));

/** Every template of the folder, by its name without the ending. */
const examples = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .map((file) => file.slice(0, -'.yaml'.length))
  .toSorted();

const [name, ...options] = process.argv.slice(2);
const file = join(folder, `${name}.yaml`);
if (name === undefined || relative(folder, file).startsWith('..') || !existsSync(file)) {
  process.stderr.write(
    `${name === undefined ? '' : `There is no example ${name}. `}Usage: npm run example -- NAME\n\n${examples.map((each) => `  ${each}\n`).join('')}`,
  );
  process.exit(2);
}

const dataDirectory = await mkdtemp(join(tmpdir(), 'anneal-example-'));
const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)));
}
const children = createChildren({
  environment: {
    ...Object.fromEntries(
      Object.entries(process.env).filter(
        (entry): entry is [string, string] => entry[1] !== undefined && !/^(ANNEAL|OS)_/.test(entry[0]),
      ),
    ),
    PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
    ANNEAL_DATA: dataDirectory,
  },
  signal: interrupted.signal,
});

const stack = basename(name);
/** Runs a command on the terminal. */
async function anneal(...words: string[]): Promise<void> {
  command(words);
  const { status } = await children.anneal(words, { inherit: true });
  if (status !== 0) throw new Error(`anneal ${words[0]} ${words[1]} ended with ${status}.`);
}

const log: string[] = [];
let status = 0;
try {
  await startDemoServer({
    children,
    dataDirectory,
    flags: [],
    signal: interrupted.signal,
    log: (line) => log.push(line),
  });
  heading(`The example ${name}`);
  try {
    await anneal('stack', 'create', stack, '-t', file, ...options, '--wait');
  } catch (error) {
    await anneal('why', stack).catch(() => undefined);
    throw error;
  }
  await anneal('output', 'list', stack);
  await anneal('stack', 'delete', stack, '--wait');
} catch (error) {
  status = 1;
  reportFailure(error instanceof Error ? error.message : String(error));
} finally {
  await children.stop().catch(() => undefined);
  await killAllOf(dataDirectory);
  await rm(dataDirectory, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(status);
