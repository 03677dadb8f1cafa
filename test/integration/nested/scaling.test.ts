/** Groups that scale: their events, and the answers to signals. */
import { groupAct, groupShow, type GroupAct, type GroupView } from '@anneal/contracts/calls/scaling.ts';
import { stackSignal } from '@anneal/contracts/calls/scheduling.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

interface GroupEvent {
  readonly type: string;
  readonly data: Record<string, Json>;
}

let world: StackWorld;
let events: GroupEvent[];
beforeEach(async () => {
  world = await StackWorld.open();
  events = [];
  const seen = new Set<string>();
  await world.context.bus.subscribe(['group.#'], async ({ message }) => {
    if (seen.has(message.id)) return;
    seen.add(message.id);
    events.push({ type: message.type, data: message.data as GroupEvent['data'] });
  });
});
afterEach(() => world.close());

const template = ({ group = '', policies = '', type = 'OS::Heat::AutoScalingGroup' } = {}) => ({
  template: `
heat_template_version: 2018-08-31
resources:
  g:
    type: ${type}
    properties:
      min_size: 1
      max_size: 5
      ${group}
      resource: {type: OS::Heat::TestResource, properties: {value: v}}
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: g}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
  down:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: g}, adjustment_type: change_in_capacity, scaling_adjustment: -1}
${policies}
outputs:
  size: {value: {get_attr: [g, current_size]}}
`,
});

const signal = async (id: string, resource: string, body: Json = null) => {
  const { scaling } = await world.ask(stackSignal, { project: 'p1', stack: id, resource, signal: body });
  return scaling;
};
const act = (id: string, action: GroupAct) => world.ask(groupAct, { project: 'p1', stack: id, group: 'g', action });
const show = (id: string): Promise<GroupView> => world.ask(groupShow, { project: 'p1', stack: id, group: 'g' });
const atRest = (id: string): Promise<GroupView> => {
  let last: GroupView | undefined;
  return eventually(
    async () => {
      last = await show(id);
      return last.status.endsWith('_COMPLETE') ? last : undefined;
    },
    { what: 'a group at rest', last: () => last },
  );
};
const seen = (type: string, count = 1): Promise<GroupEvent[]> =>
  eventually(
    () => {
      const found = events.filter((event) => event.type === type);
      return found.length >= count ? found : undefined;
    },
    { what: `${count} ${type}`, last: () => events.map((event) => event.type) },
  );

