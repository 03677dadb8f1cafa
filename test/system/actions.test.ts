import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { hookEvent, lifecycleEvent } from '@anneal/contracts/events.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { snapshotDelete, snapshotList, snapshotShow, stackExport } from '@anneal/contracts/calls/stack-history.ts';
import { stackCreate, type StackView, stackEvents } from '@anneal/contracts/calls/stacks.ts';
import { type ResourceView } from '@anneal/contracts/calls/resources.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

useQuickClock();

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const inner = `
heat_template_version: 2018-08-31
parameters: {value: {type: string}, fail: {type: boolean, default: false}}
resources:
  t: {type: OS::Heat::TestResource, properties: {value: {get_param: value}, fail: {get_param: fail}}}
outputs: {out: {value: {get_attr: [t, output]}}}
`;
const tree = (value: string, more = '') => ({
  template: `
heat_template_version: 2018-08-31
resources:
  a: {type: inner.yaml, properties: {value: ${value}${more}}}
  b: {type: OS::Heat::Value, properties: {value: {get_attr: [a, out]}}}
outputs: {b: {value: {get_attr: [b, value]}}}
`,
  files: { 'inner.yaml': inner },
});
/** `a` may be slow, the nested stack `b` returns the value of `a`, and `v` reads the value of `b`. */
const chain = (parameters: JsonObject = {}, more = '') => ({
  template: `
heat_template_version: 2018-08-31
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
  b: {type: inner.yaml, properties: {value: {get_attr: [a, output]}, fail: {get_param: fail}}}
  c: {type: OS::Heat::RandomString, condition: more}
  v: {type: OS::Heat::Value, properties: {value: {get_attr: [b, out]}}}
${more}outputs: {said: {value: {get_attr: [v, value]}}}
`,
  files: { 'inner.yaml': inner },
  parameters,
});
const nestedOf = async (id: string): Promise<StackView> => {
  const nested = (await world.stacks(true)).find(({ parent }) => parent === id);
  if (!nested) throw new Error('nothing is nested');
  return nested;
};
const namesOf = async (id: string): Promise<string[]> => (await world.resources(id)).map(({ name }) => name);
const physicalOf = async (id: string, name: string): Promise<string> => {
  const physical = (await world.resources(id, 1)).find((resource) => resource.name === name)?.physical_id;
  if (!physical) throw new Error(`${name} has no object`);
  return physical;
};
const ended = async (id: string, action: string, status = 'COMPLETE'): Promise<StackView> => {
  const stack = await world.settled(id);
  expect(stack, stack.reason).toMatchObject({ action, status });
  return stack;
};
const saidBy = async (id: string, action: string): Promise<unknown> => world.outputs(await ended(id, action))['said'];
const paused = (id: string): Promise<StackView> =>
  eventually(async () => {
    const stack = await world.show(id);
    return stack.conditions.some(({ type }) => type === 'Paused') && stack;
  });

describe('a new action', () => {
  it('supersedes a create by an update, and creates nothing twice', async () => {
    const { id } = await world.create('s', chain({ seconds: 1 }));
    await world.update(id, chain({ word: 'two', seconds: 0 }));
    expect(await saidBy(id, 'UPDATE')).toBe('two');
    expect((await world.events(id)).filter((event) => event === 'a CREATE IN_PROGRESS')).toHaveLength(1);
  });

  it('removes a resource that is being added, after its creation', async () => {
    const { id } = await world.createAndWait('s', chain());
    const slow = '  d: {type: OS::Heat::TestResource, properties: {wait_secs: 1}}\n';
    await world.update(id, chain({}, slow));
    await world.update(id, chain());
    await ended(id, 'UPDATE');
    expect(await namesOf(id)).toEqual(['a', 'b', 'v']);
  });

  it('applies the last of two concurrent updates to the whole stack', async () => {
    const { id } = await world.createAndWait('s', chain());
    await Promise.all(['left', 'right'].map((word) => world.update(id, chain({ word }))));
    const stack = await ended(id, 'UPDATE');
    expect(['left', 'right']).toContain(stack.parameters['word']);
    expect(world.outputs(stack)['said']).toBe(stack.parameters['word']);
  });

  it('replaces a resource that is being replaced, and keeps only the last one', async () => {
    const { id } = await world.createAndWait('s', chain());
    const first = await physicalOf(id, 'a');
    await world.update(id, chain({ version: 'second', seconds: 1 }));
    await world.update(id, chain({ version: 'third', word: 'new', seconds: 0 }));
    expect(await saidBy(id, 'UPDATE')).toBe('new');
    expect(await namesOf(id)).toEqual(['a', 'b', 'v']);
    expect(await physicalOf(id, 'a')).not.toBe(first);
  });

  it('adds and removes resources by conditions', async () => {
    const { id } = await world.createAndWait('s', chain({ extra: true }));
    expect(await namesOf(id)).toEqual(['a', 'b', 'c', 'v']);
    await world.updated(id, chain({ extra: false }));
    expect(await namesOf(id)).toEqual(['a', 'b', 'v']);
  });
});

