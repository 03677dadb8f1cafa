/** Commands that no page and no other test runs, on a server with a lab. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { atLab } from './at-lab.ts';
import { createCommandLine, type CommandResult } from '../docs/transcript/commands.ts';
import { bundle, ownEnvironment, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
let folder: string;
let anneal: (...words: string[]) => Promise<CommandResult>;
let commandLine: ReturnType<typeof createCommandLine>;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-commands-'));
  server = await startServer({
    lab: 1,
    env: {
      ANNEAL_GATEWAY_METADATA_TOKENS: 'required',
      ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
      ANNEAL_NOTIFICATION_MEASUREMENT_PERIOD_SECONDS: '1',
    },
  });
  // The commands run in this process, so that each does not load the program.
  commandLine = createCommandLine({ ...ownEnvironment(), NO_COLOR: '1', ANNEAL_DATA: server.data });
  anneal = (...words) => commandLine(words, { cwd: folder });
});
afterAll(async () => {
  await server?.dispose();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command that succeeds. */
async function run(...words: string[]): Promise<string> {
  const { status, stdout, stderr } = await anneal(...words);
  expect(status, `${words.join(' ')}\n${stderr}`).toBe(0);
  return stdout;
}
const json = async (...words: string[]): Promise<Record<string, string>> =>
  JSON.parse(await run(...words, '-o', 'json')) as Record<string, string>;
async function fileOf(name: string, text: string): Promise<string> {
  await writeFile(join(folder, name), text);
  return join(folder, name);
}
const valueTemplate = (value: string, more = '') => `heat_template_version: 2018-08-31
parameters: {word: {type: string, default: ${value}}}
resources:
  one: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
${more}outputs: {said: {value: {get_attr: [one, output]}}}
`;

describe('a stack', () => {
  beforeAll(async () => {
    await server.client.stacks.create({ name: 's', bundle: bundle(valueTemplate('first')) });
    await settled(server, 's');
  });
  const state = async (): Promise<unknown> => (await server.client.stacks.show({ stack: 's' })).stack_status;

  it('shows its outputs and events, and is exported', async () => {
    expect(await run('output', 'list', 's')).toMatch(/^said +first/m);
    expect(await run('stack', 'events', 's')).toMatch(/one +CREATE_COMPLETE/);
    expect(JSON.parse(await run('stack', 'export', 's'))).toMatchObject({
      resources: { one: { type: 'OS::Heat::TestResource' } },
    });
  });

  it('is suspended and resumed', async () => {
    await run('stack', 'suspend', 's', '--wait');
    expect(await state()).toBe('SUSPEND_COMPLETE');
    await run('stack', 'resume', 's', '--wait');
    expect(await state()).toBe('RESUME_COMPLETE');
  });

  it('has snapshots that are shown and deleted', async () => {
    await run('snapshot', 'create', 's', '--name', 'kept');
    await settled(server, 's');
    expect(await json('snapshot', 'show', 's', 'kept')).toMatchObject({ name: 'kept', status: 'COMPLETE' });
    await run('snapshot', 'delete', 's', 'kept');
    expect(await run('snapshot', 'list', 's')).not.toContain('kept');
  });

  it('has resources whose mark is cleared', async () => {
    const status = async () => (await server.client.stacks.resources({ stack: 's' }))[0]?.resource_status;
    await run('resource', 'mark-unhealthy', 's', 'one');
    expect(await status()).toBe('CHECK_FAILED');
    await run('resource', 'mark-healthy', 's', 'one', '--reason', 'it was the network');
    expect(await status()).toBe('CHECK_COMPLETE');
  });

  it('is cancelled, and keeps what it has', async () => {
    const slow = '  two: {type: OS::Heat::TestResource, properties: {wait_secs: 2}}\n';
    await server.client.stacks.update({ stack: 's', bundle: bundle(valueTemplate('second', slow)) });
    await run('stack', 'cancel', 's', '--no-rollback', '--no-wait');
    expect(await server.client.stacks.show({ stack: 's' })).toMatchObject({
      stack_status: 'UPDATE_FAILED',
      stack_status_reason: 'Stack UPDATE cancelled',
    });
  });

  it('is retried, and rolled back after it failed again', async () => {
    const failing = '  two: {type: OS::Heat::TestResource, properties: {fail: true}}\n';
    await server.client.stacks.update({ stack: 's', bundle: bundle(valueTemplate('second', failing)) });
    await settled(server, 's');
    expect((await anneal('stack', 'retry', 's', '--wait')).status).toBe(1);
    expect(await state()).toBe('UPDATE_FAILED');
    await run('stack', 'rollback', 's', '--wait');
    expect(await state()).toBe('ROLLBACK_COMPLETE');
    expect(await run('output', 'list', 's')).toMatch(/^said +first/m);
  });
});