describe('a signal to a policy', () => {
  it('is answered with the sizes, and reported in order with the members', async () => {
    const { id } = await world.createAndWait('s', template({ group: 'desired_capacity: 2' }));
    await seen('group.member.entered', 2);
    events.length = 0;
    expect(await signal(id, 'up')).toMatchObject({ result: 'applied', group: 'g', policy: 'up', before: 2, after: 3 });
    const group = await atRest(id);
    await seen('group.scaling.completed');
    expect(events.map(({ type }) => type)).toEqual([
      'group.scaling.started',
      'group.member.entering',
      'group.member.entered',
      'group.scaling.completed',
    ]);
    const [started, entering] = events;
    expect(started?.data).toMatchObject({
      group: 'g',
      reason: 'signal',
      policy: 'up',
      before: 2,
      after: 3,
      leaving: [],
    });
    expect(started?.data['entering']).toEqual([entering?.data['member']]);
    expect(entering?.data).toMatchObject({ stack_id: group.stack_id, parent_stack_id: id, before: 2, after: 3 });
    events.length = 0;
    expect(await signal(id, 'down')).toMatchObject({ result: 'applied', before: 3, after: 2 });
    await seen('group.scaling.completed');
    expect(events.map(({ type }) => type)).toEqual([
      'group.scaling.started',
      'group.member.leaving',
      'group.member.left',
      'group.scaling.completed',
    ]);
    expect((await show(id)).outcomes.map(({ policy, before, after }) => [policy, before, after])).toEqual([
      ['down', 3, 2],
      ['up', 2, 3],
    ]);
  });

  it('is answered and reported when it is refused: at the limit, cooling down, paused', async () => {
    const { id } = await world.createAndWait('s', template({ group: 'desired_capacity: 1' }));
    expect(await signal(id, 'down')).toMatchObject({ result: 'refused', refusal: 'limit', retry_after: null });
    await act(id, { kind: 'pause', scaling: 'out' });
    expect(await signal(id, 'up')).toMatchObject({ result: 'refused', refusal: 'paused', before: 1, after: 2 });
    await act(id, { kind: 'pause', scaling: 'none' });
    expect(await signal(id, 'up')).toMatchObject({ result: 'applied' });
    await atRest(id);
    await world.updated(id, template({ group: 'desired_capacity: 3, cooldown: 600'.replace(', ', '\n      ') }));
    const refused = await signal(id, 'up');
    expect(refused).toMatchObject({ result: 'refused', refusal: 'cooldown', before: 3 });
    expect(refused?.retry_after).toBeGreaterThan(590);
    const reported = await seen('group.scaling.refused', 3);
    expect(reported.map(({ data }) => data['refusal'])).toEqual(['limit', 'paused', 'cooldown']);
    expect(reported[2]?.data).toMatchObject({ retry_after: refused?.retry_after ?? 0, policy: 'up', reason: 'signal' });
  });

  it('names its alarm, and keeps its reason', async () => {
    const { id } = await world.createAndWait('s', template());
    const body = {
      alarm_id: 'a',
      alarm_name: 'busy',
      current: 'alarm',
      reason: 'cpu is 97',
      reason_data: { most_recent: 97 },
    };
    expect(await signal(id, 'up', body)).toMatchObject({ result: 'applied', reason: 'alarm' });
    const [started] = await seen('group.scaling.started');
    expect(started?.data).toMatchObject({ reason: 'alarm', message: 'cpu is 97', policy: 'up' });
  });

  it('to a group that does not exist is refused with the reason', async () => {
    const { id } = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
resources:
  up:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: gone, adjustment_type: change_in_capacity, scaling_adjustment: 1}
`,
    });
    expect(await signal(id, 'up')).toMatchObject({ result: 'refused', refusal: 'missing' });
  });

  it.each(['scheduling.recorded', 'scheduling.sent', 'scheduling.written', 'scheduling.closed', 'scheduling.replied'])(
    'is carried out once, and answered, when the process dies at %s',
    async (point) => {
      const { id } = await world.createAndWait('s', template({ group: 'desired_capacity: 1' }));
      events.length = 0;
      let left = 1;
      const disarm = armFault(point, () => {
        if ((left -= 1) >= 0) throw new Error(`fault ${point}`);
      });
      try {
        expect(await signal(id, 'up')).toMatchObject({ result: 'applied', before: 1, after: 2 });
      } finally {
        disarm();
      }
      await seen('group.scaling.completed');
      expect((await atRest(id)).size).toBe(2);
      expect(events.filter(({ type }) => type === 'group.scaling.started')).toHaveLength(1);
      expect(events.filter(({ type }) => type === 'group.member.entered')).toHaveLength(1);
    },
  );
});

describe('an update of the stack', () => {
  it('keeps the size that a policy gave, and reports the size that the template asks for', async () => {
    const { id } = await world.createAndWait('s', template({ group: 'desired_capacity: 1' }));
    await signal(id, 'up');
    await atRest(id);
    events.length = 0;
    await world.updated(id, template({ group: 'desired_capacity: 1\n      cooldown: 0' }));
    expect((await show(id)).size).toBe(2);
    await world.updated(id, template({ group: 'desired_capacity: 3\n      cooldown: 0' }));
    const [started] = await seen('group.scaling.started');
    expect(started?.data).toMatchObject({ reason: 'update', policy: null, before: 2, after: 3 });
    await seen('group.scaling.completed');
  });

  it('fails the scaling whose group is deleted meanwhile', async () => {
    const { id } = await world.createAndWait('s', template());
    const disarm = armFault('scheduling.published', () => Promise.resolve());
    try {
      await world.ask(stackSignal, { project: 'p1', stack: id, resource: 'up', signal: null });
    } finally {
      disarm();
    }
    await world.remove(id);
    await eventually(() => {
      const ends = events.filter(({ type }) => type === 'group.scaling.failed' || type === 'group.scaling.completed');
      return ends.length === 1 ? true : undefined;
    });
    await seen('group.member.left', 1);
  });
});
