/**
 * Servers outside groups that scale: a machine loses its power, or its BMC dies, and its server is replaced when its
 * environment says so.
 */
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { atLab } from './at-lab.ts';
import { makeFence, type Fence } from './fence.ts';
import { bundle, deleted, settled, startServer, type TestServer } from './server.ts';

const withinMs = 240_000;
/** Two machines in turn, each after a minute of silence. */
const testMs = 600_000;
let server: TestServer;
let fence: Fence;
beforeAll(async () => {
  fence = await makeFence();
  server = await startServer({
    lab: 6,
    env: {
      // Less would make hosts that wait for work silent, too.
      ANNEAL_CONFIGURATION_SILENT_SECONDS: '60',
      ANNEAL_PROVISIONING_POWER_POLL_SECONDS: '2',
      ANNEAL_PROVISIONING_BMC_SECONDS: '120',
      ANNEAL_PROVISIONING_FENCE_PROGRAM: fence.program,
    },
  });
});
afterAll(async () => {
  await server?.dispose();
  await fence?.remove();
});

const serverText =
  "{type: 'OS::Nova::Server', properties: {flavor: baremetal, image: any, user_data_format: SOFTWARE_CONFIG}}";
const oneServer = (name: string): string => `heat_template_version: 2018-08-31
resources: {${name}: ${serverText}}
outputs: {${name}: {value: {get_resource: ${name}}}}
`;
const template = `heat_template_version: 2018-08-31
resources:
  web: ${serverText}
  left: ${serverText}
  inner:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def: ${serverText}
  config:
    type: OS::Heat::SoftwareConfig
    properties:
      group: script
      outputs: [{name: where}]
      config: |
        #!/bin/sh
        printf %s "$deploy_server_id" > "$heat_outputs_path.where"
  deployed:
    type: OS::Heat::SoftwareDeployment
    properties: {config: {get_resource: config}, server: {get_resource: web}}
outputs:
  where: {value: {get_attr: [deployed, where]}}
  web: {value: {get_resource: web}}
  left: {value: {get_resource: left}}
  inner: {value: {get_attr: [inner, refs, 0]}}
`;
const policy = { replace_lost: { after: 1 } };
const withEntries = (resources: object, text = template) => ({
  ...bundle(text, { 'env.json': JSON.stringify({ resource_registry: { resources } }) }),
  environmentFiles: ['env.json'],
});
const policies = { web: policy, inner: { '*': policy } };

async function outputs(stack = 'web'): Promise<Record<string, string>> {
  const { outputs: found = [] } = await server.client.stacks.show({ stack });
  return Object.fromEntries(
    found.map(({ output_key: key, output_value: value }) => [key, typeof value === 'string' ? value : '']),
  );
}

const nodeOf = async (id: string): Promise<string> => {
  const node = (await server.client.nodes.list()).find(({ instance_uuid: instance }) => instance === id);
  return node?.name ?? '';
};

/** Cuts the power of a machine behind Anneal's back. */
const cut = (machine: string): Promise<void> =>
  atLab(server, {
    path: `/redfish/v1/Systems/${machine}/Actions/ComputerSystem.Reset`,
    body: { ResetType: 'ForceOff' },
  });

it('explains a config whose machine lost its power, before the host is silent', async () => {
  const { client } = server;
  const text = `heat_template_version: 2018-08-31
resources:
  host: ${serverText}
  slow: {type: 'OS::Heat::OrderedConfig', properties: {hosted_on: {get_resource: host}, script: 'sleep 600'}}
  next: {type: 'OS::Heat::OrderedConfig', properties: {hosted_on: {get_resource: host}, script: 'true'}}
outputs:
  host: {value: {get_resource: host}}
`;
  await client.stacks.create({ name: 'dead', bundle: bundle(text) });
  let last: unknown;
  const explained = (resource: string, pattern: RegExp) =>
    eventually(
      async () => {
        // The resources of a new stack appear with its first step.
        const why = await client.actions.why({ stack: 'dead', resource }).catch(() => undefined);
        last = why;
        return why && pattern.test(why.summary) ? why : undefined;
      },
      { within: withinMs, what: `why of ${resource}`, last: () => last },
    );
  await explained('slow', /^Host \S+ has run slow since \S+; slow fails unless it ends by \S+\.$/);
  await explained('next', /^next waits for its turn on host \S+, which has run slow since \S+\.$/);
  const { host: id = '' } = await outputs('dead');
  const node = await nodeOf(id);
  await cut(node);
  const why = await explained('slow', new RegExp(`; its node ${node} is powered off\\.$`));
  expect(why.chain.at(-1)).toMatchObject({ object: `node ${node}`, state: 'power off' });
  expect(why.exits[0]).toBe(`anneal node power ${node} on`);
  await client.stacks.delete({ stack: 'dead' });
  await deleted(server, 'dead', withinMs);
});