describe('a group', () => {
  const members = async (): Promise<string[]> =>
    (await server.client.groups.show({ stack: 'grown', group: 'g' })).members.map(({ name }) => name);

  it('is listed, protects members, removes them, and gets a decision', async () => {
    const template = `heat_template_version: 2018-08-31
resources:
  g:
    type: Anneal::Scaling::Group
    properties:
      min_size: 1
      max_size: 5
      desired_capacity: 2
      deciding: {heartbeat_timeout: 600, default_result: abandon}
      resource: {type: OS::Heat::TestResource}
`;
    await server.client.stacks.create({ name: 'grown', bundle: bundle(template) });
    await settled(server, 'grown');
    expect(await run('group', 'list')).toMatch(/grown +g /);
    const [first = '', second = ''] = await members();
    const isSafe = async (name: string) =>
      (await server.client.groups.show({ stack: 'grown', group: 'g' })).members.find((each) => each.name === name)
        ?.protected;
    await run('group', 'protect', 'grown', 'g', first);
    expect(await isSafe(first)).toBe(true);
    await run('group', 'unprotect', 'grown', 'g', first);
    expect(await isSafe(first)).toBe(false);

    await run('group', 'remove', 'grown', 'g', second);
    const [event] = await eventually(async () => {
      const found = await server.client.events.list({ types: ['group.scaling.deciding'], limit: 10 });
      return found.length > 0 && found;
    });
    const { token = '' } = (event?.data ?? {}) as { token?: string };
    await run('group', 'decide', 'grown', 'g', 'continue', '--token', token);
    await eventually(async () => (await members()).join() === first, { what: 'the group without its second member' });
  });
});

it('a template is shown, planned, drawn and evaluated, and the language is listed', async () => {
  const file = await fileOf(
    't.yaml',
    valueTemplate('first', '  two: {type: OS::Heat::Value, depends_on: one, properties: {value: x}}\n'),
  );
  expect(await run('template', 'show', file)).toMatch(/two.*OS::Heat::Value/);
  expect(await run('template', 'plan', file)).toMatch(/one[^]*two/);
  expect(await run('template', 'graph', file)).toMatch(/one[^]*two/);
  expect(await json('template', 'render', file, '-P', 'word=other')).toMatchObject({
    resources: { one: { properties: { value: 'other' } } },
  });
  expect(await run('template', 'functions', 'str_replace')).toContain('str_replace');
  expect(await run('template', 'versions')).toContain('2018-08-31');
});

it('a node shows its machine, and does what the operator asks', async () => {
  const shown = () => server.client.nodes.show({ node: 'machine-1' });
  expect(await run('node', 'show', 'machine-1')).toMatch(/^state +available/m);
  expect(await run('node', 'history', 'machine-1')).toContain('available');
  expect(await run('node', 'sensors', 'machine-1')).toMatch(/CPU 1 temperature +temperature +21/);
  expect(await run('node', 'console', 'machine-1')).toContain('ssh');
  await run('node', 'maintenance', 'machine-1', 'on', '--reason', 'a new fan');
  expect(await shown()).toMatchObject({ maintenance: true, maintenance_reason: 'a new fan' });
  await run('node', 'maintenance', 'machine-1', 'off');
  expect(await shown()).toMatchObject({ maintenance: false });
  await run('node', 'boot-device', 'machine-1', 'disk');
  expect(await run('node', 'boot-device', 'machine-1')).toContain('disk');
  await run('node', 'power', 'machine-1', 'on');
  await eventually(async () => (await shown()).power_state === 'power on', { what: 'a machine that is on' });
  await run('node', 'interrupt', 'machine-1');
  await run('node', 'power', 'machine-1', 'off');
  await eventually(async () => (await shown()).power_state === 'power off', { what: 'a machine that is off' });
  await atLab(server, { path: '/lab/v1/machines/machine-1/faults', body: { dark: true } });
  const stated = await run('node', 'confirm-off', 'machine-1', '--reason', 'it has no power');
  expect(stated).toContain('machine-1 counts as off until');
  await atLab(server, { path: '/lab/v1/machines/machine-1/faults', body: { dark: false } });
  expect(await run('node', 'clear-suspect', 'machine-1')).toContain('machine-1 is not suspect');
});

