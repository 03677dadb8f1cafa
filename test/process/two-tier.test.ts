/** A front end that gets the address of its back end from a deployment: created, changed step by step, and deleted. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  bundle,
  deleted,
  isAlive,
  repository,
  resourcesOfStack,
  settled,
  startServer,
  type TestServer,
} from '../e2e/server.ts';

let server: TestServer;
let files: Record<string, string>;
let template: string;
beforeAll(async () => {
  const read = (name: string): Promise<string> => readFile(join(repository, 'test', 'demo', name), 'utf8');
  const names = ['backend.sh', 'frontend.sh', 'stop.sh'];
  files = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await read(name)] as const)));
  template = await read('two-tier.yaml');
  server = await startServer({ lab: 3 });
});
afterAll(() => server?.dispose());

interface Answer {
  version: string;
  config: string;
  backend: { version: string; config: string };
}

async function outputOf(stack: string, key: string): Promise<string> {
  const { output_value: value } = await server.client.stacks.output({ stack, key });
  if (typeof value !== 'string') throw new Error(`the output ${key} of ${stack} is ${JSON.stringify(value)}`);
  return value;
}

async function frontEnd(stack: string): Promise<Answer> {
  const response = await fetch(await outputOf(stack, 'url'), { signal: AbortSignal.timeout(5_000) });
  const text = await response.text();
  expect(response.ok, text).toBe(true);
  return JSON.parse(text) as Answer;
}

const addressOfBackEnd = (stack: string): Promise<string> => outputOf(stack, 'backend_address');

/** Resources that an update changed. */
async function touchedBy(stack: string, update: () => Promise<unknown>): Promise<string[]> {
  const marker = (await server.client.stacks.events({ stack, limit: 1, descending: true })).at(0)?.id;
  await update();
  expect(await settled(server, stack)).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
  const events = await server.client.stacks.events({ stack, marker, limit: 1000 });
  return [...new Set(events.map((event) => event.resource_name))].filter((name) => name !== stack).toSorted();
}

const set = (stack: string, parameters: Record<string, string>) =>
  server.client.stacks.update({ stack, existing: true, parameters });

/** The process that a deployment started, from its pid file on the machine. */
async function processOf(stack: string, deployment: 'backend' | 'frontend'): Promise<number> {
  const resources = await resourcesOfStack(server, stack);
  const host = resources.get(`${deployment}_host`) ?? resources.get('backend_host');
  const nodes = await server.client.nodes.list();
  const machine = nodes.find((node) => node.instance_uuid === host?.physical_resource_id)?.name;
  const disk = join(server.data, 'lab', 'machines', String(machine));
  const entries = await readdir(disk, { recursive: true });
  const file = entries.find((entry) => entry.endsWith(`/${deployment}/pid`));
  expect(file, `${deployment} left no pid on ${machine}: ${entries.join(' ')}`).toBeDefined();
  return Number(await readFile(join(disk, String(file)), 'utf8'));
}

const ended = (pids: readonly number[]): Promise<unknown> =>
  eventually(() => (pids.some(isAlive) ? undefined : true), { what: `processes ${pids.join(', ')} being gone` });

const logOfAll = async (): Promise<string> =>
  (await Promise.all(['machine-1', 'machine-2', 'machine-3'].map((name) => server.logOf(name)))).flat().join('\n');