describe('an action', () => {
  it('runs in all nested stacks: check, suspend, resume', async () => {
    const root = await world.createAndWait('s', tree('x'));
    const nested = await nestedOf(root.id);
    for (const kind of ['check', 'suspend', 'resume'] as const) {
      await world.act(root.id, { kind });
      expect(await world.complete(root.id)).toMatchObject({ action: kind.toUpperCase() });
      expect(await world.show(nested.id)).toMatchObject({ action: kind.toUpperCase(), status: 'COMPLETE' });
    }
    expect(world.outputs(await world.updated(root.id, tree('y')))).toEqual({ b: 'y' });
  });

  it('that checks a failed create fails the resource that was not created, and leaves those behind it', async () => {
    const template = (fail: boolean): { template: string } => ({
      template: `
heat_template_version: 2018-08-31
resources:
  good: {type: OS::Heat::TestResource, properties: {value: x}}
  bad: {type: OS::Heat::TestResource, depends_on: good, properties: {value: x, fail: ${fail}}}
  behind: {type: OS::Heat::TestResource, depends_on: bad, properties: {value: x}}
outputs: {bad: {value: {get_attr: [bad, output]}}}
`,
    });
    const { id } = await world.create('s', template(true));
    expect(await world.settled(id)).toMatchObject({ action: 'CREATE', status: 'FAILED' });
    await world.act(id, { kind: 'check' });
    const checked = await world.settled(id);
    expect(checked).toMatchObject({ action: 'CHECK', status: 'FAILED' });
    expect(checked.reason).toMatch(/^Resource CHECK failed: NotCreated: resources\.bad: Its create failed: /);
    expect(world.outputs(checked)).toEqual({ bad: null });
    const states = (await world.resources(id)).map(({ name, action, status }) => `${name} ${action}_${status}`);
    expect(states.toSorted()).toEqual(['bad CHECK_FAILED', 'behind INIT_COMPLETE', 'good CHECK_COMPLETE']);
    expect(world.outputs(await world.updated(id, template(false)))).toEqual({ bad: 'x' });
  });

  it('creates snapshots and restores one', async () => {
    const root = await world.createAndWait('s', tree('x'));
    await world.act(root.id, { kind: 'snapshot', id: 'snap', name: 'first' });
    await world.complete(root.id);
    const which = { project: 'p1', stack: root.id };
    expect((await world.ask(snapshotList, which)).snapshots).toMatchObject([{ id: 'snap', status: 'COMPLETE' }]);
    const shown = await world.ask(snapshotShow, { ...which, snapshot: 'snap' });
    expect(shown.data).toMatchObject({ name: 's', resources: { b: { type: 'OS::Heat::Value' } } });
    await world.updated(root.id, tree('y'));
    await world.act(root.id, { kind: 'restore', snapshot: 'snap' });
    const restored = await world.complete(root.id);
    expect(restored.action).toBe('RESTORE');
    expect(world.outputs(restored)).toEqual({ b: 'x' });
    await world.ask(snapshotDelete, { ...which, snapshot: 'snap' });
    expect((await world.ask(snapshotList, which)).snapshots).toEqual([]);
  });

  it('rolls back every change of a failed update, in nested stacks too', async () => {
    const { id } = await world.create('s', chain(), { on_failure: 'rollback' });
    await world.complete(id);
    await world.update(id, chain({ word: 'two', fail: true }));
    expect(await saidBy(id, 'ROLLBACK')).toBe('one');
  });

  it('returns to the last complete state when it is cancelled, also when it has superseded a rollback', async () => {
    const { id } = await world.createAndWait('s', chain());
    for (const word of ['two', 'three']) {
      await world.update(id, chain({ word, seconds: 10 }));
      await world.act(id, { kind: 'cancel', rollback: true });
    }
    expect(await saidBy(id, 'ROLLBACK')).toBe('one');
    await expect(world.act(id, { kind: 'cancel', rollback: true })).rejects.toMatchObject({ code: 'NotSupported' });
  });

  it('stops without a rollback when the operator says so; a retry continues', async () => {
    const { id } = await world.create('s', chain({ seconds: 10 }));
    await world.act(id, { kind: 'cancel', rollback: false });
    expect((await world.show(id)).reason).toBe('Stack CREATE cancelled');
    await world.act(id, { kind: 'retry' });
    expect(await saidBy(id, 'CREATE')).toBe('one');
  });

  it('with the policy pause waits after a failure until the operator retries, or skips the failed resource', async () => {
    const { id } = await world.create('s', tree('x', ', fail: true'), { on_failure: 'pause' });
    expect(await paused(id)).toMatchObject({ action: 'CREATE', status: 'IN_PROGRESS' });
    await world.act(id, { kind: 'retry' });
    await paused(id);
    await world.actOn(id, 'a', { kind: 'skip' });
    const done = await world.complete(id);
    expect(world.outputs(done)).toEqual({ b: null });
    const [a] = await world.resources(id);
    expect(a?.conditions).toContainEqual(expect.objectContaining({ type: 'Skipped', status: 'True' }));
  });

  it('that is paused rolls back when the operator says so', async () => {
    const { id } = await world.create('asks', chain(), { on_failure: 'pause' });
    await ended(id, 'CREATE');
    await world.update(id, chain({ word: 'two', fail: true }));
    const why = await eventually(async () => {
      const { summary, exits } = await world.ask(stackWhy, { project: 'p1', stack: id });
      return exits.some((exit) => exit.includes('retry')) ? summary : undefined;
    });
    expect(why).toContain('asks');
    await world.act(id, { kind: 'rollback' });
    expect(await saidBy(id, 'ROLLBACK')).toBe('one');
  });

  it('reports the cancellation of each nested stack', async () => {
    const slow = tree('x');
    const files = { 'inner.yaml': slow.files['inner.yaml'].replace('}}}\noutputs', '}, wait_secs: 2}}\noutputs') };
    const { id } = await world.create('s', { ...slow, files });
    await eventually(async () => ((await world.resources(id, 1)).some(({ name }) => name === 't') ? true : undefined));
    await world.act(id, { kind: 'cancel', rollback: false });
    expect(await world.settled(id)).toMatchObject({
      action: 'CREATE',
      status: 'FAILED',
      reason: 'Stack CREATE cancelled',
    });
    const a = await eventually(async () =>
      (await world.resources(id)).find(({ name, status }) => name === 'a' && status === 'FAILED'),
    );
    expect(a.reason).toBe('ResourceFailed: resources.a: Stack CREATE cancelled');
  });

  it('marks a resource unhealthy, also in a nested stack, and the next update replaces only that one', async () => {
    const { id } = await world.createAndWait('s', chain());
    const stacks = { a: id, t: (await nestedOf(id)).id };
    for (const [name, other] of [
      ['a', 't'],
      ['t', 'a'],
    ] as const) {
      const before = [await physicalOf(id, name), await physicalOf(id, other)];
      await world.actOn(stacks[name], name, { kind: 'mark', unhealthy: true, reason: 'it smokes' });
      const marked = (await world.resources(id, 1)).find((resource) => resource.name === name);
      expect(marked).toMatchObject({ action: 'CHECK', status: 'FAILED', reason: 'it smokes' });
      await world.updated(id, chain());
      const after = (await world.resources(id, 1)).find((resource) => resource.name === name);
      expect(after).toMatchObject({ status: 'COMPLETE' });
      expect(after?.id).not.toBe(marked?.id);
      expect(after?.physical_id).not.toBe(before[0]);
      expect(await physicalOf(id, other)).toBe(before[1]);
    }
  });

  it('recreates a nested stack that a client deleted separately, after a check found it missing', async () => {
    const root = await world.createAndWait('s', tree('x'));
    const nested = await nestedOf(root.id);
    await world.remove(nested.id);
    await eventually(async () => ((await world.show(nested.id)).deleted_at === null ? undefined : true));
    await world.act(root.id, { kind: 'check' });
    expect(await world.settled(root.id)).toMatchObject({ action: 'CHECK', status: 'FAILED' });
    expect(world.outputs(await world.updated(root.id, tree('x')))).toEqual({ b: 'x' });
    const recreated = await nestedOf(root.id);
    expect(recreated.id).not.toBe(nested.id);
    await world.remove(recreated.id);
    await eventually(async () => ((await world.show(recreated.id)).deleted_at === null ? undefined : true));
    expect(world.outputs(await world.updated(root.id, tree('y')))).toEqual({ b: 'y' });
  });

  it('leaves and lists no resource after the rollback of a create', async () => {
    const { id } = await world.create('s', tree('x', ', fail: true'), { on_failure: 'rollback' });
    expect((await ended(id, 'ROLLBACK')).reason).toBe('Stack ROLLBACK completed successfully');
    expect(await world.resources(id)).toEqual([]);
    expect(world.outputs(await world.show(id))).toEqual({});
  });

  it('exports and abandons a stack, whose objects another stack can adopt', async () => {
    const root = await world.createAndWait('s', chain());
    const nested = await nestedOf(root.id);
    const objects = [await physicalOf(root.id, 'a'), await physicalOf(root.id, 't')];
    const exported = await world.ask(stackExport, { project: 'p1', stack: root.id });
    expect(exported).toMatchObject({ name: 's', resources: { b: { resource_id: nested.id, resources: { t: {} } } } });
    await world.act(root.id, { kind: 'abandon' });
    await world.complete(root.id);
    expect(await world.stacks(true)).toEqual([]);
    const id = world.context.newId();
    const { plan, template, environment, files, description } = root;
    await world.ask(stackCreate, {
      id,
      name: 'again',
      project: 'p1',
      owner: 'admin',
      timeout_minutes: null,
      on_failure: 'keep',
      tags: [],
      adopt: exported['resources'] as never,
      plan,
      template,
      environment,
      files,
      description,
    });
    const adopted = await world.complete(id);
    expect(adopted).toMatchObject({ action: 'ADOPT', status: 'COMPLETE' });
    expect(world.outputs(adopted)).toEqual({ said: 'one' });
    expect([await physicalOf(id, 'a'), await physicalOf(id, 't')]).toEqual(objects);
    expect(world.outputs(await world.updated(id, chain({ word: 'two' })))).toEqual({ said: 'two' });
  });
});

