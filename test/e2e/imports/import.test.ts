/** A stack of a Heat is taken over with a machine that already runs, and nothing is changed by that. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  deleted,
  ownEnvironment,
  repository,
  resourcesOfStack,
  settled,
  startServer,
  type TestServer,
} from '../server.ts';
import { heatData, heatDeployments, heatFiles, heatIds, heatTemplate } from './heat-stack.ts';

let server: TestServer;
let folder: string;
let agent: ChildProcess | undefined;
const at = (name: string): string => join(folder, name);
const write = (name: string, value: unknown): Promise<void> => writeFile(at(name), JSON.stringify(value));

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-import-'));
  server = await startServer({ lab: 1 });
  const { hosts } = server.client;
  await write('seed.json', await hosts.seed({ url: (await hosts.join({ host: 'old-web' })).url }));
  agent = spawn(process.execPath, ['services/agent/main.ts', '--seed', at('seed.json'), '--directory', at('agent')], {
    cwd: repository,
    stdio: 'ignore',
    env: ownEnvironment(),
  });
  await eventually(async () => (await hosts.show({ host: 'old-web' })).status === 'up' || undefined, {
    what: 'the joined host being up',
  });
  await write('web.json', heatData(at('trace')));
  await write('deployments.json', heatDeployments);
  await writeFile(at('trace'), '');
});
afterAll(async () => {
  agent?.kill('SIGKILL');
  await server?.dispose();
  await rm(folder, { recursive: true, force: true });
});

const importing = (...words: string[]) =>
  server.anneal('stack', 'import', at('web.json'), '--deployments', at('deployments.json'), ...words);
const trace = async (): Promise<string> => readFile(at('trace'), 'utf8');
const idsOf = async (): Promise<JsonObject> => {
  const found = await resourcesOfStack(server, 'web');
  return Object.fromEntries([...found].map(([name, { physical_resource_id: id }]) => [name, id]));
};
const outputs = async (): Promise<JsonObject> =>
  Object.fromEntries(
    ((await settled(server, 'web')).outputs ?? []).map((one) => [one.output_key, one.output_value ?? null]),
  );

it('names every mistake before it changes anything', async () => {
  const data = heatData(at('trace')) as { resources: Record<string, JsonObject>; template: { resources: JsonObject } };
  Object.assign(data.resources['run_second'] ?? {}, { status: 'FAILED' });
  Object.assign(data.resources['first'] ?? {}, { resource_id: null, action: 'INIT' });
  data.resources['alarm'] = { type: 'OS::Aodh::Alarm', resource_id: 'x', action: 'CREATE', status: 'COMPLETE' };
  data.template.resources['alarm'] = { type: 'OS::Aodh::Alarm', properties: { meter_name: 'm', threshold: 1 } };
  data.template.resources['extra'] = { type: 'Some::Unknown::Type' };
  await write('wrong.json', data);
  const { status, stdout, stderr } = await server.anneal(
    'stack',
    'import',
    at('wrong.json'),
    '--host',
    'ghost=old-web',
  );
  expect([status, stdout]).toEqual([2, expect.stringContaining('nested stack')]);
  for (const mistake of [
    'resources.run_second is CREATE_FAILED; repair it there',
    'resources.first is INIT_COMPLETE and has no resource_id',
    'resources.extra is in the template, and the data has no object for it',
    'hosts.ghost is no server of this stack',
    'resources.server is a server, and no host is given for it',
    'resources.alarm has the type OS::Aodh::Alarm',
    'Some::Unknown::Type',
  ]) {
    expect(stderr).toContain(mistake);
  }
  const dry = await importing('--host', 'server=nothing', '--dry-run');
  expect([dry.status, dry.stderr]).toEqual([2, expect.stringContaining('gets the host nothing, which does not exist')]);
  expect(await server.client.stacks.list()).toEqual([]);
});

it('takes over a stack; the same template changes nothing, and a changed config runs alone', async () => {
  const dry = await importing('--host', 'server=old-web', '--dry-run');
  expect([dry.status, dry.stderr]).toEqual([0, '']);
  expect(dry.stdout).toMatch(/server +OS::Nova::Server +CREATE_COMPLETE +host +\S+ +host old-web, up/);
  expect(await server.client.stacks.list()).toEqual([]);

  // An abandon undoes the import, and the same file can be imported again.
  expect((await importing('--host', 'server=old-web', '--wait')).status).toBe(0);
  expect((await server.anneal('stack', 'abandon', 'web', '--yes')).status).toBe(0);
  await deleted(server, 'web');
  const done = await importing('--host', 'server=old-web', '--wait');
  expect([done.status, done.stderr], done.stdout).toMatchObject([0, expect.anything()]);
  const { stack_status: status, tags } = await settled(server, 'web');
  expect([status, tags]).toEqual(['ADOPT_COMPLETE', ['moved', 'rack-7']]);
  const host = await server.client.hosts.show({ host: 'old-web' });
  expect(host).toMatchObject({ server: { stack_name: 'web', resource_name: 'server' }, pending: 0 });
  const before = await idsOf();
  expect(before).toMatchObject({
    server: host.id,
    first: heatIds.first,
    second: heatIds.second,
    run_first: heatIds.runFirst,
    run_second: heatIds.runSecond,
  });
  const values = { said: 'hush-hush', token: 'drawn-by-heat', names: ['ann', 'bob'] };
  expect(await outputs()).toEqual(values);
  expect(JSON.stringify(await server.client.actions.export({ stack: 'web' }))).not.toContain('old-secret');

  const again = await importing('--host', 'server=old-web');
  expect([again.status, again.stderr]).toEqual([2, expect.stringContaining('Stack web exists already')]);
  const other = await importing('--host', 'server=old-web', '--name', 'other');
  expect([other.status, other.stderr]).toEqual([2, expect.stringContaining('is the server server of stack web')]);

  // The same template: an empty plan, and an update that changes and runs nothing.
  const bundle = (words?: [string, string]) => ({
    template: JSON.stringify(heatTemplate(at('trace'), words)),
    files: heatFiles,
    environmentFiles: [],
  });
  const plan = await server.client.actions.plan({ stack: 'web', existing: true, fresh: false, bundle: bundle() });
  expect(plan.changes.filter(({ change }) => change !== 'unchanged')).toEqual([]);
  await server.client.stacks.update({ stack: 'web', existing: true, bundle: bundle() });
  expect((await settled(server, 'web')).stack_status).toBe('UPDATE_COMPLETE');
  expect(await idsOf()).toEqual(before);
  expect([await outputs(), await trace()]).toEqual([values, '']);

  // A changed config: only its deployment runs.
  await server.client.stacks.update({ stack: 'web', existing: true, bundle: bundle(['one', 'three']) });
  expect((await settled(server, 'web')).stack_status).toBe('UPDATE_COMPLETE');
  expect(await trace()).toBe('three\n');
  const after = await idsOf();
  expect({ ...after, second: null }).toEqual({ ...before, second: null });
  expect(after['second']).not.toBe(before['second']);

  // The deletion returns the host, and leaves its machine and the nodes of the lab alone.
  await server.client.stacks.delete({ stack: 'web' });
  await deleted(server, 'web');
  const left = await server.client.hosts.show({ host: 'old-web' });
  expect([left.id, left.status, left.server]).toEqual([host.id, 'up', undefined]);
  expect((await server.client.nodes.list()).map(({ provision_state }) => provision_state)).toEqual(['available']);
});
