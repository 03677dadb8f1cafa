/**
 * The example listener over a WebSocket, with a client library that others wrote: it prints each event of a stack once or
 * again, in order, and misses none, while the server and the listener are killed.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { installFromPypi, requirementsOf } from '../backends/pypi.ts';
import { bundle, ownEnvironment, repository, settled, startServer, type TestServer } from '../e2e/server.ts';

const examples = join(repository, 'examples', 'listeners');
const installed = await installFromPypi(await requirementsOf(examples));
const missing = 'missing' in installed ? installed.missing : undefined;
if (missing !== undefined) process.stderr.write(`Skipped: the listener over a WebSocket. ${missing}\n`);

let server: TestServer;
let folder: string;
let listener: ChildProcess | undefined;
let errors = '';
beforeAll(async () => {
  if (missing !== undefined) return;
  server = await startServer({ lab: 0 });
  folder = await mkdtemp(join(tmpdir(), 'anneal-listener-'));
});
afterAll(async () => {
  await killListener();
  await server?.dispose();
  if (folder) await rm(folder, { recursive: true, force: true });
});

async function startListener(): Promise<void> {
  const login = JSON.parse(await readFile(join(server.data, 'credentials.json'), 'utf8')) as Record<string, string>;
  const env = {
    ...ownEnvironment(),
    OS_AUTH_URL: login['auth_url'],
    OS_USERNAME: login['username'],
    OS_PASSWORD: login['password'],
    OS_PROJECT_NAME: login['project_name'],
  };
  const python = 'missing' in installed ? '' : join(installed.bin, 'python');
  const words = [join(examples, 'listen_websocket.py'), '--last', join(folder, 'last'), '--stack', 'web'];
  errors = '';
  const child = spawn(python, words, { env });
  listener = child;
  child.stdout.on('data', (chunk: Buffer) => appendFileSync(join(folder, 'events'), chunk));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await eventually(() => errors.includes('listening'), { what: 'the listener listening', last: () => errors });
}

async function killListener(): Promise<void> {
  const ending = listener;
  listener = undefined;
  if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
  // After the close both streams have ended.
  const closed = new Promise<void>((resolve) => ending.once('close', () => resolve()));
  ending.kill('SIGKILL');
  await closed;
}

/** The ids in the order in which they were printed first. A kill can leave a part of a line, which comes again. */
function printed(): string[] {
  const path = join(folder, 'events');
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
  const ids = lines.flatMap((line) => {
    try {
      return [(JSON.parse(line) as AnnealEvent).id];
    } catch {
      return [];
    }
  });
  return [...new Set(ids)];
}

const template = (word: string): string => `heat_template_version: 2018-08-31
resources:
  many:
    type: OS::Heat::ResourceGroup
    properties: {count: 10, resource_def: {type: OS::Heat::TestResource, properties: {value: ${word}}}}
`;

it.skipIf(missing !== undefined)('misses no event over kills of the server and of itself', async () => {
  await server.client.stacks.create({ name: 'web', bundle: bundle(template('w0')) });
  expect((await settled(server, 'web')).stack_status).toBe('CREATE_COMPLETE');
  const stored = async (): Promise<string[]> =>
    (await server.client.events.list({ stack: 'web', after: 'beginning', limit: 1000 })).map(({ id }) => id);
  await writeFile(join(folder, 'last'), 'beginning');
  await startListener();
  const harms = [
    () => server.kill().then(() => server.start()),
    () => killListener().then(() => startListener()),
    async () => {
      await killListener();
      await server.kill();
      await server.start();
      await startListener();
    },
  ];
  for (const [round, harm] of harms.entries()) {
    await server.client.stacks.update({ stack: 'web', bundle: bundle(template(`w${round + 1}`)) });
    await harm();
    expect((await settled(server, 'web', 120_000)).stack_status).toBe('UPDATE_COMPLETE');
  }
  // The log stores the last events a moment after the stack is settled.
  let expected: string[] = [];
  await eventually(
    async () => {
      expected = await stored();
      const last = await server.client.events.list({ stack: 'web', types: ['stack.update.completed'] });
      return last.length >= harms.length && printed().length >= expected.length;
    },
    {
      what: 'all events being printed',
      last: () => ({ printed: printed().length, expected: expected.length, errors }),
    },
  );
  expect(printed()).toEqual(expected);
  expect(expected.length).toBeGreaterThan(80);
});