it(
  'does not take the silent host of a suspended stack for a lost one',
  async () => {
    const { client } = server;
    await client.stacks.create({ name: 'asleep', bundle: bundle(oneServer('host')) });
    expect(await settled(server, 'asleep', withinMs)).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
    const { host: id = '' } = await outputs('asleep');
    await client.actions.act({ stack: 'asleep', action: { kind: 'suspend' } });
    await eventually(async () => (await client.hosts.show({ host: id })).status === 'silent', { within: withinMs });
    const { hosts, needs, need_counts: counts } = await client.overview();
    expect(hosts).toMatchObject({ suspended: 1 });
    expect(hosts).not.toHaveProperty('silent');
    expect(needs.filter(({ kind }) => kind === 'host')).toEqual([]);
    expect(counts?.['host']).toBe(0);
    const port = Number(new URL(server.url).port) + 1;
    const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(metrics).toContain('anneal_hosts{status="suspended"} 1');
    expect(metrics).toContain('anneal_hosts{status="silent"} 0');
    const why = await client.actions.why({ stack: 'asleep' });
    expect([why.summary, why.exits]).toEqual(['Stack asleep is idle: Stack SUSPEND completed successfully.', []]);
    await client.stacks.delete({ stack: 'asleep' });
  },
  testMs,
);

it(
  'replaces a server whose machine lost its power, with what depends on it, and leaves one without the policy',
  async () => {
    await server.client.stacks.create({ name: 'web', bundle: withEntries(policies) });
    const created = await settled(server, 'web', withinMs);
    expect(created.stack_status, created.stack_status_reason ?? '').toBe('CREATE_COMPLETE');
    const before = await outputs();
    expect(before['where']).toBe(before['web']);
    const nodes = { web: await nodeOf(before['web'] ?? ''), inner: await nodeOf(before['inner'] ?? '') };

    await cut(await nodeOf(before['left'] ?? ''));
    await cut(nodes.web);
    let now = before;
    const replaced = (name: string) =>
      eventually(
        async () => {
          now = await outputs().catch(() => now);
          return now[name] !== undefined && now[name] !== '' && now[name] !== before[name] ? now : undefined;
        },
        { within: withinMs, what: `another server ${name}`, last: () => [now, server.output()] },
      );
    await replaced('where');
    expect(await settled(server, 'web', withinMs)).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
    const after = await outputs();
    expect(after['where']).toBe(after['web']);
    expect(after).toMatchObject({ left: before['left'], inner: before['inner'] });
    expect(await nodeOf(after['web'] ?? '')).not.toBe(nodes.web);

    await cut(nodes.inner);
    await replaced('inner');
    expect(await settled(server, 'web', withinMs)).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
    const last = await outputs();
    expect(last).toMatchObject({ left: before['left'], web: after['web'] });
    const started = await server.client.events.list({ types: ['stack.update.started'], limit: 100 });
    const reasons = started.map(({ data }) => (data as { origin: { cause: unknown } }).origin.cause);
    for (const id of [before['web'], before['inner']]) {
      const reason = expect.stringContaining(`host ${id} is silent since`);
      expect(reasons).toContainEqual(expect.objectContaining({ kind: 'replacement', reason }));
    }
    // Its host has been silent for as long as that of the server that was replaced.
    expect((await server.client.hosts.show({ host: before['left'] ?? '' })).status).toBe('silent');
    expect((await server.client.actions.why({ stack: 'web' })).summary).toMatch(
      /^Stack web is idle: .* But host \S*-left-\S+ has been silent since \S+\.$/,
    );

    // The time counts from a loss before the update that brings the policy.
    await server.client.stacks.update({ stack: 'web', bundle: withEntries({ ...policies, left: policy }) });
    await replaced('left');
    expect(await settled(server, 'web', withinMs)).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
    expect(await outputs()).toMatchObject({ web: after['web'], inner: last['inner'] });
  },
  testMs,
);

it(
  'replaces a server whose BMC died, although its host answers, and only when the fencing program has confirmed',
  async () => {
    const { client } = server;
    const entry = { replace_lost: { after: 1, node_faults: true }, replacement: 'delete_first' };
    await client.stacks.create({ name: 'db', bundle: withEntries({ database: entry }, oneServer('database')) });
    expect(await settled(server, 'db', withinMs)).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
    const { database: old = '' } = await outputs('db');
    const dead = await nodeOf(old);
    await atLab(server, { path: `/lab/v1/machines/${dead}/faults`, body: { dark: true } });

    await eventually(async () => (await fence.asked()).split('\n').length > 2 || undefined, {
      within: withinMs,
      what: 'two questions to the fencing program',
      last: () => server.output(),
    });
    expect(await fence.asked()).toMatch(new RegExp(`^(?:off ${dead}\n)+$`));
    expect((await client.nodes.show({ node: dead })).fault).toBe('power failure');
    // Its host answers: the fault of the node is the only sign.
    expect((await client.hosts.show({ host: old })).status).not.toBe('silent');
    // Nothing takes the place of the server while nothing proves that its machine is off.
    expect(await outputs('db')).toEqual({ database: old });
    expect((await client.stacks.resources({ stack: 'db' })).map(({ physical_resource_id: id }) => id)).toEqual([old]);

    await fence.pull();
    const last = await settled(server, 'db', withinMs);
    expect(last, last.stack_status_reason ?? '').toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
    const { database: present = '' } = await outputs('db');
    expect(present).not.toBe(old);
    expect(await nodeOf(present)).not.toBe(dead);
    const started = await client.events.list({ stack: 'db', types: ['stack.update.started'], limit: 10 });
    expect(started.map(({ data }) => (data as { origin: { cause: unknown } }).origin.cause)).toEqual([
      expect.objectContaining({
        kind: 'replacement',
        reason: expect.stringMatching(/^its node has the fault power failure since /),
      }),
    ]);
  },
  testMs,
);