describe('a watch', () => {
  /** Runs a command until it has printed a text, as a person with Ctrl-C. */
  async function watched(words: readonly string[], text: string, meanwhile: () => Promise<unknown>): Promise<void> {
    const interrupt = new AbortController();
    const lines: string[] = [];
    const ended = commandLine(words, {
      cwd: folder,
      interrupt: interrupt.signal,
      onOutput: (part) => lines.push(part),
    });
    await meanwhile();
    await eventually(() => lines.join('').includes(text), { what: `${text} in ${words.join(' ')}`, last: () => lines });
    interrupt.abort();
    await ended;
  }

  it('of a queue prints each message', async () => {
    await run('queue', 'publish', 'jobs', '{"n": 1}', '--create');
    await watched(['queue', 'watch', 'jobs'], '"n":2', () => run('queue', 'publish', 'jobs', '{"n": 2}'));
  });

  it('of a context prints it', async () => {
    const template = `heat_template_version: 2018-08-31
resources: {cluster: {type: Anneal::Context, properties: {members: {web: []}}}}
`;
    await server.client.stacks.create({ name: 'around', bundle: bundle(template) });
    await settled(server, 'around');
    await watched(['context', 'watch', 'cluster'], 'version 1', async () => undefined);
  });
});

it('a host gets the address of its metadata, which needs a session when the setting says so', async () => {
  const template = `heat_template_version: 2018-08-31
resources: {web: {type: OS::Nova::Server, properties: {name: web, flavor: baremetal, image: any}}}
`;
  await server.client.stacks.create({ name: 'served', bundle: bundle(template) });
  await settled(server, 'served');
  const address = (await run('host', 'metadata-url', 'web')).trim().split(/ +/).at(-1) ?? '';
  expect(address).toContain(`${server.url}/metadata/v1/`);
  expect((await fetch(`${address}/latest/meta-data/`)).status).toBe(401);
  const lifetime = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' };
  const session = await (await fetch(`${address}/latest/api/token`, { method: 'PUT', headers: lifetime })).text();
  const read = await fetch(`${address}/latest/meta-data/`, { headers: { 'x-aws-ec2-metadata-token': session } });
  expect(read.status).toBe(200);
});

it('a host gets no credentials of a broker that hosts may not use', async () => {
  await run('host', 'join', 'box');
  const { status, stderr } = await anneal('host', 'credentials', 'box');
  expect([status, stderr]).toEqual([2, expect.stringContaining('ANNEAL_CONFIGURATION_HOST_BROKER_URL')]);
});

it('a config is shown by the deployment that ran it', async () => {
  // The machine never asks for work.
  await anneal('run', '--hosts', 'box', '--timeout', '1', 'echo hello');
  const [{ id }] = JSON.parse(await run('deployment', 'list', '-o', 'json')) as [{ id: string }];
  expect(await run('config', 'show', id)).toContain('echo hello');
});

it('a subscription sends again, retries what waits, and gets another secret', async () => {
  await run('subscription', 'create', 'http://127.0.0.1:1/', '--name', 'away', '--type', 'stack.#');
  const secretOf = async () => (await json('subscription', 'rotate-secret', 'away'))['secret'];
  expect(await secretOf()).not.toBe(await secretOf());
  expect(await run('subscription', 'replay', 'away', '--from', '2020-01-01T00:00:00Z')).toMatch(
    /Sending \d+ events? again/,
  );
  await eventually(async () => (await run('subscription', 'show', 'away')).includes('ECONNREFUSED'));
  await run('subscription', 'retry', 'away');
});

