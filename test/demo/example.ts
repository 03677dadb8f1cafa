/**
 * `npm run example -- NAME`: runs an example on a new server with a lab, and removes everything.
 *
 * The name of a folder of `examples/` whose page has commands runs the commands of the page. It exits with 0 only when
 * each prints what the page shows. The name of a template creates its stack, prints the outputs and deletes the stack.
 *
 *     node test/demo/example.ts first-steps
 *     node test/demo/example.ts tools/ansible [-P NAME=VALUE …]
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isTranscript, playPage } from '../docs/transcript/play.ts';
import { createChildren, killAllOf } from './children.ts';
import { command, heading, reportFailure, reportQuote, say } from './report.ts';
import { startDemoServer } from './start.ts';

const folder = fileURLToPath(new URL('../../examples/', import.meta.url));

const isPage = (name: string): boolean => {
  const page = join(folder, name, 'README.md');
  return existsSync(page) && isTranscript(readFileSync(page, 'utf8'));
};
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
/** Every page with commands, and every template beside other pages, by its name without the ending. */
const pages = files.map((file) => dirname(file)).filter((each, at, all) => all.indexOf(each) === at && isPage(each));
const examples = [
  ...pages,
  ...files
    .filter((file) => file.endsWith('.yaml') && !pages.includes(dirname(file)))
    .map((file) => file.slice(0, -'.yaml'.length)),
].toSorted();

const [name, ...options] = process.argv.slice(2);
const file = join(folder, `${name}.yaml`);
if (name === undefined || relative(folder, file).startsWith('..') || !examples.includes(name)) {
  process.stderr.write(
    `${name === undefined ? '' : `There is no example ${name}. `}Usage: npm run example -- NAME\n\n${examples.map((each) => `  ${each}\n`).join('')}`,
  );
  process.exit(2);
}

const dataDirectory = await mkdtemp(join(tmpdir(), 'anneal-example-'));
const interrupted = new AbortController();
// A reader of the output, such as `tee`, may end at the same Ctrl-C. The processes are stopped all the same.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error) => interrupted.abort(new Error(`the output has no reader: ${error.message}`)));
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)));
}
const environment = {
  ...Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !/^(ANNEAL|OS)_/.test(entry[0]),
    ),
  ),
  PATH: [dirname(process.execPath), process.env['PATH'] ?? ''].join(delimiter),
};
const children = createChildren({
  environment: { ...environment, ANNEAL_DATA: dataDirectory },
  signal: interrupted.signal,
});

const stack = basename(name);
/** Runs a command on the terminal. */
async function anneal(...words: string[]): Promise<void> {
  command(words);
  const { status } = await children.anneal(words, { inherit: true });
  if (status !== 0) throw new Error(`anneal ${words[0]} ${words[1]} ended with ${status}.`);
}

async function runTemplate(): Promise<void> {
  try {
    await anneal('stack', 'create', stack, '-t', file, ...options, '--wait');
  } catch (error) {
    await anneal('why', stack).catch(() => undefined);
    throw error;
  }
  await anneal('output', 'list', stack);
  await anneal('stack', 'delete', stack, '--wait');
}

async function runPage(page: string): Promise<void> {
  const write = (text: string): void => void process.stdout.write(`${text}\n`);
  await playPage(`examples/${page}/README.md`, {
    data: dataDirectory,
    env: environment,
    onCommand: (line) => write(`$ ${line}`),
    onResult: (shown) => write([...shown, ''].join('\n')),
  });
  write(`Each command printed what examples/${page}/README.md shows.`);
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
  await (isPage(name) ? runPage(name) : runTemplate());
} catch (error) {
  status = 1;
  reportFailure(error instanceof Error ? error.message : String(error));
  if (log.length > 0) {
    say('The end of the server’s log:');
    reportQuote(log.slice(-40).join('\n'));
  }
} finally {
  await children.stop().catch(() => undefined);
  await killAllOf(dataDirectory);
  await rm(dataDirectory, { recursive: true, force: true, maxRetries: 5 });
}
process.exit(status);
