import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { InvalidArgumentError } from '@commander-js/extra-typings';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { expect, it } from 'vitest';
import type { CliContext } from './context.ts';
import { createOutput } from './output.ts';
import { runCommand } from './run.ts';

const unused = (): never => {
  throw new Error('asked the server');
};

async function run(
  words: readonly string[],
  client: CliContext['client'],
  parts: () => Promise<object> = client,
  isTTY = false,
): Promise<{ status: number; text: string }> {
  let text = '';
  const stream = { isTTY, write: (chunk: string) => ((text += chunk), true) } as unknown as NodeJS.WriteStream;
  const output = createOutput({ stdout: stream, stderr: stream, environment: {} });
  const interrupt = new AbortController().signal;
  const part = async (name: string): Promise<unknown> => ({ ...(await parts()) })[name as never];
  const context = { words, output, environment: {}, cwd: '/', interrupt, client, part, parts } as unknown as CliContext;
  const status = await runCommand({ context, stdout: stream, stderr: stream });
  return { status, text };
}

it.each([
  [['group', 'resize', 'web', 'workers', 'many'], "'many' is invalid for argument 'size'. Must be a"],
  [['metric', 'post', 'load', 'high'], "'high' is invalid for argument 'value'. Must be a number."],
])('refuses a value that is no number: %j', async (words, message) => {
  const { status, text } = await run(words, unused);
  expect(status).toBe(2);
  expect(text).toContain(message);
});

it.each([
  [['stack', 'create', 'web', '-t', '/tmp'], '/tmp cannot be read: it is a folder'],
  [['stack', 'adopt', 'web', '--adopt-file', '/tmp'], 'Cannot read /tmp: it is a folder.'],
  [['image', 'add', 'disk', '--file', '/no/disk'], 'Cannot read /no/disk: its folder does not exist.'],
  [['run', 'true', '--all', '--script', '/tmp'], 'Give either a command or --script <file>.'],
  [['host', 'join', 'web', '--cacert', '/dev/null'], '/dev/null holds no certificate in PEM form.'],
  [['template', 'graph', 'WEB', '--out', '/no/graph'], 'Cannot open /no/graph: its folder does not exist.'],
  [['template', 'render', '--batch', '/tmp'], 'Cannot open /tmp: it is a folder.'],
  [['stack', 'create', 'web', '-t', ''], 'The name of a file is empty.'],
])('says why a file cannot be used: %j', async (words, message) => {
  const template = join(import.meta.dirname, '../../examples/first-steps/first.yaml');
  const { status, text } = await run(
    words.map((word) => (word === 'WEB' ? template : word)),
    unused,
  );
  expect([status, text]).toEqual([2, expect.stringContaining(message)]);
  expect(text).not.toMatch(/^ +at /m);
});

it('abandons no stack whose export it cannot write', async () => {
  const abandon = (): never => unused();
  const words = ['stack', 'abandon', 'web', '--yes', '--output-file', '/tmp'];
  const { status, text } = await run(words, unused, () => Promise.resolve({ actions: { abandon } }));
  expect([status, text]).toEqual([2, 'Error: Cannot open /tmp: it is a folder. (InvalidRequest)\n']);
});

it('prints why an action refuses a value', async () => {
  const refuse = (): never => {
    throw new InvalidArgumentError('Must be even.');
  };
  expect(await run(['metric', 'post', 'load', '3'], refuse)).toEqual({ status: 2, text: 'Error: Must be even.\n' });
});

it.each([
  [['node', 'show', 'lost'], 'There is no node with id or name lost.', 'node list'],
  [['queue', 'list', '--host', 'lost'], 'There is no host lost.', 'host list'],
  [['output', 'show', 'web', 'lost'], 'Specified output key lost not found.', 'output list web'],
  [['output', 'show', 'lost', 'a'], 'The Stack (lost) could not be found.', 'stack list'],
  [['subscription', 'delete', 'lost', '--yes'], 'There is no subscription lost.', 'subscription list'],
  [['workflow', 'execution', 'lost'], 'The execution lost does not exist in this project.', 'workflow executions'],
])('names the command that lists what exists: %j', async (words, message, list) => {
  const { status, text } = await run(words, () => {
    throw new AnnealError('NotFound', message);
  });
  expect(status).toBe(1);
  expect(text).toContain(
    `Error: ${message} (NotFound)\nRemedy: Check the name and the project. \`anneal ${list}\` shows what exists.\n`,
  );
});

it('runs on the host whose name differs only in the case of letters, when there is one', async () => {
  const hostsNamed = (...names: string[]): Promise<object> => {
    const all = names.map((name) => ({ id: `id of ${name}`, name, status: 'up' }));
    const storeConfig = (): never => {
      throw new AnnealError('Conflict', 'The hosts were found.');
    };
    return Promise.resolve({ hosts: { list: () => Promise.resolve(all) }, deployments: { storeConfig } });
  };
  const tried = async (...names: string[]): Promise<string> =>
    (await run(['run', 'true', '--hosts', 'web1'], () => hostsNamed(...names) as Promise<never>)).text;
  expect(await tried('Web1', 'web2')).toContain('The hosts were found.');
  expect(await tried('Web1', 'WEB1')).toContain(
    'There is no host web1, and WEB1 and Web1 differ from it only in the case',
  );
  expect(await tried('web-1')).toContain('Nothing was run: there is no host web1. The nearest name is web-1.');
});

it('reports one error when each of the requests of a list is refused', async () => {
  const refuse = (): Promise<never> => Promise.reject(new AnnealError('Forbidden', 'Only operators may.'));
  const parts = { stacks: { list: refuse }, why: { lines: refuse }, identity: { projects: { list: refuse } } };
  const { status, text } = await run(['stack', 'list', '--all-projects'], unused, () => Promise.resolve(parts));
  expect(status).toBe(1);
  expect(text).toMatch(/^Error: Only operators may. \(Forbidden\)\nRemedy: .*\n$/);
});

it('continues a watch when the server does not answer, and ends it at any other error', async () => {
  const answers = [
    () => Promise.resolve([]),
    () => Promise.reject(new AnnealError('Unavailable', 'No server answers.')),
    () => Promise.reject(new AnnealError('Forbidden', 'Only operators may.')),
  ];
  const nodes = { list: () => answers.shift()?.() };
  const { status, text } = await run(['node', 'list', '--watch'], unused, () => Promise.resolve({ nodes }), true);
  expect(status).toBe(1);
  expect(stripVTControlCharacters(text)).toMatch(
    /No nodes\.\nNo server answers\. Retrying\.\nError: Only operators may\./,
  );
});
