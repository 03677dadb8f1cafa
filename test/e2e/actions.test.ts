/** Operator actions on a stack, in any order and at any time: every action ends, and the last one determines the result. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@anneal/runtime/testing.ts';
import type { Stack } from '@anneal/client/representation.ts';
import { bundle, deleted, settled, startServer, type TestServer } from './server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startServer({ lab: 2 });
}, 180_000);
afterAll(() => server?.dispose());

const inner = `heat_template_version: 2018-08-31
parameters: {word: {type: string}, fail: {type: boolean, default: false}}
resources:
  leaf: {type: OS::Heat::TestResource, properties: {value: {get_param: word}, fail: {get_param: fail}}}
outputs: {said: {value: {get_attr: [leaf, output]}}}
`;
/** `a` is slow, the nested stack `b` returns the value of `a`, and `v` reads the value of `b`. */
const tree = (more = '') =>
  bundle(
    `heat_template_version: 2018-08-31
parameters:
  word: {type: string, default: one}
  fail: {type: boolean, default: false}
  extra: {type: boolean, default: false}
  seconds: {type: number, default: 0}
  version: {type: string, default: first}
conditions: {more: {get_param: extra}}
resources:
  a:
    type: OS::Heat::TestResource
    properties:
      value: {get_param: word}
      wait_secs: {get_param: seconds}
      update_replace_value: {get_param: version}
  b: {type: inner.yaml, properties: {word: {get_attr: [a, output]}, fail: {get_param: fail}}}
  c: {type: OS::Heat::RandomString, condition: more}
  v: {type: OS::Heat::Value, properties: {value: {get_attr: [b, said]}}}
${more}outputs: {said: {value: {get_attr: [v, value]}}}
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
const create = (name: string, parameters = {}, more: { onFailure?: 'keep' | 'rollback' | 'pause' } = {}) =>
  server.client.stacks.create({ name, bundle: tree(), parameters, ...more });
const update = (stack: string, parameters = {}) =>
  server.client.stacks.update({ stack, existing: true, parameters }).then(() => undefined);
const act = (stack: string, action: Parameters<TestServer['client']['actions']['act']>[0]['action']) =>
  server.client.actions.act({ stack, action });
const namesOf = async (stack: string): Promise<string[]> =>
  (await server.client.stacks.resources({ stack })).map(({ resource_name: name }) => name);
const physicalOf = async (stack: string, resource: string): Promise<string | null> =>
  (await server.client.stacks.resource({ stack, resource })).physical_resource_id;

describe('a new action', () => {
  it('supersedes a create by an update, and creates nothing twice', async () => {
    await create('early', { seconds: 1 });
    await update('early', { word: 'two', seconds: 0 });
    expect(valueOf(await ended('early', 'UPDATE_COMPLETE'))).toBe('two');
    const creations = (await server.client.stacks.events({ stack: 'early', resource: 'a' })).filter(
      ({ resource_status: status }) => status === 'CREATE_IN_PROGRESS',
    );
    expect(creations).toHaveLength(1);
  });

  it('removes a resource that is being added, after its creation', async () => {
    await create('moody');
    await ended('moody', 'CREATE_COMPLETE');
    const slow = '  d: {type: OS::Heat::TestResource, properties: {wait_secs: 1}}\n';
    await server.client.stacks.update({ stack: 'moody', bundle: tree(slow) });
    await server.client.stacks.update({ stack: 'moody', bundle: tree() });
    await ended('moody', 'UPDATE_COMPLETE');
    expect(await namesOf('moody')).toEqual(['a', 'b', 'v']);
  });

  it('applies the last of two concurrent updates to the whole stack', async () => {
    await create('twice');
    await ended('twice', 'CREATE_COMPLETE');
    await Promise.all([update('twice', { word: 'left' }), update('twice', { word: 'right' })]);
    const stack = await ended('twice', 'UPDATE_COMPLETE');
    expect(valueOf(stack)).toBe((stack.parameters as Record<string, unknown>)['word']);
  });

  it('replaces a resource that is being replaced, and keeps only the last one', async () => {
    await create('again');
    await ended('again', 'CREATE_COMPLETE');
    const first = await physicalOf('again', 'a');
    await update('again', { version: 'second', seconds: 1 });
    await update('again', { version: 'third', word: 'new', seconds: 0 });
    expect(valueOf(await ended('again', 'UPDATE_COMPLETE'))).toBe('new');
    expect(await namesOf('again')).toEqual(['a', 'b', 'v']);
    expect(await physicalOf('again', 'a')).not.toBe(first);
  });

  it('adds and removes resources by conditions', async () => {
    await create('more', { extra: true });
    await ended('more', 'CREATE_COMPLETE');
    expect(await namesOf('more')).toEqual(['a', 'b', 'c', 'v']);
    await update('more', { extra: false });
    await ended('more', 'UPDATE_COMPLETE');
    expect(await namesOf('more')).toEqual(['a', 'b', 'v']);
  });
});

describe('a failed or cancelled action', () => {
  it('is rolled back: a failed create leaves nothing', async () => {
    await create('none', { fail: true }, { onFailure: 'rollback' });
    const stack = await ended('none', 'ROLLBACK_COMPLETE');
    expect(stack.stack_status_reason).toBe('Stack ROLLBACK completed successfully');
    expect(await namesOf('none')).toEqual([]);
  });

  it('is rolled back in every stack when it failed in a nested one', async () => {
    await create('deep', {}, { onFailure: 'rollback' });
    await ended('deep', 'CREATE_COMPLETE');
    await update('deep', { word: 'two', fail: true });
    expect(valueOf(await ended('deep', 'ROLLBACK_COMPLETE'))).toBe('one');
  });

  it('returns to the last complete state, also when it has superseded a rollback', async () => {
    await create('thrice');
    await ended('thrice', 'CREATE_COMPLETE');
    await update('thrice', { word: 'two', seconds: 4 });
    await act('thrice', { kind: 'cancel', rollback: true });
    await update('thrice', { word: 'three', seconds: 4 });
    await act('thrice', { kind: 'cancel', rollback: true });
    expect(valueOf(await ended('thrice', 'ROLLBACK_COMPLETE'))).toBe('one');
    await expect(act('thrice', { kind: 'cancel', rollback: true })).rejects.toMatchObject({ code: 'NotSupported' });
  });

  it('stops without a rollback when the operator says so; a retry continues', async () => {
    await create('stopped', { seconds: 4 });
    await act('stopped', { kind: 'cancel', rollback: false });
    expect((await server.client.stacks.show({ stack: 'stopped' })).stack_status_reason).toBe('Stack CREATE cancelled');
    await act('stopped', { kind: 'retry' });
    expect(valueOf(await ended('stopped', 'CREATE_COMPLETE'))).toBe('one');
  });

  it('that is paused rolls back when the operator says so', async () => {
    await create('asks', {}, { onFailure: 'pause' });
    await ended('asks', 'CREATE_COMPLETE');
    await update('asks', { word: 'two', fail: true });
    const why = await eventually(async () => {
      const { summary, exits } = await server.client.actions.why({ stack: 'asks' });
      return exits.some((exit) => exit.includes('retry')) ? summary : undefined;
    });
    expect(why).toContain('asks');
    await act('asks', { kind: 'rollback' });
    expect(valueOf(await ended('asks', 'ROLLBACK_COMPLETE'))).toBe('one');
  });

  it('that is paused lists working commands in why, such as skipping the failed nested stack', async () => {
    await create('listed', { fail: true }, { onFailure: 'pause' });
    const exits = await eventually(async () => {
      const why = await server.client.actions.why({ stack: 'listed' });
      return why.summary.includes('is paused') ? why.exits : undefined;
    });
    expect(exits).toContain('anneal stack cancel listed --no-rollback');
    expect(exits).toContain('anneal resource skip listed b');
    expect((await server.anneal('resource', 'skip', 'listed', 'b')).status).toBe(0);
    await ended('listed', 'CREATE_COMPLETE');
  });

  it('does not affect a snapshot, which restores its state', async () => {
    await create('kept');
    await ended('kept', 'CREATE_COMPLETE');
    const { id } = await server.client.actions.snapshot({ stack: 'kept', name: 'first' });
    await ended('kept', 'SNAPSHOT_COMPLETE');
    await update('kept', { word: 'two' });
    await ended('kept', 'UPDATE_COMPLETE');
    await act('kept', { kind: 'restore', snapshot: id });
    expect(valueOf(await ended('kept', 'RESTORE_COMPLETE'))).toBe('one');
    await server.client.actions.deleteSnapshot({ stack: 'kept', snapshot: id });
    expect(await server.client.actions.snapshots({ stack: 'kept' })).toEqual([]);
  });
});

describe('a delete', () => {
  const states: Record<string, (name: string) => Promise<unknown>> = {
    CREATE_IN_PROGRESS: (name) => create(name, { seconds: 1 }),
    CREATE_FAILED: async (name) => {
      await create(name, { fail: true });
      await ended(name, 'CREATE_FAILED');
    },
    UPDATE_IN_PROGRESS: async (name) => {
      await create(name);
      await ended(name, 'CREATE_COMPLETE');
      await update(name, { word: 'two', version: 'second', seconds: 1 });
    },
    ROLLBACK_IN_PROGRESS: async (name) => {
      await create(name);
      await ended(name, 'CREATE_COMPLETE');
      await update(name, { word: 'two', seconds: 4 });
      await act(name, { kind: 'cancel', rollback: true });
    },
    SUSPEND_COMPLETE: async (name) => {
      await create(name);
      await ended(name, 'CREATE_COMPLETE');
      await act(name, { kind: 'suspend' });
      await ended(name, 'SUSPEND_COMPLETE');
    },
    paused: (name) => create(name, { fail: true }, { onFailure: 'pause' }),
    DELETE_IN_PROGRESS: async (name) => {
      await create(name, { seconds: 1 });
      await server.client.stacks.delete({ stack: name });
    },
  };
  it.each(Object.keys(states))('is accepted and ends in the state %s', async (state) => {
    const name = `end-${state.toLowerCase()}`;
    await states[state]?.(name);
    const { id } = await server.client.stacks.delete({ stack: name });
    await deleted(server, id);
    expect(
      (await server.client.stacks.list({ nested: true })).filter((row) => row.stack_name.startsWith(name)),
    ).toEqual([]);
  });
});

describe('an existing object', () => {
  it('is suspended by powering its machine off, and resumed by powering it on', async () => {
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
    await eventually(async () => ((await active())[0]?.power_state === 'power off' ? true : undefined), {
      within: 30_000,
    });
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

  it('moves from one stack to another by abandon and adopt', async () => {
    await create('given');
    await ended('given', 'CREATE_COMPLETE');
    const [id, inside] = [await physicalOf('given', 'a'), await physicalOf('given', 'b/leaf')];
    const data = await server.client.actions.abandon({ stack: 'given' });
    await deleted(server, 'given');
    await server.client.actions.adopt({ name: 'taken', data });
    expect(valueOf(await ended('taken', 'ADOPT_COMPLETE'))).toBe('one');
    expect([await physicalOf('taken', 'a'), await physicalOf('taken', 'b/leaf')]).toEqual([id, inside]);
    await update('taken', { word: 'two' });
    expect(valueOf(await ended('taken', 'UPDATE_COMPLETE'))).toBe('two');
  });

  it('is replaced when an operator marks it unhealthy', async () => {
    await create('sick');
    await ended('sick', 'CREATE_COMPLETE');
    const before = await physicalOf('sick', 'b/leaf');
    const action = { kind: 'mark', unhealthy: true, reason: 'it smells' } as const;
    await server.client.actions.actOn({ stack: 'sick', resource: 'a', action });
    const marked = await server.client.stacks.resource({ stack: 'sick', resource: 'a' });
    expect(marked).toMatchObject({ resource_status: 'CHECK_FAILED', resource_status_reason: 'it smells' });
    await update('sick');
    await ended('sick', 'UPDATE_COMPLETE');
    expect(await physicalOf('sick', 'a')).not.toBe(marked.physical_resource_id);
    expect(await physicalOf('sick', 'b/leaf')).toBe(before);
  });

  it('stays unchanged when a restriction, a policy or an external owner requires it', async () => {
    const { client } = server;
    const template = (value: string) => `heat_template_version: 2018-08-31
resources:
  fixed: {type: OS::Heat::TestResource, properties: {value: ${value}}}
  theirs: {type: OS::Heat::RandomString, external_id: something-else}
outputs: {id: {value: {get_resource: theirs}}}
`;
    const environment = '{"resource_registry": {"resources": {"fixed": {"restricted_actions": ["update"]}}}}';
    const inputOf = (value: string) => ({
      template: template(value),
      environmentFiles: ['env.json'],
      files: { 'env.json': environment },
    });
    await client.stacks.create({ name: 'fixed', bundle: inputOf('x') });
    const { outputs } = await ended('fixed', 'CREATE_COMPLETE');
    expect(outputs?.[0]?.output_value).toBe('something-else');
    await client.stacks.update({ stack: 'fixed', bundle: inputOf('y') });
    const refused = await ended('fixed', 'UPDATE_FAILED');
    expect(refused.stack_status_reason).toContain('update is restricted for resource.');
  });
});

describe('a plan', () => {
  it('is applied as shown, and refused after the stack has changed', async () => {
    await create('planned');
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
