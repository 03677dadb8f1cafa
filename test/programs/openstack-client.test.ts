/**
 * Tests the APIs with the OpenStack clients from PyPI, because operators use them. Skipped without python3 or access to
 * PyPI.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { installFromPypi, type NoPython, type PythonEnvironment } from '../backends/pypi.ts';
import { repository, startServer, type TestServer } from '../e2e/server.ts';

const packages = [
  'python-openstackclient==10.5.0',
  'python-heatclient==5.3.0',
  'python-zaqarclient==4.7.0',
  'python-ironicclient==6.3.0',
];

interface Said {
  status: number;
  stdout: string;
  stderr: string;
}
type Row = Record<string, unknown>;

describe('unmodified clients', () => {
  const password = 'a password for the test';
  let clients: PythonEnvironment | NoPython;
  let server: TestServer | undefined;
  let directory: string;
  let environment: Record<string, string>;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'anneal-openstack-'));
    clients = await installFromPypi(packages);
    if ('missing' in clients) return;
    server = await startServer({ lab: 2, env: { ANNEAL_GATEWAY_ADMIN_PASSWORD: password } });
    environment = {
      PATH: process.env['PATH'] ?? '',
      HOME: directory,
      OS_AUTH_URL: `${server.url}/identity/v3`,
      OS_USERNAME: 'admin',
      OS_PASSWORD: password,
      OS_PROJECT_NAME: 'admin',
      OS_USER_DOMAIN_NAME: 'Default',
      OS_PROJECT_DOMAIN_NAME: 'Default',
      OS_IDENTITY_API_VERSION: '3',
      OS_MESSAGE_CLIENT_ID: '3381af92-2b9e-11e3-b191-71861300734c',
    };
  }, 360_000);
  afterAll(async () => {
    await server?.dispose();
    await rm(directory, { recursive: true, force: true });
  });

  /** Skips the test, with the reason, when there are no clients. */
  const binOr = (context: TestContext): string => ('bin' in clients ? clients.bin : context.skip(clients.missing));

  /** Runs a command. Kills it when it hangs; the test then fails. */
  const execute = (file: string, words: string[]): Promise<Said> =>
    new Promise((resolve) => {
      execFile(file, words, { env: environment, cwd: repository, timeout: 60_000 }, (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ status, stdout, stderr });
      });
    });
  const openstack = (context: TestContext, ...words: string[]): Promise<Said> =>
    execute(join(binOr(context), 'openstack'), words);
  const ok = async (context: TestContext, ...words: string[]): Promise<string> => {
    const { status, stdout, stderr } = await openstack(context, ...words);
    expect(status, `openstack ${words.join(' ')}\n${stdout}\n${stderr}`).toBe(0);
    return stdout;
  };
  const rows = async (context: TestContext, ...words: string[]): Promise<Row[]> =>
    JSON.parse(await ok(context, ...words, '-f', 'json')) as Row[];

  it('log in and find every API in the catalog', async (context) => {
    const token = (await rows(context, 'token', 'issue')) as unknown as Row;
    expect(token['project_id']).toBe('00000000000000000000000000000001');
    const types = (await rows(context, 'catalog', 'list')).map((row) => row['Type']);
    expect(new Set(types)).toEqual(new Set(['baremetal', 'identity', 'messaging', 'orchestration']));
  });

  it('create a stack and wait for it, read it, update it, delete it', async (context) => {
    const template = 'test/fixtures/ordered-config.yaml';
    const created = await ok(context, 'stack', 'create', '-t', template, '--parameter', 'key_name=k', '--wait', 'web');
    expect(created).toContain('[web.configB]: CREATE_COMPLETE  state changed');
    expect(created).toContain('Stack CREATE completed successfully');
    const resources = await rows(context, 'stack', 'resource', 'list', 'web');
    expect(resources.map((row) => row['resource_status'])).toEqual(Array.from({ length: 4 }, () => 'CREATE_COMPLETE'));
    const updated = await ok(context, 'stack', 'update', '--existing', '--parameter', 'key_name=l', '--wait', 'web');
    expect(updated).toContain('UPDATE_COMPLETE');
    const shown = (await rows(context, 'stack', 'show', 'web')) as unknown as { parameters: Row };
    expect(shown.parameters['key_name']).toBe('l');
    expect(await rows(context, 'software', 'config', 'list')).toHaveLength(2);
    await ok(context, 'stack', 'delete', '--yes', '--wait', 'web');
    expect(await rows(context, 'stack', 'list')).toEqual([]);
    expect(await openstack(context, 'stack', 'show', 'web')).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Stack not found: web'),
    });
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
    await writeFile(join(directory, 'inner.yaml'), inner);
    await writeFile(join(directory, 'outer.yaml'), outer);
    await writeFile(join(directory, 'env.yaml'), 'resource_registry: {My::Inner: inner.yaml}\n');
    return ['-t', join(directory, 'outer.yaml'), '-e', join(directory, 'env.yaml')];
  };
  const valueOf = async (context: TestContext, stack: string): Promise<unknown> =>
    ((await rows(context, 'stack', 'output', 'show', stack, 'said')) as unknown as Row)['output_value'];

  it('run every action of a stack: rollback, check, suspend, snapshot, abandon, adopt', async (context) => {
    const given = await nested();
    const failing = ['stack', 'create', ...given, '--parameter', 'fail=true', '--enable-rollback', '--wait', 'back'];
    expect((await openstack(context, ...failing)).status).toBe(1);
    const shown = (await rows(context, 'stack', 'show', 'back')) as unknown as Row;
    expect(shown['stack_status']).toBe('ROLLBACK_COMPLETE');
    expect(await rows(context, 'stack', 'resource', 'list', 'back')).toEqual([]);
    await ok(context, 'stack', 'delete', '--yes', '--wait', 'back');

    const created = await ok(context, 'stack', 'create', ...given, '--tags', 'blue', '--wait', 'acts');
    expect(created).toContain('CREATE_COMPLETE');
    expect(await rows(context, 'stack', 'list', '--tags', 'blue', '--nested')).toHaveLength(1);
    // The client builds paths from the names in events of resources in creation.
    const events = await ok(context, 'stack', 'event', 'list', '--nested-depth', '2', 'acts');
    expect(events).toContain('[acts.b.leaf]: CREATE_COMPLETE');
    expect(await ok(context, 'stack', 'check', '--wait', 'acts')).toContain(
      "CHECK_COMPLETE  Stack CHECK completed successfully. 'CHECK' not fully supported (see resources)",
    );
    await ok(context, 'stack', 'suspend', '--wait', 'acts');
    expect((await openstack(context, 'stack', 'update', '--existing', 'acts')).stderr).toContain(
      'Updating a stack when it is suspended is not supported.',
    );
    await ok(context, 'stack', 'resume', '--wait', 'acts');
    await ok(context, 'stack', 'snapshot', 'create', '--name', 's', 'acts');
    const [snapshot] = await rows(context, 'stack', 'snapshot', 'list', 'acts');
    expect(snapshot).toMatchObject({ name: 's', status: 'COMPLETE', action: 'CREATE' });
    await ok(context, 'stack', 'update', '--existing', '--parameter', 'word=two', '--wait', 'acts');
    expect(await valueOf(context, 'acts')).toBe('two');
    await ok(context, 'stack', 'snapshot', 'restore', 'acts', String(snapshot?.['id']));
    await expect.poll(() => valueOf(context, 'acts'), { timeout: 60_000 }).toBe('one');
    await ok(context, 'stack', 'resource', 'mark', 'unhealthy', 'acts', 'a', 'because');
    await ok(context, 'stack', 'update', '--existing', '--wait', 'acts');
    const file = join(directory, 'abandoned.json');
    await ok(context, 'stack', 'abandon', 'acts', '--output-file', file);
    expect(await rows(context, 'stack', 'list', '--nested')).toEqual([]);
    await ok(context, 'stack', 'adopt', '--adopt-file', file, '-e', join(directory, 'env.yaml'), '--wait', 'heir');
    expect(await valueOf(context, 'heir')).toBe('one');
    await ok(context, 'stack', 'delete', '--yes', '--wait', 'heir');
  });

  it('set hooks in addition to an environment, in nested stacks too', async (context) => {
    const given = await nested();
    await ok(context, 'stack', 'create', ...given, '--pre-create', 'a', '--pre-create', 'b/leaf', 'hooked');
    const polled = await rows(context, 'stack', 'hook', 'poll', '--nested-depth', '2', 'hooked');
    expect(polled).toMatchObject([
      { 'Resource Name': 'a', 'Resource Status Reason': 'CREATE paused until Hook pre-create is cleared' },
    ]);
    await ok(context, 'stack', 'hook', 'clear', '--pre-create', 'hooked', 'a');
    const leaf = () => rows(context, 'stack', 'hook', 'poll', '--nested-depth', '2', 'hooked');
    await expect.poll(leaf, { timeout: 60_000 }).toMatchObject([{ 'Resource Name': 'leaf' }]);
    await ok(context, 'stack', 'hook', 'clear', '--pre-create', 'hooked', 'b/*');
    const ended = async () => ((await rows(context, 'stack', 'show', 'hooked')) as unknown as Row)['stack_status'];
    await expect.poll(ended, { timeout: 60_000 }).toBe('CREATE_COMPLETE');
    await ok(context, 'stack', 'delete', '--yes', '--wait', 'hooked');
  });

  it('show why a deployment failed, with the output of its script', async (context) => {
    const file = join(directory, 'failing.yaml');
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
    expect((await openstack(context, 'stack', 'create', '-t', file, '--wait', 'sad')).status).toBe(1);
    const failures = await ok(context, 'stack', 'failures', 'list', 'sad');
    expect(failures).toMatch(/deploy_stdout: \|\n\s+some words/);
    expect(failures).toMatch(/deploy_stderr: \|\n\s+out of cheese/);
    await ok(context, 'stack', 'delete', '--yes', '--wait', 'sad');
  });

  it('store a config, run it on a host, read its outputs and metadata, delete both', async (context) => {
    const host = join(directory, 'machine.yaml');
    await writeFile(
      host,
      `heat_template_version: 2016-10-14
resources: {host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}}
outputs: {id: {value: {get_resource: host}}}
`,
    );
    await ok(context, 'stack', 'create', '-t', host, '--wait', 'machine');
    const output = (await rows(context, 'stack', 'output', 'show', 'machine', 'id')) as unknown as Row;
    const server_id = String(output['output_value']);
    const words = [join(import.meta.dirname, 'software-client.py'), server!.url, password, server_id];
    const { status, stdout, stderr } = await execute(join(binOr(context), 'python'), words);
    expect(status, stderr).toBe(0);
    const seen = JSON.parse(stdout) as Row;
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
    const [metadata] = seen['metadata'] as { inputs: Row[] }[];
    expect(metadata?.inputs).toContainEqual({ name: 'who', type: 'String', value: 'world' });
    await ok(context, 'stack', 'delete', '--yes', '--wait', 'machine');
  });

  it('list and show resource types', async (context) => {
    const types = await rows(context, 'orchestration', 'resource', 'type', 'list');
    expect(types.map((row) => row['Resource Type'])).toContain('OS::Heat::OrderedConfig');
    const show = ['orchestration', 'resource', 'type', 'show', 'OS::Heat::Value', '--template-type', 'hot'];
    expect(await ok(context, ...show)).toContain('heat_template_version');
  });

  it('use queues: post, claim, release, and list, also queues of hosts', async (context) => {
    await ok(context, 'messaging', 'queue', 'create', 'mine');
    await ok(context, 'messaging', 'queue', 'set', 'metadata', 'mine', '{"colour": "red"}');
    expect(await ok(context, 'messaging', 'queue', 'get', 'metadata', 'mine')).toContain("'colour': 'red'");
    await ok(context, 'messaging', 'message', 'post', 'mine', '[{"body": "hello", "ttl": 100}]');
    const [claim] = await rows(context, 'messaging', 'claim', 'create', 'mine');
    expect(claim).toMatchObject({ Messages: 'hello' });
    await ok(context, 'messaging', 'claim', 'release', 'mine', String(claim?.['Claim_ID']));
    expect(await ok(context, 'messaging', 'queue', 'stats', 'mine')).toContain("'free': 1");
  });

  it('list nodes, inspect them and make them available again', async (context) => {
    const nodes = await rows(context, 'baremetal', 'node', 'list');
    expect(nodes.map((row) => row['name'])).toEqual(['machine-1', 'machine-2']);
    await ok(context, 'baremetal', 'node', 'manage', 'machine-2', '--wait', '30');
    await ok(context, 'baremetal', 'node', 'inspect', 'machine-2', '--wait', '30');
    await ok(context, 'baremetal', 'node', 'provide', 'machine-2', '--wait', '30');
    const wrong = await openstack(context, 'baremetal', 'node', 'provide', 'machine-2');
    expect(wrong.stderr).toContain('Cannot apply "provide"');
    // A final refusal: the client must not retry for seconds.
    expect(wrong.stderr).not.toContain('Attempt');
  });
});
