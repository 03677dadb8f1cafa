/** `why` against a whole server: it names what waits, in nested stacks and on hosts, and only commands that exist. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describedCommands } from '@anneal/cli/completion/described.ts';
import type { Why } from '@anneal/client/why.ts';
import { openConfigurationCollections } from '@anneal/configuration/collections.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { change } from '@anneal/store/change.ts';
import { openStore } from '@anneal/store/open.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 0, env: { ANNEAL_CONFIGURATION_SILENT_SECONDS: '3' } });
});
afterAll(() => server?.dispose());

const commands = new Set(
  describedCommands().flatMap(({ name, commands: below }) => [name, ...below.map((one) => `${name} ${one.name}`)]),
);

/** The explanation whose summary matches, with commands that exist. */
async function whyMatching(pattern: RegExp, stack: string, resource?: string): Promise<Why> {
  let last = '';
  const found = await eventually(
    async () => {
      const why = await server.client.actions.why({ stack, resource });
      last = why.summary;
      return pattern.test(why.summary) ? why : undefined;
    },
    { what: `why of ${stack} matching ${String(pattern)}` },
  ).catch((error: unknown) => {
    throw new Error(`the last summary was: ${last}`, { cause: error });
  });
  for (const [, line = ''] of found.exits.flatMap((exit) => [...exit.matchAll(/anneal ([^;]+)/g)])) {
    const [noun = '', verb = ''] = line.split(' ');
    expect(commands.has(noun) && (commands.has(`${noun} ${verb}`) || noun === 'why'), line).toBe(true);
  }
  return found;
}

/** Asks once for work of a host, as its agent does. */
async function askForWork(name: string): Promise<void> {
  const { host, token } = await server.client.hosts.renewToken({ host: name });
  const claimed = await fetch(`${server.url}/messaging/v2/queues/${host.requests_queue}/claims`, {
    method: 'POST',
    headers: { 'x-auth-token': token, 'client-id': host.id, 'content-type': 'application/json' },
    body: '{"ttl": 60, "grace": 60}',
  });
  expect(claimed.status).toBe(204);
}

it('names the host that never asked for work, its queue and the waiting message', async () => {
  const template = `heat_template_version: rocky
resources:
  box: {type: OS::Heat::DeployedServer, properties: {name: box7, software_config_transport: ZAQAR_MESSAGE}}
  c: {type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_resource: box}, script: 'echo hi'}}
`;
  await server.client.stacks.create({ name: 'silent', bundle: { template, environmentFiles: [], files: {} } });
  const why = await whyMatching(/waits for host/, 'silent');
  expect(why.summary).toMatch(
    /^c waits for host box7, which has never asked for work; 1 request waits in host\.[-\w]+\.requests\.$/,
  );
  expect(why.chain.slice(-2)).toMatchObject([
    { object: 'host box7', state: 'expected', reason: 'has never asked for work' },
    { object: expect.stringMatching(/^queue host\..*\.requests$/), state: '1 waiting', reason: 'message of c' },
  ]);
  expect(why.exits.join('; ')).toContain('anneal host token box7');
  const { stdout } = await server.anneal('stack', 'show', 'silent');
  expect(stdout).toContain('c waits for host box7, which has never asked for work');
  expect((await server.anneal('stack', 'list')).stdout).toMatch(/silent .*c waits for host box7/);
  await server.client.stacks.delete({ stack: 'silent' });
});

it('asks whether the template means a free host that joined under a similar name', async () => {
  const template = `heat_template_version: rocky
resources:
  box: {type: OS::Heat::DeployedServer, properties: {name: box8}}
  c: {type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_resource: box}, script: 'echo hi'}}
`;
  await server.client.hosts.join({ host: 'box8.example.org' });
  await server.client.stacks.create({ name: 'confused', bundle: { template, environmentFiles: [], files: {} } });
  const why = await whyMatching(
    /waits for host box8, .*requests\. A host box8\.example\.org joined; do you mean that\?$/,
    'confused',
  );
  expect(why.exits[0]).toBe('give the server in the template the name of the joined host: box8.example.org');
  await server.client.stacks.delete({ stack: 'confused' });
});

