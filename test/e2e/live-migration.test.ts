/** The example of a live migration: a workflow empties a host before its upgrade, also when the server dies meanwhile. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import type { ExecutionView } from '@anneal/contracts/calls/workflow.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { repository, settled, startServer, type TestServer } from './server.ts';

const folder = join(repository, 'examples/live-migration');
let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 3 });
});
afterAll(() => server?.dispose());

const anneal = async (...words: string[]): Promise<void> => {
  const { status, stderr, stdout } = await server.anneal(...words);
  expect(status, `${stdout}\n${stderr}`).toBe(0);
};
const stack = (verb: string, ...words: string[]) =>
  anneal('stack', verb, 'cloud', '-t', join(folder, 'cloud.yaml'), '-e', join(folder, 'hooks.json'), ...words);
const executions = (): Promise<ExecutionView[]> => server.client.executions.list({ limit: 100 });

/** The names of all instances, by host. */
async function instances(): Promise<string[]> {
  const files = await readdir(server.data, { recursive: true, withFileTypes: true });
  return files.filter((file) => file.parentPath.endsWith('/instances')).map(({ name }) => name);
}
async function versions(): Promise<string[]> {
  const files = await readdir(server.data, { recursive: true, withFileTypes: true });
  const found = files.filter((file) => file.name === 'version' && file.isFile());
  return Promise.all(found.map(({ parentPath, name }) => readFile(join(parentPath, name), 'utf8')));
}

it('moves the instances of each host before its upgrade, and loses none when the server is killed', async () => {
  await stack('create', '--wait');
  const all = (await instances()).sort();
  expect(all).toHaveLength(6);
  await stack('update', '-P', 'version=2', '--no-wait');
  // The first migration runs.
  await eventually(async () => ((await executions()).length > 0 ? true : undefined), {
    what: 'the first migration',
  });
  await server.kill();
  await server.start();
  const ended = await settled(server, 'cloud', 120_000);
  expect(ended.stack_status, ended.stack_status_reason ?? '').toBe('UPDATE_COMPLETE');
  expect((await instances()).sort()).toEqual(all);
  expect(await versions()).toEqual(['2', '2', '2']);
  const runs = await executions();
  expect(runs.map(({ state }) => state)).toEqual(['SUCCESS', 'SUCCESS', 'SUCCESS']);
});
