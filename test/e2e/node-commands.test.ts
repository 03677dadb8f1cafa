/** The commands for nodes, with a server and a machine of its lab. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startServer, type TestServer } from './server.ts';

let server: TestServer;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-node-commands-'));
  server = await startServer({ lab: 1 });
});
afterAll(async () => {
  await server?.dispose();
  await rm(folder, { recursive: true, force: true });
});

const node = (): Promise<Record<string, unknown>> => server.client.nodes.show({ node: 'machine-1' });
async function run(...words: string[]): Promise<string> {
  const { status, stdout, stderr } = await server.anneal(...words);
  expect({ status, stderr }, words.join(' ')).toEqual({ status: 0, stderr: '' });
  return stdout;
}
async function fileOf(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}

it('sets properties as JSON, as text, and as names that look like numbers', async () => {
  const given = ['root_device={"serial": "S1"}', 'cpus=8', 'note=a "quoted" word', 'rack=007', 'ratio={"half'];
  await run('node', 'set', 'machine-1', ...given.flatMap((property) => ['--property', property]));
  const expected = { root_device: { serial: 'S1' }, cpus: 8, note: 'a "quoted" word', rack: '007', ratio: '{"half' };
  expect((await node())['properties']).toMatchObject(expected);
  await run('node', 'set', 'machine-1', '--property', 'root_device=', '--property', 'note=');
  expect(Object.keys((await node())['properties'] as object)).not.toEqual(expect.arrayContaining(['note']));
  expect((await node())['properties']).not.toHaveProperty('root_device');
  const { status, stderr } = await server.anneal('node', 'set', 'machine-1', '--property', '{"serial": "S1"}');
  expect(status).toBe(2);
  expect(stderr).toContain('--property: expected name=value, such as rack=r1');
});

it('creates inspection rules from files, which change a node at its inspection, and deletes them', async () => {
  const rule = await fileOf(
    'rule.yaml',
    `description: machines of the lab
priority: 100
conditions: [{ op: contains, args: { value: '{inventory[system_vendor][manufacturer]}', regex: (?i)anneal } }]
actions: [{ op: add-trait, args: { name: CUSTOM_LAB } }]
`,
  );
  const created = JSON.parse(await run('inspection-rule', 'create', rule, '-o', 'json')) as { uuid: string };
  const later = await fileOf('later.json', JSON.stringify({ actions: [{ op: 'log', args: { msg: 'inspected' } }] }));
  await run('inspection-rule', 'create', later);
  const lines = (await run('inspection-rule', 'list')).trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(lines[1]).toMatch(new RegExp(`^100 +machines of the lab +${created.uuid}$`));
  const offered = await run('completion-server', 'bash', '--', 'inspection-rule', 'show', '');
  expect(offered).toContain(created.uuid);
  expect(JSON.parse(await run('inspection-rule', 'show', 'machines of the lab', '-o', 'json'))).toEqual(created);
  expect(await run('inspection-rule', 'show', created.uuid)).toMatch(
    /actions +- op: add-trait\n +args:\n +name: CUSTOM_LAB/,
  );

  const becomes = async (state: string): Promise<void> => {
    let last: unknown;
    await eventually(async () => (last = (await node())['provision_state']) === state, {
      what: `the node being ${state}`,
      last: () => last,
    });
  };
  await run('node', 'provide', 'machine-1', '--verb', 'manage');
  await becomes('manageable');
  await run('node', 'provide', 'machine-1', '--verb', 'inspect');
  await eventually(async () => ((await node())['traits'] as string[]).includes('CUSTOM_LAB'), {
    what: 'the trait that the rule adds',
  });
  await becomes('manageable');

  await run('inspection-rule', 'delete', 'machines of the lab', '--yes');
  expect(await run('inspection-rule', 'list')).not.toContain(created.uuid);
  const gone = await server.anneal('inspection-rule', 'show', created.uuid);
  expect(gone).toMatchObject({ status: 1, stderr: expect.stringContaining(created.uuid) });
});

it.each([
  ['list.yaml', '- op: fail\n', 'holds no inspection rule, such as {actions:'],
  ['broken.yaml', 'actions: [', 'broken.yaml is not YAML: '],
  ['unknown.yaml', 'actions: [{op: teleport, args: []}]', 'actions'],
  ['port.yaml', 'actions: [{op: set-port-attribute, args: []}]', 'Anneal has no action set-port-attribute.'],
])('refuses the inspection rule of %s', async (name, text, reason) => {
  const { status, stderr } = await server.anneal('inspection-rule', 'create', await fileOf(name, text));
  expect(stderr).toContain(reason);
  expect(status).toBe(2);
});
