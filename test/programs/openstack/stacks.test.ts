/** Tests the APIs of stacks, configs, queues and events with the OpenStack clients from PyPI, because operators use them. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useOpenstackClients, type ClientRow } from './clients.ts';

const clients = useOpenstackClients({ lab: 2 });
const { openstack, ok, rows, row } = clients;

it('log in and find every API in the catalog', async () => {
  const token = await row('token', 'issue');
  expect(token['project_id']).toBe('00000000000000000000000000000001');
  const types = (await rows('catalog', 'list')).map((each) => each['Type']);
  expect(new Set(types)).toEqual(
    new Set(['baremetal', 'identity', 'image', 'messaging', 'orchestration', 'workflowv2']),
  );
});

it('name a region without a description', async () => {
  await ok('region', 'create', 'West');
  await ok('region', 'delete', 'West');
});

it('create a stack and wait for it, read it, update it, delete it', async () => {
  const template = 'test/fixtures/ordered-config.yaml';
  const created = await ok('stack', 'create', '-t', template, '--parameter', 'key_name=k', '--wait', 'web');
  expect(created).toContain('[web.configB]: CREATE_COMPLETE  state changed');
  expect(created).toContain('Stack CREATE completed successfully');
  const resources = await rows('stack', 'resource', 'list', 'web');
  expect(resources.map((each) => each['resource_status'])).toEqual(Array.from({ length: 4 }, () => 'CREATE_COMPLETE'));
  const updated = await ok('stack', 'update', '--existing', '--parameter', 'key_name=l', '--wait', 'web');
  expect(updated).toContain('UPDATE_COMPLETE');
  const shown = (await row('stack', 'show', 'web')) as { parameters: ClientRow };
  expect(shown.parameters['key_name']).toBe('l');
  expect(await rows('software', 'config', 'list')).toHaveLength(2);
  await ok('stack', 'delete', '--yes', '--wait', 'web');
  expect(await rows('stack', 'list')).toEqual([]);
  await expect(ok('stack', 'show', 'web')).rejects.toThrow(
    /^openstack stack show web ended with 1\n\nStack not found: web/,
  );
});

const inner = `heat_template_version: 2018-08-31
parameters: {word: {type: string}}
resources: {leaf: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}}
outputs: {said: {value: {get_attr: [leaf, output]}}}
`;
const outer = `heat_template_version: 2018-08-31
parameters: {word: {type: string, default: one}, fail: {type: boolean, default: false}}
resources:
  a: {type: OS::Heat::TestResource, properties: {value: {get_param: word}, fail: {get_param: fail}}}
  b: {type: My::Inner, properties: {word: {get_attr: [a, output]}}}
outputs: {said: {value: {get_attr: [b, said]}}}
`;
/** A nested stack whose type is mapped to a file by its environment. */
const nested = async (): Promise<string[]> => {
  await writeFile(join(clients.directory, 'inner.yaml'), inner);
  await writeFile(join(clients.directory, 'outer.yaml'), outer);
  await writeFile(join(clients.directory, 'env.yaml'), 'resource_registry: {My::Inner: inner.yaml}\n');
  return ['-t', join(clients.directory, 'outer.yaml'), '-e', join(clients.directory, 'env.yaml')];
};
const valueOf = async (stack: string): Promise<unknown> =>
  (await row('stack', 'output', 'show', stack, 'said'))['output_value'];

