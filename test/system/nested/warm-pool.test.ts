/** The warm pool of a group: complete members that wait out of service, and enter when the group grows. */
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { groupAct, groupShow, type GroupAct, type GroupView } from '@anneal/contracts/calls/scaling.ts';
import { stackExport } from '@anneal/contracts/calls/stack-history.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

useQuickClock({ stepMs: 20 });

interface Seen {
  readonly type: string;
  readonly data: Record<string, Json>;
}

let world: StackWorld;
let events: Seen[];
beforeEach(async () => {
  world = await StackWorld.open();
  events = [];
  const known = new Set<string>();
  await world.context.bus.subscribe(['group.#', 'resource.#'], async ({ message }) => {
    if (known.has(message.id)) return;
    known.add(message.id);
    events.push({ type: message.type, data: message.data as Seen['data'] });
  });
});
afterEach(() => world.close());

const template = ({ desired = 1, pool = 2, value = 'v', seconds = 0 } = {}) => ({
  template: `
heat_template_version: 2018-08-31
resources:
  g:
    type: Anneal::Scaling::Group
    properties:
      min_size: 0
      max_size: 5
      desired_capacity: ${desired}
      warm_pool: {size: ${pool}}
      resource: {type: OS::Heat::TestResource, properties: {value: ${value}, action_wait_secs: {create: ${seconds}}}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: g}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
outputs:
  size: {value: {get_attr: [g, current_size]}}
  members: {value: {get_attr: [g, refs_map]}}
  values: {value: {get_attr: [g, outputs, output]}}
`,
});

const act = (id: string, action: GroupAct) => world.ask(groupAct, { project: 'p1', stack: id, group: 'g', action });
const show = (id: string): Promise<GroupView> => world.ask(groupShow, { project: 'p1', stack: id, group: 'g' });
const namesOf = (members: readonly { name: string }[] = []): string[] => members.map(({ name }) => name).toSorted();
/** The group at rest with a full pool. */
const filled = (id: string): Promise<GroupView> => {
  let last: GroupView | undefined;
  return eventually(
    async () => {
      last = await show(id);
      const { status, warm_pool: pool } = last;
      return status.endsWith('_COMPLETE') && pool?.members.length === pool?.size ? last : undefined;
    },
    { what: 'a full pool', last: () => last },
  );
};
const created = (): number =>
  events.filter(
    ({ type, data }) => type === 'resource.create.completed' && data['resource_type'] === 'OS::Heat::TestResource',
  ).length;

const stages = (): (readonly [string, Json | undefined])[] =>
  events
    .filter(({ type }) => type.startsWith('group.'))
    .map(({ type, data }) => [type, data['member'] ?? data['reason']] as const);
const signal = async (id: string) => {
  const { scaling } = await world.ask(stackSignal, { project: 'p1', stack: id, resource: 'up', signal: null });
  return scaling;
};
/** The resources of the group, each of which is a member. */
const count = async (id: string): Promise<number> =>
  (await world.resources(id, 2)).filter(({ type }) => type === 'OS::Heat::TestResource').length;

it('takes a warm member when the group grows, and creates another one afterwards', async () => {
  const { id } = await world.createAndWait('s', template());
  const before = await filled(id);
  expect([before.size, before.warm_pool?.size]).toEqual([1, 2]);
  const [first = ''] = namesOf(before.members);
  expect(events.filter(({ type }) => type === 'group.member.entered').map(({ data }) => data['member'])).toEqual([
    first,
  ]);
  const { size, members, values } = world.outputs(await world.show(id));
  expect([size, Object.keys(members as object), values]).toEqual([1, [first], { [first]: 'v' }]);
  events.length = 0;
  expect(await signal(id)).toMatchObject({ result: 'applied', before: 1, after: 2 });
  const after = await filled(id);
  const entered = namesOf(after.members).find((name) => name !== first) ?? '';
  expect(namesOf(before.warm_pool?.members)).toContain(entered);
  expect(namesOf(after.warm_pool?.members)).toHaveLength(2);
  await eventually(() => created() === 1 || undefined, { what: 'one new member' });
  expect(stages()).toEqual([
    ['group.scaling.started', 'signal'],
    ['group.member.entering', entered],
    ['group.member.entered', entered],
    ['group.scaling.completed', 'signal'],
  ]);
  expect(await count(id)).toBe(4);
  expect(Object.keys(world.outputs(await world.settled(id))['members'] as object).toSorted()).toEqual(
    namesOf(after.members),
  );
});