describe('two tiers on two hosts', () => {
  it('are created with the address of the back end in the front end', async () => {
    await server.client.stacks.create({ name: 'shop', bundle: bundle(template, files) });
    expect((await settled(server, 'shop')).stack_status).toBe('CREATE_COMPLETE');
    expect(await frontEnd('shop')).toMatchObject({ version: '1.0', backend: { version: '1.0', config: 'stock=12' } });
    const resources = await resourcesOfStack(server, 'shop');
    expect(resources.get('backend_host')?.physical_resource_id).not.toBe(
      resources.get('frontend_host')?.physical_resource_id,
    );
  });

  it('change separately: a new version changes its component, and its dependents only when its outputs change', async () => {
    expect(await touchedBy('shop', () => set('shop', { frontend_version: '2.0' }))).toEqual(['frontend']);
    expect(await frontEnd('shop')).toMatchObject({ version: '2.0', backend: { version: '1.0' } });
    const before = await addressOfBackEnd('shop');
    expect(await touchedBy('shop', () => set('shop', { backend_version: '2.0' }))).toEqual(['backend']);
    expect(await addressOfBackEnd('shop')).toBe(before);
    expect(await frontEnd('shop')).toMatchObject({ version: '2.0', backend: { version: '2.0' } });
    // The same update again does nothing.
    expect(await touchedBy('shop', () => set('shop', { backend_version: '2.0' }))).toEqual([]);
  });

  it('stay connected: the front end finds its back end on a new port', async () => {
    const before = await addressOfBackEnd('shop');
    const old = await processOf('shop', 'backend');
    process.kill(old, 'SIGKILL');
    await ended([old]);
    expect(await touchedBy('shop', () => set('shop', { backend_version: '3.0' }))).toEqual(['backend', 'frontend']);
    expect(await addressOfBackEnd('shop')).not.toBe(before);
    expect(await frontEnd('shop')).toMatchObject({ version: '2.0', backend: { version: '3.0' } });
  });

  it('are stopped by their DELETE configs, and the hosts stay', async () => {
    const pids = [await processOf('shop', 'backend'), await processOf('shop', 'frontend')];
    // The template without the deployments and the outputs, which are at its end.
    const hostsAlone = template.slice(0, template.indexOf('\n  backend:\n') + 1);
    const touched = await touchedBy('shop', () =>
      server.client.stacks.update({ stack: 'shop', bundle: bundle(hostsAlone, files) }),
    );
    expect(touched).toEqual(['backend', 'frontend']);
    await ended(pids);
    for (const name of ['backend', 'frontend']) expect(await logOfAll()).toContain(`${name} stopped`);
    await server.client.stacks.delete({ stack: 'shop' });
    await deleted(server, 'shop');
  });
});

describe('two tiers on one host', () => {
  it('share the host’s queue in order, and leave no process behind', async () => {
    const together = template
      .replace(/\n {2}frontend_host:\n(?: {4}.*\n)+/, '\n')
      .replace('get_resource: frontend_host', 'get_resource: backend_host');
    await server.client.stacks.create({ name: 'stall', bundle: bundle(together, files) });
    expect((await settled(server, 'stall')).stack_status).toBe('CREATE_COMPLETE');
    expect(await frontEnd('stall')).toMatchObject({ version: '1.0', backend: { version: '1.0' } });
    const { id } = await server.client.stacks.find({ stack: 'stall' });
    const runs = await server.client.deployments.list({ stack: id });
    const [backend, frontend] = ['backend', 'frontend'].map((name) =>
      runs.find(({ resource_name: resource }) => resource === name),
    );
    expect(backend?.host_id).toBe(frontend?.host_id);
    expect(String(backend?.finished_at) <= String(frontend?.started_at)).toBe(true);

    // Both changes go through the same queue: the back end first, because the front end uses its output.
    await set('stall', { backend_version: '2.0', frontend_version: '2.0' });
    expect((await settled(server, 'stall')).stack_status).toBe('UPDATE_COMPLETE');
    expect(await frontEnd('stall')).toMatchObject({ version: '2.0', backend: { version: '2.0' } });

    const pids = [await processOf('stall', 'backend'), await processOf('stall', 'frontend')];
    await server.client.stacks.delete({ stack: 'stall' });
    await deleted(server, 'stall');
    await ended(pids);
    const removals = (await server.client.events.list({ types: ['deployment.completed'], limit: 1000 })).filter(
      ({ data }) => JSON.stringify(data).includes('"DELETE"') && JSON.stringify(data).includes(id),
    );
    expect(removals).toHaveLength(2);
  });
});