it('run every action of a stack: rollback, check, suspend, snapshot, abandon, adopt', async () => {
  const given = await nested();
  const failing = ['stack', 'create', ...given, '--parameter', 'fail=true', '--enable-rollback', '--wait', 'back'];
  expect((await openstack(...failing)).status).toBe(1);
  const shown = await row('stack', 'show', 'back');
  expect(shown['stack_status']).toBe('ROLLBACK_COMPLETE');
  expect(await rows('stack', 'resource', 'list', 'back')).toEqual([]);
  await ok('stack', 'delete', '--yes', '--wait', 'back');

  const created = await ok('stack', 'create', ...given, '--tags', 'blue', '--wait', 'acts');
  expect(created).toContain('CREATE_COMPLETE');
  expect(await rows('stack', 'list', '--tags', 'blue', '--nested')).toHaveLength(1);
  // The client builds paths from the names in events of resources in creation.
  const events = await ok('stack', 'event', 'list', '--nested-depth', '2', 'acts');
  expect(events).toContain('[acts.b.leaf]: CREATE_COMPLETE');
  expect(await ok('stack', 'check', '--wait', 'acts')).toContain(
    "CHECK_COMPLETE  Stack CHECK completed successfully. 'CHECK' not fully supported (see resources)",
  );
  await ok('stack', 'suspend', '--wait', 'acts');
  expect((await openstack('stack', 'update', '--existing', 'acts')).stderr).toContain(
    'Updating a stack when it is suspended is not supported.',
  );
  await ok('stack', 'resume', '--wait', 'acts');
  await ok('stack', 'snapshot', 'create', '--name', 's', 'acts');
  const [snapshot] = await rows('stack', 'snapshot', 'list', 'acts');
  expect(snapshot).toMatchObject({ name: 's', status: 'COMPLETE', action: 'CREATE' });
  await ok('stack', 'update', '--existing', '--parameter', 'word=two', '--wait', 'acts');
  expect(await valueOf('acts')).toBe('two');
  await ok('stack', 'snapshot', 'restore', 'acts', String(snapshot?.['id']));
  await expect.poll(() => valueOf('acts')).toBe('one');
  await ok('stack', 'resource', 'mark', 'unhealthy', 'acts', 'a', 'because');
  await ok('stack', 'update', '--existing', '--wait', 'acts');
  const file = join(clients.directory, 'abandoned.json');
  await ok('stack', 'abandon', 'acts', '--output-file', file);
  expect(await rows('stack', 'list', '--nested')).toEqual([]);
  await ok('stack', 'adopt', '--adopt-file', file, '-e', join(clients.directory, 'env.yaml'), '--wait', 'heir');
  expect(await valueOf('heir')).toBe('one');
  await ok('stack', 'delete', '--yes', '--wait', 'heir');
});

it('set hooks in addition to an environment, in nested stacks too', async () => {
  const given = await nested();
  await ok('stack', 'create', ...given, '--pre-create', 'a', '--pre-create', 'b/leaf', 'hooked');
  const polled = await rows('stack', 'hook', 'poll', '--nested-depth', '2', 'hooked');
  expect(polled).toMatchObject([
    { 'Resource Name': 'a', 'Resource Status Reason': 'CREATE paused until Hook pre-create is cleared' },
  ]);
  await ok('stack', 'hook', 'clear', '--pre-create', 'hooked', 'a');
  const leaf = () => rows('stack', 'hook', 'poll', '--nested-depth', '2', 'hooked');
  await expect.poll(leaf).toMatchObject([{ 'Resource Name': 'leaf' }]);
  await ok('stack', 'hook', 'clear', '--pre-create', 'hooked', 'b/*');
  const ended = async () => (await row('stack', 'show', 'hooked'))['stack_status'];
  await expect.poll(ended).toBe('CREATE_COMPLETE');
  await ok('stack', 'delete', '--yes', '--wait', 'hooked');
});

it('show why a deployment failed, with the output of its script', async () => {
  const file = join(clients.directory, 'failing.yaml');
  await writeFile(
    file,
    `heat_template_version: 2016-10-14
resources:
  host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}
  words:
    type: OS::Heat::SoftwareConfig
    properties: {group: script, config: "#!/bin/sh\\necho some words\\necho out of cheese >&2\\nexit 3\\n"}
  run:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: words}, server: {get_resource: host}}
`,
  );
  expect((await openstack('stack', 'create', '-t', file, '--wait', 'sad')).status).toBe(1);
  const failures = await ok('stack', 'failures', 'list', 'sad');
  expect(failures).toMatch(/deploy_stdout: \|\n\s+some words/);
  expect(failures).toMatch(/deploy_stderr: \|\n\s+out of cheese/);
  await ok('stack', 'delete', '--yes', '--wait', 'sad');
});

it('store a config, run it on a host, read its outputs and metadata, delete both', async () => {
  const host = join(clients.directory, 'machine.yaml');
  await writeFile(
    host,
    `heat_template_version: 2016-10-14
resources: {host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}}
outputs: {id: {value: {get_resource: host}}}
`,
  );
  await ok('stack', 'create', '-t', host, '--wait', 'machine');
  const output = await row('stack', 'output', 'show', 'machine', 'id');
  const server_id = String(output['output_value']);
  const seen = await clients.program('software-client.py', clients.server.url, clients.password, server_id);
  expect(seen).toMatchObject({
    config: { group: 'script', name: 'greet', inputs: [{ name: 'who', type: 'String', default: 'you' }] },
    made: { action: 'UPDATE', server_id, status: 'IN_PROGRESS' },
    shown: {
      status: 'COMPLETE',
      status_reason: 'Outputs received',
      output_values: { greeted: 'world', deploy_stdout: 'hello world\n', deploy_status_code: 0 },
    },
    metadata: [{ name: 'run', group: 'script', outputs: [{ name: 'greeted', type: 'String', error_output: false }] }],
    listed: true,
    status_after_equal_update: 'COMPLETE',
    refused: expect.stringContaining('can not be deleted as it is referenced'),
    left: [],
  });
  const [metadata] = seen['metadata'] as { inputs: ClientRow[] }[];
  expect(metadata?.inputs).toContainEqual({ name: 'who', type: 'String', value: 'world' });
  await ok('stack', 'delete', '--yes', '--wait', 'machine');
});

