/** Tests the APIs of nodes and images with the OpenStack clients from PyPI. */
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useOpenstackClients, type ClientRow } from './clients.ts';

const clients = useOpenstackClients({ lab: 2 });
const { openstack, ok, rows, row, program } = clients;

it('list nodes, inspect them and make them available again', async () => {
  const nodes = await rows('baremetal', 'node', 'list');
  expect(nodes.map((each) => each['name'])).toEqual(['machine-1', 'machine-2']);
  await ok('baremetal', 'node', 'manage', 'machine-2', '--wait', '30');
  await ok('baremetal', 'node', 'inspect', 'machine-2', '--wait', '30');
  await ok('baremetal', 'node', 'provide', 'machine-2', '--wait', '30');
  const wrong = await openstack('baremetal', 'node', 'provide', 'machine-2');
  expect(wrong.stderr).toContain('Cannot apply "provide"');
  // A final refusal: the client must not retry for seconds.
  expect(wrong.stderr).not.toContain('Attempt');
});

it('list, show and find images', async () => {
  const sha256 = 'ab'.repeat(32);
  const url = 'http://images.test/small.raw';
  await clients.server.client.images.add({ name: 'small', url, sha256, size: 4096 });
  expect(await rows('image', 'list')).toMatchObject([{ Name: 'small', Status: 'active' }]);
  const shown = await row('image', 'show', 'small');
  expect(shown).toMatchObject({ name: 'small', size: 4096, disk_format: 'raw', status: 'active' });
  expect((await openstack('image', 'show', 'no-such-image')).stderr).toContain('No Image found');
  const saved = await openstack('image', 'save', 'small', '--file', join(clients.directory, 'small.raw'));
  // Anneal keeps no content. The client compares what it got with the checksum, and refuses it.
  expect(saved.status).toBe(1);
});

it('upload, save and delete images', async () => {
  const file = join(clients.directory, 'upload.raw');
  const content = randomBytes(3_000_000);
  await writeFile(file, content);
  const created = await row('image', 'create', 'uploaded', '--file', file, '--disk-format', 'raw', '--public');
  expect(created).toMatchObject({ name: 'uploaded' });
  const shown = await row('image', 'show', 'uploaded');
  expect(shown).toMatchObject({ status: 'active', size: content.length, disk_format: 'raw' });
  const saved = join(clients.directory, 'saved.raw');
  await ok('image', 'save', 'uploaded', '--file', saved);
  expect((await readFile(saved)).equals(content)).toBe(true);
  const again = await openstack('image', 'create', 'uploaded', '--file', file, '--disk-format', 'raw');
  expect(again.stderr).toContain('already exists');
  const other = await openstack('image', 'create', 'vmdk', '--file', file, '--disk-format', 'vmdk');
  expect(other.stderr).toContain('must be raw or qcow2');
  await ok('image', 'delete', 'uploaded');
  expect((await rows('image', 'list')).map(({ Name: name }) => name)).toEqual(['small']);
});

it('describe images to the library of Glance, and sort them', async () => {
  expect(await program('image-client.py', `${clients.server.url}/identity/v3`, clients.password)).toEqual({
    up: ['glance-a', 'glance-b'],
    down: ['glance-b', 'glance-a'],
    shown: { name: 'glance-a', status: 'active', size: 8, os_type: 'linux' },
    content: 'glance-b',
    refused: expect.stringContaining('Invalid sort key: bogus') as string,
    left: [],
  });
});

