/**
 * The example `examples/slurm` in the lab: head and compute nodes that need each other's addresses, scaled 2 → 5 → 3 while
 * the server is killed.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ContextView } from '@anneal/contracts/calls/context.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleted, settled, startServer, type TestServer } from './server.ts';

const machines = Array.from({ length: 6 }, (_, index) => `machine-${index + 1}`);
let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: machines.length });
});
afterAll(() => server?.dispose());

const stack = 'slurm';
const minutesMs = 180_000;

async function anneal(...words: string[]): Promise<string> {
  const { status, stdout, stderr } = await server.anneal(...words);
  expect(status, stderr).toBe(0);
  return stdout;
}
const update = (nodes: number) =>
  anneal('stack', 'update', stack, '-t', 'examples/slurm/cluster.yaml', '-P', `nodes=${nodes}`);
async function complete(): Promise<void> {
  const found = await settled(server, stack, minutesMs);
  expect(found.stack_status, found.stack_status_reason ?? '').toMatch(/_COMPLETE$/);
}
const show = (): Promise<ContextView> => server.client.contexts.show({ context: 'cluster' });

/** The lines `context N: M machines` in the logs, by host name. */
async function runs(): Promise<Record<string, string[]>> {
  const lines = (await Promise.all(machines.map((machine) => server.logOf(machine)))).flat();
  const found = lines.flatMap((line) => /^\S+ (\S+) slurm: (context .*)$/.exec(line)?.slice(1, 3) ?? []);
  const pairs = Array.from({ length: found.length / 2 }, (_, index) => found.slice(2 * index, 2 * index + 2));
  const by = Map.groupBy(pairs, ([host]) => host ?? '');
  return Object.fromEntries([...by].map(([host, each]) => [host, each.map(([, text]) => text ?? '')]));
}

/** The files that the configs wrote on a machine, by the name of its host. */
async function filesOf(name: string): Promise<{ hosts: string[]; conf: string }> {
  for (const machine of machines) {
    const root = join(server.data, 'lab', 'machines', machine, 'disk', 'root');
    const [log, hosts, conf] = await Promise.all([
      server.logOf(machine),
      readFile(join(root, 'slurm', 'hosts'), 'utf8').catch(() => ''),
      readFile(join(root, 'slurm', 'slurm.conf'), 'utf8').catch(() => ''),
    ]);
    if (log.at(-1)?.split(' ')[1] === name) return { hosts: hosts.split('\n').filter(Boolean).toSorted(), conf };
  }
  throw new Error(`no machine is ${name}`);
}

/** Every file on every member lists exactly the members. */
async function expectFiles(names: readonly string[]): Promise<void> {
  const { data } = await show();
  expect(data.members.map(({ name }) => name)).toEqual(names.toSorted());
  const lines = data.members.map(({ name, address }) => `${address} ${name}`).toSorted();
  expect(new Set(lines.map((line) => line.split(' ')[0])).size).toBe(names.length);
  for (const name of names) {
    const { hosts, conf } = await filesOf(name);
    expect(hosts, name).toEqual(lines);
    const nodes = [...conf.matchAll(/^NodeName=(\S+)/gm)].map(([, node = '']) => node);
    expect(
      nodes.toSorted((a, b) => (a < b ? -1 : 1)),
      name,
    ).toEqual(names.filter((each) => each !== 'head').toSorted());
  }
}

const nodes = (count: number): string[] => Array.from({ length: count }, (_, index) => `node-${index}`);

describe('a cluster whose machines know each other', () => {
  it('is created, grown and shrunk; each remaining machine runs each version once', { timeout: 600_000 }, async () => {
    await anneal('stack', 'create', stack, '-t', 'examples/slurm/cluster.yaml', '-P', 'nodes=2');
    await complete();
    await expectFiles(['head', ...nodes(2)]);
    const first = 'context 1: 3 machines';
    expect(await runs()).toEqual({ head: [first], 'node-0': [first], 'node-1': [first] });

    await update(5);
    await eventually(async () => ((await show()).data.version === 2 ? true : undefined), { within: minutesMs });
    await server.kill();
    await server.start();
    await complete();
    await expectFiles(['head', ...nodes(5)]);
    const second = 'context 2: 6 machines';
    expect(await runs()).toEqual({
      ...Object.fromEntries(['head', ...nodes(2)].map((name) => [name, [first, second]])),
      ...Object.fromEntries(
        nodes(5)
          .slice(2)
          .map((name) => [name, [second]]),
      ),
    });

    await update(3);
    await server.kill();
    await server.start();
    await complete();
    await expectFiles(['head', ...nodes(3)]);
    const third = 'context 3: 4 machines';
    const after = await runs();
    expect(Object.fromEntries(['head', ...nodes(3)].map((name) => [name, after[name]]))).toEqual({
      ...Object.fromEntries(['head', ...nodes(2)].map((name) => [name, [first, second, third]])),
      'node-2': [second, third],
    });
    expect(JSON.parse(await anneal('output', 'show', stack, 'nodes', '-o', 'json'))).toMatchObject({
      output_value: nodes(3),
    });
  });

  it('is shown to programs: unchanged data is a 304, a change ends the wait', async () => {
    const { id, data } = await show();
    expect(JSON.parse(await anneal('context', 'list', '-o', 'json'))).toMatchObject([{ id, stack_name: stack }]);
    expect(await anneal('context', 'show', 'cluster')).toContain('node-2');
    const leaving = new AbortController();
    const seen: ContextView[] = [];
    const watching = (async () => {
      for await (const shown of server.client.contexts.follow({ context: id, signal: leaving.signal }))
        seen.push(shown);
    })();
    await eventually(() => (seen.length === 1 ? true : undefined), { what: 'the first view' });
    const path = `/contexts/${id}`;
    const first = await server.client.connection.call({ service: 'api', path, what: 'read the context' });
    const tag = first.headers.get('etag') ?? '';
    expect(tag).not.toBe('');
    const headers = { 'if-none-match': tag };
    const again = await server.client.connection.call({ service: 'api', path, headers, what: 'read the context' });
    expect([again.status, await again.text()]).toEqual([304, '']);
    await update(4);
    await eventually(() => (seen.at(-1)?.data.version === data.version + 1 ? true : undefined), {
      within: minutesMs,
      what: 'the new version in the watch',
      last: () => seen.map((each) => each.data.version),
    });
    leaving.abort();
    await watching;
    await complete();
    await server.client.stacks.delete({ stack });
    await deleted(server, stack, minutesMs);
    expect(await server.client.contexts.list()).toEqual([]);
  });
});
