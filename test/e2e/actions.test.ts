/** Operator actions on a stack through the client and the CLI, and on machines. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Stack } from '@anneal/client/representation.ts';
import { bundle, deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 2 });
});
afterAll(() => server?.dispose());

const inner = `heat_template_version: 2018-08-31
parameters: {word: {type: string}, fail: {type: boolean, default: false}}
resources:
  leaf: {type: OS::Heat::TestResource, properties: {value: {get_param: word}, fail: {get_param: fail}}}
outputs: {said: {value: {get_attr: [leaf, output]}}}
`;
/** The nested stack `b` returns the value of `a`, and `v` reads the value of `b`. */
const tree = bundle(
  `heat_template_version: 2018-08-31
parameters:
  word: {type: string, default: one}
  fail: {type: boolean, default: false}
resources:
  a: {type: OS::Heat::TestResource, properties: {value: {get_param: word}}}
  b: {type: inner.yaml, properties: {word: {get_attr: [a, output]}, fail: {get_param: fail}}}
  v: {type: OS::Heat::Value, properties: {value: {get_attr: [b, said]}}}
outputs: {said: {value: {get_attr: [v, value]}}}
`,
  { 'inner.yaml': inner },
);

const ended = async (stack: string, status: string): Promise<Stack> => {
  const found = await settled(server, stack);
  expect(found.stack_status, found.stack_status_reason ?? '').toBe(status);
  return found;
};
const valueOf = ({ outputs = [] }: Stack): unknown =>
  outputs.find(({ output_key: key }) => key === 'said')?.output_value;
const update = (stack: string, parameters = {}) =>
  server.client.stacks.update({ stack, existing: true, parameters }).then(() => undefined);
const act = (stack: string, action: Parameters<TestServer['client']['actions']['act']>[0]['action']) =>
  server.client.actions.act({ stack, action });
const physicalOf = async (stack: string, resource: string): Promise<string | null> =>
  (await server.client.stacks.resource({ stack, resource })).physical_resource_id;

describe('a failed action', () => {
  it('that is paused lists working commands in why, such as skipping the failed nested stack', async () => {
    const failing = { bundle: tree, parameters: { fail: true }, onFailure: 'pause' } as const;
    await server.client.stacks.create({ name: 'listed', ...failing });
    const exits = await eventually(async () => {
      const why = await server.client.actions.why({ stack: 'listed' });
      return why.summary.includes('is paused') ? why.exits : undefined;
    });
    expect(exits).toContain('anneal stack cancel listed --no-rollback');
    expect(exits).toContain('anneal resource skip listed b');
    expect((await server.anneal('resource', 'skip', 'listed', 'b')).status).toBe(0);
    await ended('listed', 'CREATE_COMPLETE');
  });
});

describe('a machine', () => {
  it('is powered off when its stack is suspended, and powered on when the stack is resumed', async () => {
    const { client } = server;
    const template = `heat_template_version: 2018-08-31
resources:
  host: {type: OS::Nova::Server, properties: {image: any, flavor: any}}
  one: {type: OS::Heat::OrderedConfig, properties: {hosted_on: {get_resource: host}, script: echo one}}
`;
    await client.stacks.create({ name: 'sleeper', bundle: bundle(template) });
    await ended('sleeper', 'CREATE_COMPLETE');
    const active = async () => (await client.nodes.list()).filter(({ provision_state: state }) => state === 'active');
    const [node] = await active();
    await act('sleeper', { kind: 'suspend' });
    await ended('sleeper', 'SUSPEND_COMPLETE');
    expect((await active())[0]?.power_state).toBe('power off');
    await expect(update('sleeper')).rejects.toThrow('Updating a stack when it is suspended is not supported.');
    await act('sleeper', { kind: 'resume' });
    await ended('sleeper', 'RESUME_COMPLETE');
    expect((await active())[0]?.power_state).toBe('power on');

    // The machine loses its power: a check reports it, and the next update uses another machine.
    await client.nodes.power({ node: String(node?.name), target: 'power off' });
    await eventually(async () => ((await active())[0]?.power_state === 'power off' ? true : undefined), {});
    await act('sleeper', { kind: 'check' });
    await ended('sleeper', 'CHECK_FAILED');
    const host = await client.stacks.resource({ stack: 'sleeper', resource: 'host' });
    expect(host.drift).toEqual([{ property: 'power', expected: 'power on', actual: 'power off' }]);
    await update('sleeper');
    await ended('sleeper', 'UPDATE_COMPLETE');
    expect(await physicalOf('sleeper', 'host')).not.toBe(host.physical_resource_id);
    await client.stacks.delete({ stack: 'sleeper' });
    await deleted(server, 'sleeper');
  });
});