it.each(['scheduling.recorded', 'scheduling.sent', 'scheduling.written', 'scheduling.closed', 'scheduling.replied'])(
  'neither loses nor duplicates a member when the process dies again and again at %s',
  async (point) => {
    const { id } = await world.createAndWait('s', template());
    await filled(id);
    events.length = 0;
    let passes = 0;
    const disarm = armFault(point, () => {
      passes += 1;
      if (passes < 30 && passes % 2 === 1) throw new Error(`fault ${point}`);
    });
    try {
      expect(await signal(id)).toMatchObject({ result: 'applied', before: 1, after: 2 });
      await filled(id);
    } finally {
      disarm();
    }
    const { members, warm_pool: pool } = await filled(id);
    expect([members.length, pool?.members.length, await count(id)]).toEqual([2, 2, 4]);
    expect(new Set([...namesOf(members), ...namesOf(pool?.members)]).size).toBe(4);
    expect(events.filter(({ type }) => type === 'group.member.entered')).toHaveLength(1);
  },
);

it('runs the hook `launching` when a member enters, and not when it is created for the pool', async () => {
  const hook = { transition: 'launching', heartbeat_timeout: 60, default_result: 'abandon' };
  const leaves = { transition: 'terminating', heartbeat_timeout: 60, default_result: 'continue' };
  const environment = { resource_registry: { resources: { g: { '*': { lifecycle_hooks: [hook, leaves] } } } } };
  const { id } = await world.createAndWait('s', { ...template({ desired: 0, pool: 1 }), environment });
  const { stack_id: group, warm_pool: pool } = await filled(id);
  const [warm = ''] = namesOf(pool?.members);
  expect(await signal(id)).toMatchObject({ result: 'applied' });
  const waiting = await eventually(() => events.find(({ type }) => type === 'resource.lifecycle.waiting'));
  expect(waiting.data).toMatchObject({ resource_name: warm, hook: 'launching' });
  expect(stages()).not.toContainEqual(['group.member.entered', warm]);
  const action = {
    kind: 'complete hook',
    hook: 'launching',
    token: waiting.data['token'] as string,
    result: 'continue',
  } as const;
  await world.actOn(group, warm, action);
  await filled(id);
  await eventually(
    () => stages().some(([type, name]) => type === 'group.member.entered' && name === warm) || undefined,
  );
  expect(events.filter(({ type }) => type === 'resource.lifecycle.waiting')).toHaveLength(1);
  // The members of the pool leave without a hook, because they never served.
  await world.updated(id, { ...template({ desired: 1, pool: 0 }), environment });
  expect(await count(id)).toBe(1);
  expect(events.filter(({ type }) => type === 'resource.lifecycle.waiting')).toHaveLength(1);
});

it('replaces a member by a warm one, and a member of the pool by a new one', async () => {
  const { id } = await world.createAndWait('s', template({ pool: 1 }));
  const before = await filled(id);
  const [[old = ''], [warm = '']] = [namesOf(before.members), namesOf(before.warm_pool?.members)];
  await act(id, { kind: 'remove', members: [old], replace: true });
  const after = await filled(id);
  expect(namesOf(after.members)).toEqual([warm]);
  const [next = ''] = namesOf(after.warm_pool?.members);
  events.length = 0;
  await act(id, { kind: 'remove', members: [next], replace: false });
  const last = await filled(id);
  expect(namesOf(last.members)).toEqual([warm]);
  expect(namesOf(last.warm_pool?.members)).not.toContain(next);
  expect(stages().filter(([type]) => type.startsWith('group.member'))).toEqual([]);
  expect(await count(id)).toBe(2);
});

it('refreshes the pool first, and takes no member from it for the others', async () => {
  const { id } = await world.createAndWait('s', template({ desired: 2, pool: 1 }));
  const before = await filled(id);
  await act(id, { kind: 'refresh', batch: 1, checkpoints: [] });
  const after = await eventually(async () => {
    const shown = await filled(id);
    return shown.refresh?.state === 'completed' ? shown : undefined;
  });
  expect(after.refresh).toMatchObject({ total: 3, done: 3 });
  const old = [...namesOf(before.members), ...namesOf(before.warm_pool?.members)];
  expect(namesOf(after.members).filter((name) => old.includes(name))).toEqual([]);
  expect([after.size, await count(id)]).toEqual([2, 3]);
  const first = events.find(({ type }) => type === 'group.scaling.started');
  expect(first?.data).toMatchObject({ reason: 'refresh', leaving: [], entering: [], before: 2, after: 2 });
});