it('names the silent host of a stack nested in an idle stack', async () => {
  const template = `heat_template_version: rocky
resources:
  workers:
    type: OS::Heat::ResourceGroup
    properties:
      count: 1
      resource_def:
        type: OS::Heat::DeployedServer
        properties: {name: box9, software_config_transport: ZAQAR_MESSAGE}
`;
  await server.client.stacks.create({ name: 'nest', bundle: { template, environmentFiles: [], files: {} } });
  await settled(server, 'nest');
  await askForWork('box9');
  const why = await whyMatching(/^Stack nest is idle: .* But host box9 has been silent since \S+\.$/, 'nest');
  expect(why.exits).toContain('anneal host show box9');
  // The same of the resource that holds the nested stack, and of the server itself.
  await whyMatching(/^workers is idle: .* But host box9 has been silent since \S+\.$/, 'nest', 'workers');
  const [workers] = await server.client.stacks.resources({ stack: 'nest' });
  const group = workers?.physical_resource_id ?? '';
  const [member] = await server.client.stacks.resources({ stack: group });
  const name = member?.resource_name ?? '';
  const own = await whyMatching(/is idle: .* But host box9 has been silent since \S+\.$/, group, name);
  expect(own.chain.map(({ object }) => object)).toEqual([`resource ${name} (OS::Heat::DeployedServer)`, 'host box9']);
  expect(await server.client.connection.json({ service: 'api', path: '/stacks/nest/why', what: 'explain' })).toEqual(
    why,
  );
  await server.client.stacks.delete({ stack: 'nest' });
});

it('calls no host silent whose server was suspended before an update to a version that follows suspensions', async () => {
  const template = `heat_template_version: rocky
resources:
  box: {type: OS::Heat::DeployedServer, properties: {name: box11, software_config_transport: ZAQAR_MESSAGE}}
`;
  await server.client.stacks.create({ name: 'asleep', bundle: { template, environmentFiles: [], files: {} } });
  await settled(server, 'asleep');
  await askForWork('box11');
  await server.client.actions.act({ stack: 'asleep', action: { kind: 'suspend' } });
  let last: unknown;
  const conditionReason = (reason: string): Promise<true> =>
    eventually(
      async () => {
        const { conditions } = await server.client.hosts.show({ host: 'box11' });
        last = conditions;
        return conditions[0]?.reason === reason ? true : undefined;
      },
      { what: `the host of the suspended server being ${reason}`, last: () => last },
    );
  await conditionReason('Suspended');
  await server.kill();
  // As the version before left it.
  const store = await openStore({ url: server.storeUrl });
  const { hosts } = await openConfigurationCollections(store);
  const asleep = (await hosts.find({ where: { status: 'silent' } })).find(({ name }) => name === 'box11');
  if (!asleep) throw new Error('the host is not in the store');
  const { document } = await change(hosts, asleep.id, ({ suspended_at: _at, ...host }) => host);
  expect(document?.suspended_at).toBeUndefined();
  await store.close();
  await server.start();
  await conditionReason('Suspended');
  expect((await server.client.actions.why({ stack: 'asleep', resource: 'box' })).summary).not.toContain('silent');
  // Its machine is off on purpose only until then.
  await server.client.actions.act({ stack: 'asleep', action: { kind: 'resume' } });
  await conditionReason('AgentSilent');
  await server.client.stacks.delete({ stack: 'asleep' });
});

it('explains a resource in the first moments of its stack', async () => {
  const template = 'heat_template_version: rocky\nresources: {v: {type: OS::Heat::Value, properties: {value: 1}}}\n';
  for (let count = 0; count < 10; count += 1) {
    const name = `new-${count}`;
    await server.client.stacks.create({ name, bundle: { template, environmentFiles: [], files: {} } });
    const { summary } = await server.client.actions.why({ stack: name, resource: 'v' });
    expect(summary).toMatch(/^(Stack new-\d is about to start|v )/);
    await expect(server.client.actions.why({ stack: name, resource: 'w' })).rejects.toMatchObject({ code: 'NotFound' });
  }
});