describe('a resource', () => {
  it('stays unchanged when a restriction or an external owner requires it', async () => {
    const fixed = (value: string) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  fixed: {type: OS::Heat::TestResource, properties: {value: ${value}}}
  theirs: {type: OS::Heat::RandomString, external_id: something-else}
outputs: {id: {value: {get_resource: theirs}}}
`,
      environment: { resource_registry: { resources: { fixed: { restricted_actions: ['update'] } } } },
    });
    const root = await world.createAndWait('s', fixed('x'));
    expect(world.outputs(root)).toEqual({ id: 'something-else' });
    await world.update(root.id, fixed('y'));
    const refused = await ended(root.id, 'UPDATE', 'FAILED');
    expect(refused.reason).toContain('update is restricted for resource.');
  });
});

describe('a delete', () => {
  const complete = async (): Promise<string> => (await world.createAndWait('s', chain())).id;
  const states: Record<string, () => Promise<string>> = {
    CREATE_IN_PROGRESS: async () => (await world.create('s', chain({ seconds: 10 }))).id,
    async CREATE_FAILED() {
      const { id } = await world.create('s', chain({ fail: true }));
      await ended(id, 'CREATE', 'FAILED');
      return id;
    },
    async UPDATE_IN_PROGRESS() {
      const id = await complete();
      await world.update(id, chain({ word: 'two', version: 'second', seconds: 10 }));
      return id;
    },
    async ROLLBACK_IN_PROGRESS() {
      const id = await complete();
      await world.update(id, chain({ word: 'two', seconds: 10 }));
      await world.act(id, { kind: 'cancel', rollback: true });
      return id;
    },
    async SUSPEND_COMPLETE() {
      const id = await complete();
      await world.act(id, { kind: 'suspend' });
      await ended(id, 'SUSPEND');
      return id;
    },
    async paused() {
      const { id } = await world.create('s', chain({ fail: true }), { on_failure: 'pause' });
      await paused(id);
      return id;
    },
    async DELETE_IN_PROGRESS() {
      const { id } = await world.create('s', chain({ seconds: 10 }));
      await world.remove(id);
      return id;
    },
  };
  it.each(Object.entries(states))('is accepted and ends in the state %s', async (state, reach) => {
    const id = await reach();
    const { action, status } = await world.show(id);
    if (state !== 'paused') expect(`${action}_${status}`).toBe(state);
    await world.remove(id);
    await ended(id, 'DELETE');
    expect(await world.stacks(true)).toEqual([]);
  });
});

describe('an adoption', () => {
  const template = (size: number) => `
heat_template_version: 2018-08-31
parameters: {password: {type: string, hidden: true}}
resources:
  random: {type: OS::Heat::RandomString}
  test: {type: OS::Heat::TestResource, properties: {value: changed, wait_secs: 30}}
  value: {type: OS::Heat::Value, properties: {type: number, value: '7'}}
  secret: {type: OS::Heat::Value, properties: {value: {get_param: password}}}
  delay: {type: OS::Heat::Delay, properties: {min_wait: 30}}
  handle: {type: OS::Heat::WaitConditionHandle}
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, desired_capacity: ${size}, resource: {type: OS::Heat::RandomString}}
outputs:
  random: {value: {get_attr: [random, value]}}
  test: {value: {get_attr: [test, output]}}
  value: {value: {get_attr: [value, value]}}
  secret: {value: {get_attr: [secret, value]}}
  endpoint: {value: {get_attr: [handle, endpoint]}}
  members: {value: {get_attr: [group, outputs_list, value]}}
`;
  const input = { template: template(2), parameters: { password: 'hush' } };
  const one = (id: string, value?: string) => ({ resource_id: id, ...(value && { resource_data: { value } }) });
  const data = {
    random: one('s-random-abc', 'drawn by heat'),
    test: one('s-test-abc', 'expected by heat'),
    value: one('s-value-abc'),
    secret: one('s-secret-abc'),
    delay: one('s-delay-abc'),
    handle: one('5b2e0e2e-6b0c-4b39-8f6e-8d0f6f3c6a11'),
    group: { resources: { old1: one('m1', 'first'), old2: one('m2', 'second') } },
  };

  it('of a stack that Heat abandoned has its former values at once, and keeps them in an update', async () => {
    const { id } = await world.create('s', input, { adopt: data });
    const adopted = await world.complete(id, 10_000);
    expect(adopted).toMatchObject({ action: 'ADOPT', status: 'COMPLETE' });
    const expected = { random: 'drawn by heat', test: 'expected by heat', value: 7, secret: 'hush' };
    expect(world.outputs(adopted)).toMatchObject({ ...expected, members: ['first', 'second'] });
    expect(world.outputs(adopted)['endpoint']).toContain(id);
    const ids = (await world.resources(id)).flatMap(({ name, physical_id }) => (name in expected ? [physical_id] : []));
    expect(new Set(ids)).toEqual(new Set(['s-random-abc', 's-secret-abc', 's-test-abc', 's-value-abc']));
    const updated = await world.updated(id, { ...input, template: template(3) });
    expect(world.outputs(updated)).toMatchObject(expected);
    expect(world.outputs(updated)['members']).toHaveLength(3);
    const exported = await world.ask(stackExport, { project: 'p1', stack: id });
    expect(exported['resources']).toMatchObject({ random: { resource_data: { value: 'drawn by heat' } } });
  });

  it('fails at once, with the reason, when a number of a member would make a long list', async () => {
    const group = '{type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: OS::Heat::None}}}';
    const numbered = { template: `heat_template_version: 2018-08-31\nresources: {group: ${group}}` };
    const many = { group: { resources: { 99999999: { resource_id: 'm1' } } } };
    const { id } = await world.create('s', numbered, { adopt: many });
    const { status, failures } = await world.settled(id);
    expect([status, failures[0]?.failure.message]).toEqual([
      'FAILED',
      expect.stringContaining('the highest number of a member is 10000'),
    ]);
  });

  it('is refused for an object that another stack has', async () => {
    const first = await world.create('s', input, { adopt: data });
    await world.complete(first.id);
    await expect(world.create('t', input, { adopt: data })).rejects.toThrow('stack s still owns its object');
  });
});

describe('a hook', () => {
  const eventsOf = async (types: string[]): Promise<Envelope[]> => {
    const seen: Envelope[] = [];
    await world.context.bus.subscribe(types, async ({ message }) => void seen.push(message));
    return seen;
  };

  it('in a nested stack holds its resource until an operator clears it', async () => {
    const seen = await eventsOf([hookEvent.waiting.type, hookEvent.cleared.type]);
    const environment = { resource_registry: { resources: { a: { t: { hooks: 'pre-create' } } } } };
    const { id } = await world.create('s', { ...tree('x'), environment });
    const nested = await eventually(async () => (await world.stacks(true)).find(({ parent }) => parent === id));
    await eventually(async () => ((await world.resources(nested.id))[0]?.hook ? true : undefined));
    expect(await world.events(nested.id)).toContain('t INIT COMPLETE');
    await world.actOn(nested.id, 't', { kind: 'clear hook', hook: 'pre-create' });
    expect(world.outputs(await world.complete(id))).toEqual({ b: 'x' });
    await eventually(() => (seen.length === 2 ? true : undefined));
  });

  /** `free` needs no other resource. */
  const hooked = (resources: JsonObject, word = 'one') => ({
    ...chain({ word }, '  free: {type: OS::Heat::Value, properties: {value: free}}\n'),
    environment: { resource_registry: { resources } },
  });
  const waitingAt = (id: string, name: string): Promise<NonNullable<ResourceView['hook']>> =>
    eventually(async () => (await world.resources(id)).find((resource) => resource.name === name)?.hook, {
      what: `${name} waiting`,
    });
  const clear = (id: string, name: string, hook: string) => world.actOn(id, name, { kind: 'clear hook', hook });

  it('before updates holds existing resources, unchanged ones too, but not those that the same action created', async () => {
    const hooks = { b: { hooks: ['pre-update'] }, free: { hooks: ['pre-update'] } };
    const { id } = await world.createAndWait('s', hooked(hooks));
    await world.update(id, hooked(hooks, 'two'));
    for (const name of ['b', 'free']) {
      await waitingAt(id, name);
      await clear(id, name, 'pre-update');
    }
    expect(await saidBy(id, 'UPDATE')).toBe('two');
  });

  it('ends with its action: a new update does not wait for it', async () => {
    const hooks = { a: { hooks: ['pre-create'] } };
    const { id } = await world.create('s', hooked(hooks));
    await waitingAt(id, 'a');
    await world.update(id, hooked(hooks, 'two'));
    expect(await saidBy(id, 'UPDATE')).toBe('two');
    const { events } = await world.ask(stackEvents, { project: 'p1', stack: id, resource: 'a', descending: false });
    expect(events.map(({ reason }) => reason)).toContain('Failure occurred while waiting.');
  });

  it('does not prevent the deletion of its stack', async () => {
    const { id } = await world.create('s', hooked({ b: { t: { hooks: ['pre-create'] } } }));
    const nested = await eventually(async () => (await world.stacks(true)).find(({ parent }) => parent === id));
    await waitingAt(nested.id, 't');
    await world.remove(id);
    await ended(id, 'DELETE');
  });

  it('before deletion holds a resource while its stack is deleted', async () => {
    const { id } = await world.createAndWait('s', hooked({ a: { hooks: ['pre-delete'] } }));
    await world.remove(id);
    await waitingAt(id, 'a');
    await clear(id, 'a', 'pre-delete');
    await ended(id, 'DELETE');
  });

  it('cannot be cleared when it does not exist', async () => {
    const { id } = await world.createAndWait('s', hooked({}));
    await expect(clear(id, 'a', 'pre-create')).rejects.toThrow('The "pre-create" hook is not defined on a');
    await expect(clear(id, 'a', 'pre-nothing')).rejects.toMatchObject({ code: 'InvalidRequest' });
  });

  const launching = { transition: 'launching', heartbeat_timeout: 100, default_result: 'abandon' };

  it('of a lifecycle is published with a token, extended by heartbeats, and completed with that token', async () => {
    const seen = await eventsOf([lifecycleEvent.waiting.type]);
    const { id } = await world.create('s', hooked({ 'fr*': { lifecycle_hooks: [launching] } }));
    const { token } = (await eventually(() => seen[0])).data as { token: string };
    const before = await waitingAt(id, 'free');
    const beat = (given: string) => world.actOn(id, 'free', { kind: 'heartbeat', hook: 'launching', token: given });
    await expect(beat('made up')).rejects.toMatchObject({ code: 'Conflict' });
    // The clock may stand still from the wait to the first heartbeat.
    await eventually(async () => {
      await beat(token);
      const after = await waitingAt(id, 'free');
      return Date.parse(String(after.deadline)) > Date.parse(String(before.deadline));
    });
    await world.actOn(id, 'free', { kind: 'complete hook', hook: 'launching', token, result: 'continue' });
    await ended(id, 'CREATE');
  });

  it.each([
    ['continue', 'COMPLETE'],
    ['abandon', 'FAILED'],
  ])('of a lifecycle has its default result when no listener answers: %s', async (result, status) => {
    const hook = { ...launching, heartbeat_timeout: 0.05, default_result: result };
    const { id } = await world.create('s', hooked({ a: { lifecycle_hooks: [hook] } }));
    await ended(id, 'CREATE', status);
  });
});

describe('a suspended stack', () => {
  it('refuses signals until it is resumed', async () => {
    const template = `
heat_template_version: 2018-08-31
resources: {h: {type: OS::Heat::WaitConditionHandle}}
`;
    const { id } = await world.createAndWait('s', { template });
    await world.act(id, { kind: 'suspend' });
    await world.complete(id);
    await expect(world.signal(id, 'h', {})).rejects.toThrow('Signal resource during SUSPEND is not supported.');
    const { events } = await world.ask(stackEvents, { project: 'p1', stack: id, descending: true });
    expect(events[0]).toMatchObject({
      resource_name: 'h',
      action: 'SUSPEND',
      status: 'COMPLETE',
      reason: 'Cannot signal resource during SUSPEND',
    });
    await world.act(id, { kind: 'resume' });
    await world.complete(id);
    await world.signal(id, 'h', {});
  });

  it('stays suspended after a snapshot, and can be resumed', async () => {
    const { id } = await world.createAndWait('s', tree('x'));
    await world.act(id, { kind: 'suspend' });
    await world.complete(id);
    await world.act(id, { kind: 'snapshot', id: 'asleep', name: 'asleep' });
    await world.complete(id);
    const { snapshots } = await world.ask(snapshotList, { stack: id, project: 'p1' });
    expect(snapshots).toMatchObject([{ id: 'asleep', status: 'COMPLETE' }]);
    const refused = 'Updating a stack when it is suspended is not supported.';
    await expect(world.act(id, { kind: 'restore', snapshot: 'asleep' })).rejects.toThrow(refused);
    await world.act(id, { kind: 'resume' });
    await world.complete(id);
  });
});