it('follows its template: the size of the pool, the definition of its members, the size of the group', async () => {
  const { id } = await world.createAndWait('s', template({ desired: 1, pool: 2 }));
  const before = await filled(id);
  await world.updated(id, template({ desired: 1, pool: 2, value: 'w' }));
  const changed = await filled(id);
  expect(namesOf(changed.warm_pool?.members)).toEqual(namesOf(before.warm_pool?.members));
  const members = (await world.resources(id, 2)).filter(({ type }) => type === 'OS::Heat::TestResource');
  expect(members.map(({ attributes }) => attributes?.['output'])).toEqual(['w', 'w', 'w']);
  events.length = 0;
  await world.updated(id, template({ desired: 4, pool: 1, value: 'w' }));
  const grown = await filled(id);
  expect(namesOf(grown.members)).toEqual(expect.arrayContaining(namesOf(before.warm_pool?.members)));
  expect([grown.size, await count(id)]).toEqual([4, 5]);
  // Its events may come after the group is filled.
  await eventually(async () => created() === 2 || undefined);
  await world.updated(id, template({ desired: 4, pool: 0, value: 'w' }));
  expect([(await show(id)).warm_pool, await count(id)]).toEqual([undefined, 4]);
  expect(stages().filter(([type]) => /lea?[fv]/.test(type))).toEqual([]);
  await world.remove(id);
  await eventually(async () => (await world.stacks(true)).length === 0 || undefined);
});

it('lets a scaling overtake the creation of warm members', async () => {
  const { id } = await world.createAndWait('s', template({ desired: 0, pool: 2, seconds: 6 }));
  await filled(id);
  expect(await signal(id)).toMatchObject({ result: 'applied', after: 1 });
  await eventually(async () => {
    const { status, warm_pool: pool } = await show(id);
    return status === 'UPDATE_IN_PROGRESS' && pool?.members.length === 2 ? true : undefined;
  });
  expect(await signal(id)).toMatchObject({ result: 'applied', before: 1, after: 2 });
  const { size } = await filled(id);
  expect([size, await count(id)]).toEqual([2, 4]);
});

it('keeps every member of an abandoned group that another stack adopts', async () => {
  const { id } = await world.createAndWait('s', template({ desired: 5, pool: 2 }));
  const before = await filled(id);
  const exported = await world.ask(stackExport, { project: 'p1', stack: id });
  await world.act(id, { kind: 'abandon' });
  await world.complete(id);
  const again = await world.create('again', template({ desired: 5, pool: 2 }), {
    adopt: exported['resources'] as never,
  });
  expect(await world.complete(again.id)).toMatchObject({ action: 'ADOPT', status: 'COMPLETE' });
  const after = await show(again.id);
  expect([after.size, after.warm_pool?.members.length, await count(again.id)]).toEqual([5, 2, 7]);
  const all = ({ members, warm_pool: pool }: GroupView): string[] =>
    [...namesOf(members), ...namesOf(pool?.members)].toSorted();
  expect(all(after)).toEqual(all(before));
});

it('says why it is not filled, while a quota refuses the new member', async () => {
  await world.close();
  // The parent stack has two resources; the group may have one in service and one in the pool.
  world = await StackWorld.open({ ANNEAL_SCHEDULING_PROJECT_RESOURCES: '4' });
  const { id } = await world.createAndWait('s', template({ pool: 1 }));
  await filled(id);
  expect(await signal(id)).toMatchObject({ result: 'applied', after: 2 });
  const { warm_pool: pool } = await eventually(
    async () => {
      const shown = await show(id);
      return shown.warm_pool?.unfilled ? shown : undefined;
    },
    { what: 'the reason of the group' },
  );
  expect(pool).toMatchObject({ members: [], unfilled: { reason: expect.stringContaining('PROJECT_RESOURCES') } });
  const why = await world.ask(stackWhy, { project: 'p1', stack: id, resource: 'g' });
  expect(why.summary).toContain('Group g is in service, and cannot fill its warm pool');
  expect(why.chain.at(-1)).toMatchObject({ object: 'warm pool of g', state: 'waiting' });
});