const group = (cooldown: number) => `heat_template_version: rocky
resources:
  workers:
    type: OS::Heat::AutoScalingGroup
    properties:
      min_size: 1
      max_size: 3
      desired_capacity: 2
      cooldown: ${cooldown}
      resource: {type: OS::Heat::TestResource, properties: {value: w}}
  less:
    type: OS::Heat::ScalingPolicy
    properties:
      adjustment_type: change_in_capacity
      auto_scaling_group_id: {get_resource: workers}
      scaling_adjustment: -1
      cooldown: ${cooldown}
`;
const hooks = {
  resource_registry: {
    resources: {
      workers: {
        '*': { lifecycle_hooks: [{ transition: 'terminating', heartbeat_timeout: 3600, default_result: 'continue' }] },
      },
    },
  },
};

it('names the hook that holds a member of a group in a complete stack', async () => {
  const { client } = server;
  const files = { 'env.json': JSON.stringify(hooks) };
  await client.stacks.create({ name: 'grp', bundle: { template: group(0), environmentFiles: ['env.json'], files } });
  expect((await settled(server, 'grp')).stack_status).toBe('CREATE_COMPLETE');
  await client.actions.signal({ stack: 'grp', resource: 'less', signal: null });
  const held = await whyMatching(/held at hook "terminating"/, 'grp');
  expect(held.chain[0]).toMatchObject({ object: 'stack grp', state: 'CREATE_COMPLETE' });
  expect(held.chain.at(-1)).toMatchObject({ object: 'hook terminating', state: 'waiting' });
  expect((await whyMatching(/held at hook/, 'grp', 'workers')).summary).toBe(held.summary);
  expect((await server.anneal('stack', 'show', 'grp')).stdout).toContain('is held at hook "terminating"');
  expect((await server.anneal('stack', 'list')).stdout).toMatch(/grp .*is held at hook "terminating"/);
  await client.stacks.delete({ stack: 'grp' });
});

it('names the end of the cooldown of a group', async () => {
  const { client } = server;
  await client.stacks.create({ name: 'cool', bundle: { template: group(3600), environmentFiles: [], files: {} } });
  expect((await settled(server, 'cool')).stack_status).toBe('CREATE_COMPLETE');
  // As in Heat, the cooldown begins with the first size.
  const why = await whyMatching(/cools down until/, 'cool', 'workers');
  expect(why.summary).toMatch(/^Group workers is idle and cools down until 20[-\d]*T[:.\d]*Z/);
  expect(why.exits).toEqual(['anneal group resize cool workers SIZE']);
  const ofStack = await whyMatching(/cools down until/, 'cool');
  expect(ofStack).toEqual({ ...why, chain: [expect.objectContaining({ object: 'stack cool' }), why.chain.at(-1)] });
  await client.stacks.delete({ stack: 'cool' });
});

it('lists a node that could not be verified among what needs a person, until it is removed', async () => {
  const { client } = server;
  const bmc = createServer((_request, response) => response.writeHead(401).end()).listen(0, '127.0.0.1');
  await once(bmc, 'listening');
  try {
    const address = `http://127.0.0.1:${(bmc.address() as AddressInfo).port}`;
    await client.nodes.enrol({
      name: 'locked',
      driver: 'redfish',
      address,
      username: 'u',
      password: 'wrong',
      provide: true,
    });
    let last: unknown;
    const { needs, need_counts: counts } = await eventually(
      async () => {
        last = await client.nodes.show({ node: 'locked' });
        const overview = await client.overview();
        return overview.needs.some(({ kind }) => kind === 'node') ? overview : undefined;
      },
      { what: 'the node among the needs', last: () => last },
    );
    expect(counts?.['node']).toBe(1);
    expect(needs.filter(({ kind }) => kind === 'node')).toMatchObject([
      {
        name: 'locked',
        summary: expect.stringMatching(/^Node locked: not verified\. The BMC refused the credentials/) as string,
        exits: ['anneal node show locked', 'anneal node provide locked --verb manage'],
      },
    ]);
    await client.nodes.remove({ node: 'locked' });
    expect((await client.overview()).need_counts?.['node']).toBe(0);
  } finally {
    bmc.close();
  }
});
