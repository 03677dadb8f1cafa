/** The origin of the events of stacks: where the subject is, who acted and why. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Occasion, Origin } from '@anneal/contracts/origin.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

type Seen = Envelope<{ origin: Origin; stack_name: string; resource_name?: string }>;

let world: StackWorld;
let seen: Seen[];
beforeEach(async () => {
  world = await StackWorld.open();
  seen = [];
  await world.context.bus.subscribe(['stack.#', 'resource.#', 'group.#'], async ({ message }) => {
    seen.push(message as Seen);
  });
});
afterEach(() => world.close());

const by = (name: string, request: string): Occasion => ({
  actor: { kind: 'user', id: `id of ${name}`, name },
  cause: { kind: 'request', id: request, reason: null },
});
const alice = by('alice', 'req-1');
const bob = by('bob', 'req-2');

const inner = (value: string): string => `
heat_template_version: 2018-08-31
resources:
  v: {type: OS::Heat::Value, properties: {value: ${value}}}
`;
const template = (value: string, hook = '{}'): string => `
heat_template_version: 2018-08-31
resources:
  plain: {type: OS::Heat::RandomString, properties: {length: 8, salt: ${value}}}
  inside: {type: inner.yaml}
  group:
    type: OS::Heat::AutoScalingGroup
    update_policy: ${hook}
    properties: {min_size: 1, max_size: 5, desired_capacity: 1, resource: {type: inner.yaml}}
  more:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: group}
      adjustment_type: change_in_capacity
      scaling_adjustment: 1
`;
const inputs = (value: string) => ({ template: template(value), files: { 'inner.yaml': inner(value) } });

/** The event of a type at a path, once it has arrived. */
const eventAt = (type: string, path: string | RegExp): Promise<Seen> =>
  eventually(
    async () =>
      seen.findLast(({ type: own, data: { origin } }) => {
        return own === type && (typeof path === 'string' ? origin.path === path : path.test(origin.path));
      }),
    { what: `${type} at ${path}`, last: () => seen.map(({ type: own, data }) => `${own} ${data.origin.path}`) },
  );

describe('the origin of an event', () => {
  it('has the root, the path through nested stacks, the tags of the root, and the user who asked', async () => {
    const { id } = await world.create('web', inputs('a'), { tags: ['prod', 'eu'], occasion: alice });
    await world.complete(id);
    await eventAt('stack.create.completed', '');
    for (const { data, type } of seen) {
      const { root, tags, actor, cause } = data.origin;
      const about = `${type} ${data.origin.path}`;
      expect(root, about).toEqual({ stack_id: id, stack_name: 'web' });
      expect({ tags, actor, cause }, about).toEqual({ tags: ['prod', 'eu'], ...alice });
    }
    const paths = new Set(seen.map(({ data: { origin } }) => origin.path.replace(/[a-z0-9]{12}/, 'MEMBER')));
    expect([...paths].sort()).toEqual([
      '',
      'group',
      'group/MEMBER',
      'group/MEMBER/v',
      'inside',
      'inside/v',
      'more',
      'plain',
    ]);
  });

  it('of an update names the update in nested stacks, and a replacement; new tags are in all events', async () => {
    const { id } = await world.create('web', inputs('a'), { tags: ['prod'], occasion: alice });
    await world.complete(id);
    await world.update(id, inputs('b'), { tags: ['test'], occasion: bob });
    await world.complete(id);
    await eventAt('stack.update.completed', '');
    const nested = await eventAt('stack.update.started', 'inside');
    expect(nested.data.origin).toMatchObject({
      tags: ['test'],
      actor: bob.actor,
      cause: { kind: 'update', id: 'req-2', reason: 'update of stack web' },
    });
    const made = await eventAt('resource.create.completed', 'plain');
    expect(made.data.origin).toMatchObject({ tags: ['test'], actor: bob.actor, cause: { kind: 'replacement' } });
    expect(made.data.origin.cause.reason).toMatch(/^replaces /);
    const deleted = await eventAt('resource.delete.completed', 'plain');
    expect(deleted.data.origin.cause.reason).toMatch(/^replaced by /);
  });

  it('of a scaling names the policy and the request of the signal, also for the new member; tags stay current', async () => {
    const { id } = await world.create('web', inputs('a'), { tags: ['prod'], occasion: alice });
    await world.complete(id);
    // The group has no request of this update, because only the tags change.
    await world.update(id, inputs('a'), { tags: ['test'], occasion: alice });
    await world.complete(id);
    await world.signal(id, 'more', null, bob);
    const policy = (await world.resources(id)).find(({ name }) => name === 'more')?.id ?? '';
    const cause = { kind: 'signal', id: 'req-2', reason: 'signalled by user bob' };
    const root = { stack_id: id, stack_name: 'web' };
    const occasion = { root, tags: ['test'], actor: { kind: 'policy', id: policy, name: 'more' }, cause };
    expect((await eventAt('group.scaling.started', 'group')).data.origin).toEqual({ ...occasion, path: 'group' });
    const isNew = ({ data: { origin } }: Seen): boolean => origin.actor.kind === 'policy';
    const member = await eventually(async () =>
      seen.find(
        (event) => event.type === 'resource.create.completed' && isNew(event) && event.data.origin.path.endsWith('/v'),
      ),
    );
    expect(member.data.origin).toMatchObject(occasion);
  });

  it('of a rollback that begins by itself names the failure and the request that failed', async () => {
    const failing = `
heat_template_version: 2018-08-31
resources:
  bad: {type: OS::Heat::TestResource, properties: {value: v, fail: true}}
`;
    const { id } = await world.create('web', { template: failing }, { on_failure: 'rollback', occasion: alice });
    await world.settled(id);
    const rollback = await eventAt('stack.rollback.started', '');
    expect(rollback.data.origin).toMatchObject({ actor: { kind: 'system' }, cause: { kind: 'failure', id: 'req-1' } });
    expect(rollback.data.origin.cause.reason).not.toBe('');
    expect((await eventAt('resource.delete.completed', 'bad')).data.origin.cause).toMatchObject({ kind: 'failure' });
  });

  it('of a cleared hook names the operator who cleared it; the events before and after name who created', async () => {
    const hooked = `
heat_template_version: 2018-08-31
resources:
  a: {type: OS::Heat::TestResource, properties: {value: v}}
`;
    const environment = { resource_registry: { resources: { a: { hooks: 'pre-create' } } } };
    const { id } = await world.create('web', { template: hooked, environment }, { occasion: alice });
    expect((await eventAt('resource.hook.waiting', 'a')).data.origin).toMatchObject(alice);
    await world.signal(id, 'a', { unset_hook: 'pre-create' }, bob);
    expect((await eventAt('resource.hook.cleared', 'a')).data.origin).toMatchObject(bob);
    await world.complete(id);
    expect((await eventAt('resource.create.completed', 'a')).data.origin).toMatchObject(alice);
    expect((await eventAt('stack.create.completed', '')).data.origin).toMatchObject(alice);
  });
});