describe('a plan', () => {
  it('is applied as shown, and refused after the stack has changed', async () => {
    await server.client.stacks.create({ name: 'planned', bundle: tree });
    await ended('planned', 'CREATE_COMPLETE');
    const planned = { existing: true, parameters: { word: 'two' } } as const;
    const plan = await server.client.actions.plan({ stack: 'planned', fresh: false, ...planned });
    expect(plan.changes.map(({ resource, change }) => `${change} ${resource}`)).toEqual([
      'update a',
      'maybe update b',
      'maybe update b.resources.leaf',
      'maybe update v',
    ]);
    await update('planned', { word: 'other' });
    await ended('planned', 'UPDATE_COMPLETE');
    const applied = server.client.stacks.update({ stack: 'planned', ...planned, planHash: plan.hash });
    await expect(applied).rejects.toMatchObject({ code: 'Conflict' });
    const fresh = await server.client.actions.plan({ stack: 'planned', fresh: false, ...planned });
    await server.client.stacks.update({ stack: 'planned', ...planned, planHash: fresh.hash });
    expect(valueOf(await ended('planned', 'UPDATE_COMPLETE'))).toBe('two');
  });
});

describe('a resource that can exist only once', () => {
  it('is deleted before its replacement is created, and its users stay and move over', async () => {
    const template = `heat_template_version: 2018-08-31
parameters: {version: {type: string, default: first}}
resources:
  only: {type: OS::Heat::TestResource, properties: {update_replace_value: {get_param: version}}}
  user: {type: OS::Heat::TestResource, properties: {value: {get_resource: only}}}
`;
    const environment = 'resource_registry: {resources: {only: {replacement: delete_first}}}';
    const parts = { ...bundle(template, { 'env.yaml': environment }), environmentFiles: ['env.yaml'] };
    const { client } = server;
    await client.stacks.create({ name: 'only', bundle: parts });
    expect(await settled(server, 'only')).toMatchObject({ stack_status: 'CREATE_COMPLETE' });
    const marker = (await client.stacks.events({ stack: 'only', limit: 1, descending: true })).at(0)?.id;
    const shown = await server.anneal('stack', 'plan', 'only', '--existing', '--parameter', 'version=second');
    expect(shown.stdout).toMatch(
      /replace +only .*\n +deleted before the replacement is created\n +update_replace_value: "first"/,
    );
    expect(shown.stdout).toMatch(/maybe update +user .*\n +value: .* → \(known after apply\)/);
    await client.stacks.update({ stack: 'only', bundle: parts, parameters: { version: 'second' } });
    expect(await settled(server, 'only')).toMatchObject({ stack_status: 'UPDATE_COMPLETE' });
    const events = await client.stacks.events({ stack: 'only', marker });
    const statuses = events.map((event) => `${event.resource_name} ${event.resource_status}`);
    expect(statuses.filter((event) => !event.startsWith('only UPDATE'))).toEqual([
      'only DELETE_IN_PROGRESS',
      'only DELETE_COMPLETE',
      'only CREATE_IN_PROGRESS',
      'only CREATE_COMPLETE',
      'user UPDATE_IN_PROGRESS',
      'user UPDATE_COMPLETE',
    ]);
    await client.stacks.delete({ stack: 'only' });
    await deleted(server, 'only');
  });
});