it('describe, retire, adopt, protect and service nodes', async () => {
  const node = (...words: string[]): Promise<string> => ok('baremetal', 'node', ...words);
  const shown = async (): Promise<ClientRow> => await row('baremetal', 'node', 'show', 'machine-2');
  await node('set', 'machine-2', '--description', 'spare', '--owner', 'lab', '--lessee', 'tests');
  await node('manage', 'machine-2', '--wait', '30');
  await node('set', 'machine-2', '--retired', '--retired-reason', 'old');
  expect(await shown()).toMatchObject({ description: 'spare', owner: 'lab', lessee: 'tests', retired: true });
  const retired = await openstack('baremetal', 'node', 'provide', 'machine-2');
  expect(retired.stderr).toContain('retired (old)');
  await node('unset', 'machine-2', '--retired', '--lessee', '--description');
  expect(await shown()).toMatchObject({ description: null, lessee: null, retired: false });

  await node('adopt', 'machine-2', '--wait', '30');
  await node('set', 'machine-2', '--protected');
  expect((await openstack('baremetal', 'node', 'undeploy', 'machine-2')).stderr).toContain('is protected');
  await node('unset', 'machine-2', '--protected');
  const steps = [{ interface: 'management', step: 'set_secure_boot', args: { enabled: true } }];
  await node('service', 'machine-2', '--service-steps', JSON.stringify(steps), '--wait', '60');
  expect((await openstack('baremetal', 'node', 'rebuild', 'machine-2')).stderr).toContain('has no server');
  await node('undeploy', 'machine-2', '--wait', '60');
});

it('run runbooks, and read history, ports, drivers and checks of a node', async () => {
  const node = (...words: string[]): Promise<string> => ok('baremetal', 'node', ...words);
  const step = JSON.stringify([{ interface: 'power', step: 'wait', args: { seconds: 1 }, order: 1 }]);
  await ok('baremetal', 'runbook', 'create', '--name', 'CUSTOM_WAIT', '--steps', step);
  await node('add', 'trait', 'machine-2', 'CUSTOM_WAIT');
  await node('manage', 'machine-2', '--wait', '30');
  const clean = ['baremetal', 'node', 'clean', 'machine-2', '--runbook', 'CUSTOM_WAIT', '--wait', '60'];
  expect((await openstack(...clean)).stderr).toContain('it fits no node');
  await ok('baremetal', 'runbook', 'trait', 'add', 'CUSTOM_WAIT', 'CUSTOM_WAIT');
  await ok(...clean);
  expect(await rows('baremetal', 'runbook', 'list')).toMatchObject([{ name: 'CUSTOM_WAIT' }]);
  await ok('baremetal', 'runbook', 'delete', 'CUSTOM_WAIT');
  await node('provide', 'machine-2', '--wait', '30');

  const history = await rows('baremetal', 'node', 'history', 'list', 'machine-2');
  expect(history[0]).toMatchObject({ severity: 'INFO', event: expect.stringContaining('→ available') });
  expect(await rows('baremetal', 'port', 'list', '--node', 'machine-2')).toHaveLength(2);
  expect(await rows('baremetal', 'driver', 'list')).toMatchObject([{ name: 'ipmi' }, { name: 'redfish' }]);
  const checks = await rows('baremetal', 'node', 'validate', 'machine-2');
  expect(checks).toContainEqual(expect.objectContaining({ Interface: 'power', Result: true }));
  for (const list of ['shard', 'port group', 'volume target', 'conductor', 'deploy template'])
    await rows('baremetal', ...list.split(' '), 'list');
  const old = await openstack('--os-baremetal-api-version', '1.60', 'baremetal', 'runbook', 'list');
  expect(old.stderr).toContain('exists since version 1.92');
  const console = await openstack('baremetal', 'node', 'console', 'enable', 'machine-2');
  expect(console.stderr).toContain('the BMC serves its lights and its consoles');
  expect((await openstack('baremetal', 'node', 'console', 'show', 'machine-2')).stdout).toContain('ssh://admin@');
});