it('a measurement is posted, and an alarm shows the values that it compares', async () => {
  const template = `heat_template_version: 2018-08-31
resources: {hot: {type: Anneal::Alarm, properties: {metric: load, period: 1, periods: 5, threshold: 80}}}
`;
  await server.client.stacks.create({ name: 'alarmed', bundle: bundle(template) });
  await settled(server, 'alarmed');
  await run('metric', 'post', 'load', '42.5', '--label', 'host=a');
  expect(await run('metric', 'list', 'load')).toContain('host=a');
  await eventually(async () => (await run('alarm', 'values', 'hot')).includes('42.5'), { what: 'the value' });
});

describe('a workflow', () => {
  const execution = (id: string) => server.client.executions.show({ id });
  const reaches = (id: string, state: string) =>
    eventually(async () => (await execution(id)).execution.state === state, { what: `${id} in ${state}` });
  const start = async (workflow: string): Promise<string> => (await json('workflow', 'start', workflow))['id'] ?? '';

  beforeAll(async () => {
    const text = `version: '2.0'
waits: {tasks: {hold: {action: std.async_noop, publish: {got: <% task().result %>}}}, output: {got: <% $.got %>}}
falls: {tasks: {fall: {action: std.fail}}}
`;
    await run('workflow', 'create', await fileOf('w.yaml', text));
  });

  it('is listed and shown', async () => {
    expect(await run('workflow', 'list')).toMatch(/^falls/m);
    expect(await run('workflow', 'show', 'waits')).toContain('hold');
  });

  it('has executions that are paused, resumed, completed and cancelled', async () => {
    const id = await start('waits');
    await reaches(id, 'RUNNING');
    await run('workflow', 'pause', id);
    await reaches(id, 'PAUSED');
    await run('workflow', 'resume', id);
    await run('workflow', 'complete', id, 'hold', '--result', '7');
    await reaches(id, 'SUCCESS');
    expect(await json('workflow', 'execution', id)).toMatchObject({ output: { got: 7 } });
    const other = await start('waits');
    await run('workflow', 'cancel', other);
    await reaches(other, 'CANCELLED');
  });

  it('has failed tasks that run again, or are skipped', async () => {
    const id = await start('falls');
    await reaches(id, 'ERROR');
    await run('workflow', 'rerun', id, 'fall');
    await reaches(id, 'ERROR');
    await run('workflow', 'skip', id, 'fall');
    await reaches(id, 'SUCCESS');
  });

  it('is scheduled', async () => {
    await run('workflow', 'schedule', 'nightly', 'waits', '--pattern', '0 3 * * *');
    expect(await run('workflow', 'schedules')).toMatch(/nightly.*0 3 \* \* \*/);
    await run('workflow', 'unschedule', 'nightly');
    expect(await run('workflow', 'schedules')).not.toContain('nightly');
  });
});

it('projects, users and tokens are listed, and a user gets another password', async () => {
  expect(await run('project', 'list')).toMatch(/^admin/m);
  const password = await fileOf('password', 'Correct-horse-1\n');
  await run('user', 'create', 'eve', '--password-file', password);
  await run('user', 'disable', 'eve');
  await run('user', 'enable', 'eve');
  expect(await run('user', 'list')).toMatch(/^eve/m);
  expect(await json('user', 'show', 'eve')).toMatchObject({ enabled: true });
  await run('user', 'password', 'eve', '--password-file', await fileOf('other', 'Battery-staple-2\n'));
  await run('token', 'create', 'for-ci');
  expect(await run('token', 'list')).toContain('for-ci');
});

it('an image is uploaded, shown, saved and removed', async () => {
  const content = Buffer.alloc(4096, 7);
  await writeFile(join(folder, 'disk.raw'), content);
  await run('image', 'add', 'small', '--file', join(folder, 'disk.raw'));
  expect(await run('image', 'list')).toMatch(/^small/m);
  const sum = createHash('sha256').update(content).digest('hex');
  expect(await run('image', 'show', 'small')).toContain(sum);
  await run('image', 'save', 'small', '--file', join(folder, 'saved.raw'));
  expect(await readFile(join(folder, 'saved.raw'))).toEqual(content);
  await run('image', 'remove', 'small');
  expect(await run('image', 'list')).not.toMatch(/^small/m);
});

it('the server shows itself', async () => {
  expect(await run('info')).toContain(server.url);
  expect(await run('completion', 'bash')).toContain('anneal');
});