it('list and show resource types', async () => {
  const types = await rows('orchestration', 'resource', 'type', 'list');
  expect(types.map((each) => each['Resource Type'])).toContain('OS::Heat::OrderedConfig');
  const show = ['orchestration', 'resource', 'type', 'show', 'OS::Heat::Value', '--template-type', 'hot'];
  expect(await ok(...show)).toContain('heat_template_version');
});

it('use queues: post, claim, release, and list, also queues of hosts', async () => {
  await ok('messaging', 'queue', 'create', 'mine');
  await ok('messaging', 'queue', 'set', 'metadata', 'mine', '{"colour": "red"}');
  expect(await ok('messaging', 'queue', 'get', 'metadata', 'mine')).toContain("'colour': 'red'");
  await ok('messaging', 'message', 'post', 'mine', '[{"body": "hello", "ttl": 100}]');
  const [claim] = await rows('messaging', 'claim', 'create', 'mine');
  expect(claim).toMatchObject({ Messages: 'hello' });
  await ok('messaging', 'claim', 'release', 'mine', String(claim?.['Claim_ID']));
  expect(await ok('messaging', 'queue', 'stats', 'mine')).toContain("'free': 1");
  const words = ['--paths', 'messages', '--methods', 'GET,POST', '--ttl-seconds', '600'];
  const url = await row('messaging', 'queue', 'signed', 'url', 'mine', ...words);
  const read = await fetch(`${clients.server.url}/messaging/v2/queues/mine/messages?echo=true`, {
    headers: {
      'client-id': '3381af92-2b9e-11e3-b191-71861300734c',
      'x-project-id': String(url['Project ID']),
      'url-paths': String(url['Paths']),
      'url-methods': String(url['Methods']),
      'url-expires': String(url['Expires']),
      'url-signature': String(url['Signature']),
    },
  });
  expect([read.status, await read.text()]).toEqual([200, expect.stringContaining('hello')]);
  for (const kind of ['pool', 'flavor']) {
    expect(await rows('messaging', kind, 'list')).toMatchObject([{ Name: 'default' }]);
  }
});

it('receive the events of a stack in the queue that its environment names, until the stack is gone', async () => {
  const place = join(clients.directory, 'sinks.yaml');
  await writeFile(place, 'event_sinks: [{type: zaqar-queue, target: watched, ttl: 300}]\n');
  const words = await nested();
  await ok('stack', 'create', ...words, '-e', place, '--wait', 'seen');
  await ok('stack', 'update', '--existing', '--parameter', 'word=two', '--wait', 'seen');
  const listed = await rows('stack', 'event', 'list', 'seen', '--nested-depth', '3');
  await ok('stack', 'delete', '--yes', '--wait', 'seen');
  const seen: string[] = [];
  while (!seen.some((text) => text === 'seen DELETE_COMPLETE')) {
    for (const { Messages: message } of await rows('messaging', 'claim', 'create', 'watched', '--limit', '20')) {
      const body = message as { type: string; payload: Record<string, string> };
      expect(body).toMatchObject({ type: 'os.heat.event', version: '0.1' });
      const { resource_name: name, resource_action: action, resource_status: status } = body.payload;
      seen.push(`${name} ${action}_${status}`);
    }
  }
  const names = listed.map((each) => `${String(each['resource_name'])} ${String(each['resource_status'])}`);
  expect(seen).toEqual(expect.arrayContaining(names));
  expect(seen).toContain('leaf CREATE_COMPLETE');
  const refused = join(clients.directory, 'wrong-sinks.yaml');
  await writeFile(refused, 'event_sinks: [{type: zaqar, target: watched}]\n');
  const wrong = await openstack('stack', 'create', ...words, '-e', refused, 'refused');
  expect(wrong.stderr).toContain('unknown event sink type "zaqar"');
});