it('declare chassis, ports, port groups and volumes, and reserve a node', async () => {
  const bare = (...words: string[]): Promise<string> => ok('baremetal', ...words);
  const { uuid: chassis } = await row('baremetal', 'chassis', 'create', '--description', 'rack 1');
  await bare('node', 'set', 'machine-2', '--chassis-uuid', String(chassis));
  expect((await openstack('baremetal', 'chassis', 'delete', String(chassis))).stderr).toContain('contains nodes');
  await bare('node', 'unset', 'machine-2', '--chassis-uuid');
  await bare('chassis', 'set', String(chassis), '--extra', 'a=b');
  expect(await row('baremetal', 'chassis', 'show', String(chassis))).toMatchObject({ extra: { a: 'b' } });
  await bare('chassis', 'delete', String(chassis));

  const { uuid: node } = await row('baremetal', 'node', 'show', 'machine-2');
  const { uuid: group } = await row('baremetal', 'port', 'group', 'create', '--node', String(node), '--name', 'bond0');
  const more = ['--node', String(node), '--port-group', String(group)];
  const { uuid: port } = await row('baremetal', 'port', 'create', '52:54:00:77:00:01', ...more);
  expect((await openstack('baremetal', 'port', 'group', 'delete', 'bond0')).stderr).toContain('contains ports');
  await bare('port', 'unset', String(port), '--port-group');
  for (const words of [`port delete ${String(port)}`, 'port group delete bond0']) await bare(...words.split(' '));
  const connector = ['--node', String(node), '--type', 'iqn', '--connector-id', 'iqn.2026-01.test:a'];
  const { uuid: volume } = await row('baremetal', 'volume', 'connector', 'create', ...connector);
  await bare('node', 'power', 'off', 'machine-2');
  await bare('volume', 'connector', 'delete', String(volume));

  const candidate = [
    '--resource-class',
    'baremetal',
    '--candidate-node',
    'machine-2',
    '--name',
    'mine',
    '--wait',
    '30',
  ];
  expect(await row('baremetal', 'allocation', 'create', ...candidate)).toMatchObject({ node_uuid: node });
  await bare('allocation', 'delete', 'mine');
});

it('make inspection rules, which run after each inspection', async () => {
  const bare = (...words: string[]): Promise<string> => ok('baremetal', ...words);
  const rule = (name: string, parts: { conditions?: object[]; actions: object[] }, ...more: string[]) => {
    const { conditions = [], actions } = parts;
    const words = ['--conditions', JSON.stringify(conditions), '--actions', JSON.stringify(actions), ...more];
    return row('baremetal', 'inspection', 'rule', 'create', '--description', name, ...words);
  };
  const many = { op: 'gt', args: { values: ['{inventory[cpu][count]}', 0] } };
  const trait = { op: 'add-trait', args: { name: 'CUSTOM_INSPECTED' } };
  const set = {
    op: 'set-attribute',
    args: { path: '/extra/vendor', value: '{inventory[system_vendor][manufacturer]}' },
  };
  const { uuid } = await rule('mark', { conditions: [many], actions: [trait, set] }, '--priority', '100');
  const fails = { op: 'fail', args: { msg: 'no such machine' } };
  const never = { op: '!one-of', args: { value: '{node.name}', values: ['machine-1', 'machine-2'] } };
  const { uuid: other } = await rule('never', { conditions: [never], actions: [fails] });
  const listed = await rows('baremetal', 'inspection', 'rule', 'list');
  expect(listed.map((each) => each['Description'] ?? each['description'])).toEqual(['mark', 'never']);
  expect(await row('baremetal', 'inspection', 'rule', 'show', String(uuid))).toMatchObject({
    priority: 100,
    actions: [trait, set],
  });
  const port = { op: 'set-port-attribute', args: { port_id: 'x', path: '/extra/a', value: 1 } };
  const refused = ['inspection', 'rule', 'create', '--actions', JSON.stringify([port])];
  expect((await openstack('baremetal', ...refused)).stderr).toContain('Change the port by PATCH');

  await bare('node', 'manage', 'machine-1', '--wait', '30');
  await bare('node', 'inspect', 'machine-1', '--wait', '30');
  expect(await row('baremetal', 'node', 'show', 'machine-1')).toMatchObject({
    traits: ['CUSTOM_INSPECTED'],
    extra: { vendor: expect.stringMatching(/\w/) },
  });
  await bare('inspection', 'rule', 'set', String(other), '--conditions', '[]', '--priority', '50');
  const failed = await openstack('baremetal', 'node', 'inspect', 'machine-1', '--wait', '30');
  expect(failed.stderr).toContain('An inspection rule refuses the machine: no such machine');
  await bare('inspection', 'rule', 'unset', String(other), '--priority');
  await bare('inspection', 'rule', 'delete', String(other), String(uuid));
  expect(await rows('baremetal', 'inspection', 'rule', 'list')).toEqual([]);
  await bare('node', 'inspect', 'machine-1', '--wait', '30');
  await bare('node', 'provide', 'machine-1', '--wait', '60');
});
