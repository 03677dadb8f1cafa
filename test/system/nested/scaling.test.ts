/** Groups that scale: their events, and the answers to signals. */
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import {
  groupAct,
  groupAdjust,
  groupList,
  groupShow,
  type GroupAct,
  type GroupView,
} from '@anneal/contracts/calls/scaling.ts';
import { stackSignal } from '@anneal/contracts/calls/resources.ts';
import { hostEvent, lifecycleEvent, nodeEvent } from '@anneal/contracts/events.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

useQuickClock({ stepMs: 20 });

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
  it('gets the same answer when it is repeated, and scales once', async () => {
    const { id } = await world.createAndWait('s', template({ group: 'desired_capacity: 1' }));
    const { bus, mint } = world.context;
    const data = { project: 'p1', stack: id, resource: 'up', signal: null };
    const message = mint(stackSignal, { id: 'one signal', data, project: 'p1' });
    const send = () => bus.request({ queue: requestsQueue('scheduling'), call: stackSignal, message });
    const first = await send();
    await atRest(id);
    expect(await send()).toEqual(first);
    expect(first.scaling).toMatchObject({ result: 'applied', before: 1, after: 2 });
    expect((await atRest(id)).size).toBe(2);
    expect(events.filter(({ type }) => type === 'group.scaling.started')).toHaveLength(1);
  });

  it.each([250_000, 1e9])('is refused at once with the limit when the group would have %d members', async (size) => {
    const policies = `  huge:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: g}, adjustment_type: exact_capacity, scaling_adjustment: ${size}}`;
    const given = template({ policies });
    const { id } = await world.createAndWait('s', {
      template: given.template.replace('max_size: 5', 'max_size: 1000000000'),
    });
    const before = process.cpuUsage();
    expect(await signal(id, 'huge')).toMatchObject({
      result: 'refused',
      refusal: 'quota',
      message: expect.stringContaining('the limit of a stack is') as string,
    });
    expect(process.cpuUsage(before).user / 1000).toBeLessThan(2_000);
    expect(await signal(id, 'up')).toMatchObject({ result: 'applied', before: 1, after: 2 });
  });

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
  it('that changes the members keeps the size that policies set', async () => {
    const group = (value: string) => ({
      template: template({ group: 'desired_capacity: 2' })
        .template.replace('max_size: 5', 'max_size: 3')
        .replace('value: v', `value: ${value}`)
        .concat('  members: {value: {get_attr: [g, outputs, output]}}\n'),
    });
    const { id } = await world.createAndWait('s', group('x'));
    await signal(id, 'up');
    expect((await atRest(id)).size).toBe(3);
    const { size, members } = world.outputs(await world.updated(id, group('y')));
    expect(size).toBe(3);
    expect(Object.values(members as object)).toEqual(['y', 'y', 'y']);
    expect(await signal(id, 'up')).toMatchObject({ result: 'refused', refusal: 'limit' });
    expect(await signal(id, 'down')).toMatchObject({ result: 'applied', before: 3, after: 2 });
    await eventually(async () => world.outputs(await world.show(id))['size'] === 2);
  });

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

const own = (group: string, policies = '') => template({ group, policies, type: 'Anneal::Scaling::Group' });
const names = async (id: string): Promise<string[]> => (await show(id)).members.map(({ name }) => name);

describe('a member with a lifecycle hook', () => {
  const hooked = (more: JsonObject) => ({
    ...template({ group: 'desired_capacity: 2' }),
    environment: {
      resource_registry: { resources: { g: { '*': { lifecycle_hooks: [{ transition: 'terminating', ...more }] } } } },
    },
  });
  const sized = (id: string, size: number) =>
    eventually(async () => world.outputs(await world.show(id))['size'] === size, { what: `the size ${size}` });

  it('is removed only after a listener has drained it', async () => {
    const waits: Record<string, string>[] = [];
    await world.context.bus.subscribe([lifecycleEvent.waiting.type], async ({ message }) => {
      waits.push(message.data as Record<string, string>);
    });
    const { id } = await world.createAndWait('s', hooked({ heartbeat_timeout: 60, default_result: 'abandon' }));
    await signal(id, 'down');
    const { stack_id: stack = '', resource_name: name = '', token = '', hook = '' } = await eventually(() => waits[0]);
    // The member exists while the listener drains it and sends heartbeats.
    const waiting = (await world.resources(stack)).find((resource) => resource.name === name);
    expect(waiting?.hook).toMatchObject({ name: 'terminating', kind: 'lifecycle' });
    await world.actOn(stack, name, { kind: 'heartbeat', hook, token });
    await world.actOn(stack, name, { kind: 'complete hook', hook, token, result: 'continue' });
    await sized(id, 1);
    expect((await world.resources(stack)).map((resource) => resource.name)).not.toContain(name);
  });

  it('is removed without an answer of a listener when the timeout passes', async () => {
    const { id } = await world.createAndWait('s', hooked({ heartbeat_timeout: 0.2, default_result: 'continue' }));
    await signal(id, 'down');
    await sized(id, 1);
  });
});

describe('a step policy', () => {
  it('chooses the step of the value, counts no warming member twice, and keeps separate cooldowns', async () => {
    const policy = `
  steps:
    type: Anneal::Scaling::StepPolicy
    properties:
      group: {get_resource: g}
      threshold: 60
      cooldown_in: 600
      steps: [{upper: -20, adjustment: -1}, {lower: -20, upper: 0, adjustment: 0}, {lower: 0, upper: 20, adjustment: 1}, {lower: 20, adjustment: 3}]
  warm:
    type: Anneal::Scaling::StepPolicy
    properties: {group: {get_resource: g}, threshold: 60, warm_up: 600, steps: [{adjustment: 3}]}
  slow:
    type: Anneal::Scaling::StepPolicy
    properties: {group: {get_resource: g}, cooldown_out: 600, steps: [{adjustment: 1}]}
`;
    const { id } = await world.createAndWait('s', own('desired_capacity: 2', policy));
    expect(await signal(id, 'steps')).toMatchObject({ refusal: 'invalid' });
    expect(await signal(id, 'steps', { value: 50 })).toMatchObject({ refusal: 'unchanged' });
    expect(await signal(id, 'steps', { value: 60 })).toMatchObject({ result: 'applied', before: 2, after: 3 });
    await atRest(id);
    expect(await signal(id, 'steps', { value: 10 })).toMatchObject({ result: 'applied', before: 3, after: 2 });
    await atRest(id);
    expect(await signal(id, 'steps', { value: 10 })).toMatchObject({ refusal: 'cooldown' });
    // The cooldown of shrinking does not hold back growth. All members are warming: three more than none are three.
    expect(await signal(id, 'warm', { value: 99 })).toMatchObject({ result: 'applied', before: 2, after: 3 });
    await atRest(id);
    await world.updated(id, own('desired_capacity: 2', policy));
    expect((await show(id)).size).toBe(3);
    expect(await signal(id, 'slow', { value: 1 })).toMatchObject({ result: 'applied', before: 3, after: 4 });
    await atRest(id);
    expect(await signal(id, 'slow', { value: 1 })).toMatchObject({ refusal: 'cooldown' });
  });

  it('is refused when its steps leave a gap', async () => {
    const policy = `
  steps:
    type: Anneal::Scaling::StepPolicy
    properties: {group: {get_resource: g}, steps: [{upper: 0, adjustment: -1}, {lower: 5, adjustment: 1}]}
`;
    await expect(world.create('s', own('desired_capacity: 1', policy))).rejects.toThrow(/Step 2 must begin at 0/);
  });
});

describe('a target policy', () => {
  it('follows the value within its tolerance, and a later update keeps the size', async () => {
    const policy = `
  target: {type: Anneal::Scaling::TargetPolicy, properties: {group: {get_resource: g}, target: 50}}
`;
    const { id } = await world.createAndWait('s', own('desired_capacity: 2', policy));
    expect(await signal(id, 'target', { value: 54 })).toMatchObject({ refusal: 'unchanged' });
    expect(await signal(id, 'target', { alarm_id: 'a', reason_data: { most_recent: 80 } })).toMatchObject({
      result: 'applied',
      reason: 'alarm',
      before: 2,
      after: 4,
    });
    await atRest(id);
    expect(await signal(id, 'target', { value: 25 })).toMatchObject({ result: 'applied', before: 4, after: 2 });
    await atRest(id);
    await signal(id, 'target', { value: 1000 });
    await atRest(id);
    await world.updated(id, own('desired_capacity: 2\n      cooldown: 0', policy));
    expect((await show(id)).size).toBe(5);
  });
});

describe('a schedule', () => {
  it('sets the size whatever cools down, also twice, and a later update keeps it', async () => {
    const policy = `
  night: {type: Anneal::Scaling::Schedule, properties: {group: {get_resource: g}, cron: '0 22 * * *', size: 4}}
`;
    const { id } = await world.createAndWait('s', own('desired_capacity: 2\n      cooldown: 600', policy));
    const { stack_id } = await show(id);
    const { bus, mint } = world.context;
    const data = { stack_id, policy: 'night', adjustment_type: 'exact_capacity', adjustment: 4 } as const;
    const asks = { ...data, min_step: null, cooldown: null, reason: 'schedule' } as const;
    const message = mint(groupAdjust, { id: 'night 1', data: asks, project: 'p1' });
    await bus.send({ queue: requestsQueue('scheduling'), messages: [message, message] });
    const [started] = await seen('group.scaling.started');
    expect(started?.data).toMatchObject({ reason: 'schedule', policy: 'night', before: 2, after: 4 });
    await seen('group.scaling.completed');
    await world.updated(id, own('desired_capacity: 2\n      cooldown: 0', policy));
    expect((await show(id)).size).toBe(4);
    await world.remove(id);
    expect(await world.settled(id)).toMatchObject({ status: 'COMPLETE' });
  });

  it('that comes while the group cannot take it sets the size afterwards; the latest one counts', async () => {
    const hook = 'desired_capacity: 3\n      deciding: {heartbeat_timeout: 600, default_result: continue}';
    const { id } = await world.createAndWait('s', own(hook));
    const { stack_id } = await show(id);
    await signal(id, 'up');
    const { bus, mint } = world.context;
    const occasion = {
      actor: { kind: 'schedule', id: 'n', name: 'night' },
      cause: { kind: 'schedule', id: null, reason: '0 22 * * * UTC' },
    } as const;
    const send = async (name: string, size: number): Promise<void> => {
      const asks = { stack_id, policy: 'night', adjustment_type: 'exact_capacity', adjustment: size } as const;
      const data = { ...asks, min_step: null, cooldown: null, reason: 'schedule', occasion } as const;
      await bus.send({
        queue: requestsQueue('scheduling'),
        messages: [mint(groupAdjust, { id: name, data, project: 'p1' })],
      });
    };
    await send('night 1', 5);
    await send('night 2', 2);
    const decide = async (reason: string): Promise<void> => {
      const deciding = await eventually(
        () => events.find(({ type, data }) => type === 'group.scaling.deciding' && data['reason'] === reason),
        { what: `a decision about a ${reason}`, last: () => events },
      );
      await act(id, { kind: 'decide', token: deciding.data['token'] as string, result: 'continue' });
      await atRest(id);
    };
    await decide('signal');
    await decide('schedule');
    expect((await show(id)).size).toBe(2);
    const started = events.filter(({ type }) => type === 'group.scaling.started').map(({ data }) => data);
    expect(started.map(({ reason, after }) => [reason, after])).toEqual([
      ['signal', 4],
      ['schedule', 2],
    ]);
    const asked = events.filter(({ type }) => type === 'group.scaling.deciding');
    expect(asked[1]?.data['origin']).toMatchObject(occasion);
  });
});

describe('the members that leave', () => {
  it('are the newest when the group says so, and never protected ones', async () => {
    const { id } = await world.createAndWait('s', own('desired_capacity: 1\n      victims: newest'));
    const [first = ''] = await names(id);
    await signal(id, 'up');
    await atRest(id);
    await signal(id, 'down');
    await atRest(id);
    expect(await names(id)).toEqual([first]);
    await signal(id, 'up');
    const [, second = ''] = (await atRest(id)).members.map(({ name }) => name);
    await act(id, { kind: 'protect', members: [second], protected: true });
    await signal(id, 'down');
    await atRest(id);
    expect(await names(id)).toEqual([second]);
    await signal(id, 'up');
    const all = (await atRest(id)).members.map(({ name }) => name);
    await act(id, { kind: 'protect', members: all, protected: true });
    expect(await signal(id, 'down')).toMatchObject({ result: 'refused', refusal: 'protected' });
  });
});

describe('the hook `deciding`', () => {
  const hook = (result: string, seconds = 600) =>
    `desired_capacity: 3\n      deciding: {heartbeat_timeout: ${seconds}, default_result: ${result}, metadata: {team: a}}`;

  it('lets a listener choose the members that leave, extend the wait, or refuse', async () => {
    const { id } = await world.createAndWait('s', own(hook('continue')));
    const before = await names(id);
    expect(await signal(id, 'down')).toMatchObject({ result: 'deciding', before: 3, after: 2 });
    const [deciding] = await seen('group.scaling.deciding');
    const { candidates, leaving, metadata } = deciding?.data ?? {};
    const { token = '', deadline = '' } = (await show(id)).deciding ?? {};
    expect(deciding?.data).toMatchObject({ token, deadline });
    expect(metadata).toEqual({ team: 'a' });
    expect((candidates as string[]).toSorted()).toEqual(before.toSorted());
    expect(leaving).toHaveLength(1);
    expect(await signal(id, 'up')).toMatchObject({ result: 'refused', refusal: 'deciding' });
    const extended = await act(id, { kind: 'heartbeat', token });
    expect(Date.parse(extended.deadline ?? '')).toBeGreaterThanOrEqual(Date.parse(deadline));
    const chosen = before.find((name) => name !== (leaving as string[])[0]) ?? '';
    await expect(act(id, { kind: 'decide', token: 'other', result: 'continue' })).rejects.toMatchObject({
      code: 'Conflict',
    });
    await act(id, { kind: 'decide', token, result: 'continue', victims: [chosen] });
    await atRest(id);
    expect(await names(id)).toEqual(before.filter((name) => name !== chosen));
    await signal(id, 'up');
    const { deciding: waiting } = await show(id);
    await act(id, { kind: 'decide', token: waiting?.token ?? '', result: 'abandon', message: 'not today' });
    const [refused] = (await seen('group.scaling.refused', 2)).slice(-1);
    expect(refused?.data).toMatchObject({ refusal: 'vetoed', message: 'not today', policy: 'up' });
    expect((await show(id)).size).toBe(2);
  });

  it.each(['continue', 'abandon'])('ends with the default result %s', async (result) => {
    const { id } = await world.createAndWait('s', own(hook(result, 1)));
    await signal(id, 'up');
    await seen(result === 'continue' ? 'group.scaling.completed' : 'group.scaling.refused');
    expect((await show(id)).size).toBe(result === 'continue' ? 4 : 3);
  });
});

const silenceOf = (host: string) => {
  const data = { host_id: host, name: 'h', status: 'silent', facts: {}, version: 1, origin: unknownOrigin() };
  return world.context.mint(hostEvent.silent, { data, subject: host, project: 'p1' });
};

describe('a member whose host is silent', () => {
  const hostIs = async (type: 'silent' | 'up', host: string, place = {}): Promise<void> => {
    const { bus, mint } = world.context;
    const origin = { ...unknownOrigin(), ...place };
    const data = { host_id: host, name: 'h', status: type, facts: {}, version: 1, origin };
    const message = mint(hostEvent[type], { data, subject: host, project: 'p1' });
    await bus.publish([message, message]);
  };

  it('is replaced in the warm pool, too, and no such member enters service', async () => {
    const group =
      'desired_capacity: 1\n      warm_pool: {size: 1}\n      replace_lost: {after: 600, min_in_service: 1}';
    const { id } = await world.createAndWait('s', own(group));
    const lost = (await show(id)).warm_pool?.members[0];
    await hostIs('silent', lost?.resource_id ?? '');
    await eventually(async () => (await show(id)).warm_pool?.members[0]?.lost_since ?? undefined);
    await signal(id, 'up');
    expect((await atRest(id)).members.map(({ name }) => name)).not.toContain(lost?.name);
    await world.updated(id, own(`${group.replace('600', '0')}\n      cooldown: 0`));
    const last = await eventually(async () => {
      const { warm_pool: pool, size, status } = await show(id);
      const isNew = pool?.members.length === 1 && pool.members[0]?.name !== lost?.name;
      return isNew && status.endsWith('_COMPLETE') ? { size } : undefined;
    });
    expect(last.size).toBe(2);
  });

  it('is replaced once, after the time in the group, and an update keeps its successor', async () => {
    const group = 'desired_capacity: 2\n      replace_lost: {after: 0, min_in_service: 1}';
    const { id } = await world.createAndWait('s', own(group));
    const [lost, kept] = (await show(id)).members;
    events.length = 0;
    await hostIs('silent', lost?.resource_id ?? '');
    const [started] = await seen('group.scaling.started');
    expect(started?.data).toMatchObject({ reason: 'replacement', before: 2, after: 2, leaving: [lost?.name] });
    await seen('group.scaling.completed');
    await hostIs('silent', lost?.resource_id ?? '');
    await world.updated(id, own(`${group}\n      cooldown: 0`));
    const after = await names(id);
    expect(after).toHaveLength(2);
    expect(after).toContain(kept?.name);
    expect(after).not.toContain(lost?.name);
    expect(events.filter(({ type }) => type === 'group.scaling.started')).toHaveLength(1);
  });

  it('is replaced in a group of Heat when the environment says so, also if it was lost before', async () => {
    const heat = template({ group: 'desired_capacity: 2' });
    const { id } = await world.createAndWait('s', heat);
    const [lost, kept] = (await show(id)).members;
    await hostIs('silent', lost?.resource_id ?? '');
    await eventually(async () => (await show(id)).members[0]?.lost_since ?? undefined);
    events.length = 0;
    const replace_lost = { after: 0, min_in_service: 1 };
    await world.updated(id, { ...heat, environment: { resource_registry: { resources: { g: { replace_lost } } } } });
    const [started] = await seen('group.scaling.started');
    expect(started?.data).toMatchObject({ reason: 'replacement', before: 2, after: 2, leaving: [lost?.name] });
    await seen('group.scaling.completed');
    expect(await names(id)).toContain(kept?.name);
    // The policy goes with its entry: the next loss is only noted.
    await world.updated(id, heat);
    events.length = 0;
    await hostIs('silent', kept?.resource_id ?? '');
    const isNoted = async () => (await show(id)).members.some(({ lost_since: since }) => since !== null);
    await eventually(async () => (await isNoted()) || undefined);
    expect(events.filter(({ type }) => type === 'group.scaling.started')).toEqual([]);
  });

  it('is proposed again for replacement when a listener has refused it', async () => {
    const hook = 'deciding: {heartbeat_timeout: 1, default_result: abandon}';
    const { id } = await world.createAndWait(
      's',
      own(`desired_capacity: 2\n      replace_lost: {after: 0}\n      ${hook}`),
    );
    const [lost] = (await show(id)).members;
    await hostIs('silent', lost?.resource_id ?? '');
    const [refused] = await seen('group.scaling.refused');
    expect(refused?.data).toMatchObject({ refusal: 'vetoed', reason: 'replacement' });
    const again = (await seen('group.scaling.deciding', 2)).at(-1);
    expect(again?.data).toMatchObject({ reason: 'replacement', leaving: [lost?.name] });
    await act(id, { kind: 'decide', token: again?.data['token'] as string, result: 'continue' });
    await seen('group.scaling.completed');
    expect(await names(id)).not.toContain(lost?.name);
  });

  it('is found by its place when the host has an id of its own, as one that joined', async () => {
    const { id } = await world.createAndWait('s', own('desired_capacity: 2\n      replace_lost: {after: 0}'));
    const [lost] = (await show(id)).members;
    const place = { root: { stack_id: id, stack_name: 's' }, path: `g/${lost?.name}`, tags: [] };
    await hostIs('silent', 'a host that joined', place);
    const [started] = await seen('group.scaling.started');
    expect(started?.data).toMatchObject({ reason: 'replacement', leaving: [lost?.name] });
  });

  it('stays when its host comes back in time', async () => {
    const { id } = await world.createAndWait('s', own('desired_capacity: 2\n      replace_lost: {after: 600}'));
    const [lost] = (await show(id)).members;
    const state = async (): Promise<string | null | undefined> => (await show(id)).members[0]?.lost_since;
    await hostIs('silent', lost?.resource_id ?? '');
    await eventually(async () => ((await state()) === null ? undefined : true));
    await hostIs('up', lost?.resource_id ?? '');
    await eventually(async () => ((await state()) === null ? true : undefined));
  });
});

describe('a member whose node has a fault', () => {
  const faultOf = async (instance: string, fault: string | null): Promise<void> => {
    const { bus, mint } = world.context;
    const state = { provision_state: 'active', power_state: null, reason: '', version: 1 } as const;
    const data = { ...state, origin: unknownOrigin(), node_id: 'n', name: 'n', instance_id: instance, fault };
    const message = mint(nodeEvent.faultChanged, { data, subject: 'n', project: 'p1' });
    await bus.publish([message, message]);
  };
  const group = (more = '') => own(`desired_capacity: 2\n      replace_lost: {after: 0${more}}`);

  it('is replaced when the group says so, with the fault as the reason', async () => {
    const { id } = await world.createAndWait('s', group(', node_faults: true'));
    const [lost, kept] = (await show(id)).members;
    await faultOf(lost?.resource_id ?? '', 'power failure');
    const [started] = await seen('group.scaling.started');
    expect(started?.data).toMatchObject({ reason: 'replacement', leaving: [lost?.name] });
    expect(started?.data['origin']).toMatchObject({
      cause: { kind: 'replacement', reason: expect.stringContaining('the fault power failure') },
    });
    await seen('group.scaling.completed');
    expect(await names(id)).toContain(kept?.name);
  });

  it('stays when the fault ends in time, and when the group replaces only silent hosts', async () => {
    const { id } = await world.createAndWait(
      's',
      own('desired_capacity: 2\n      replace_lost: {after: 600, node_faults: true}'),
    );
    const [lost] = (await show(id)).members;
    const reason = async (): Promise<string | null | undefined> => (await show(id)).members[0]?.lost_reason;
    await faultOf(lost?.resource_id ?? '', 'power failure');
    await eventually(async () => (await reason())?.includes('power failure'));
    await faultOf(lost?.resource_id ?? '', null);
    await eventually(async () => (await reason()) === null);

    const other = await world.createAndWait('t', group());
    const [first, second] = (await show(other.id)).members;
    await faultOf(first?.resource_id ?? '', 'power failure');
    // The shard takes the messages of a group in order, so the silence comes after the fault.
    await world.context.bus.publish([silenceOf(second?.resource_id ?? '')]);
    const [started] = await seen('group.scaling.started');
    expect(started?.data['leaving']).toEqual([second?.name]);
  });
});

describe('a refresh', () => {
  it('replaces every member in batches, and waits at its checkpoints', async () => {
    const { id } = await world.createAndWait('s', own('desired_capacity: 3'));
    const before = await names(id);
    events.length = 0;
    await act(id, { kind: 'refresh', batch: 1, checkpoints: [50] });
    const [started] = await seen('group.refresh.started');
    expect(started?.data).toMatchObject({ group: 'g', total: 3, done: 0, batch: 1 });
    await seen('group.refresh.waiting');
    const middle = await show(id);
    expect(middle.refresh).toMatchObject({ state: 'waiting', total: 3, done: 2 });
    await expect(act(id, { kind: 'refresh', batch: 1, checkpoints: [] })).rejects.toMatchObject({ code: 'Conflict' });
    await act(id, { kind: 'continue refresh' });
    await seen('group.refresh.completed');
    const after = await names(id);
    expect(after).toHaveLength(3);
    expect(after.filter((name) => before.includes(name))).toEqual([]);
    const steps = events.filter(({ type }) => type === 'group.scaling.started');
    expect(steps.map(({ data }) => [data['reason'], (data['leaving'] as string[]).length])).toEqual(
      [1, 2, 3].map(() => ['refresh', 1]),
    );
    await world.updated(id, own('desired_capacity: 3\n      cooldown: 0'));
    expect(await names(id)).toEqual(after);
  });

  it('waits when a listener refuses a batch, and proposes the batch again when it continues', async () => {
    const hook = 'desired_capacity: 2\n      deciding: {heartbeat_timeout: 600, default_result: continue}';
    const { id } = await world.createAndWait('s', own(hook));
    const before = await names(id);
    events.length = 0;
    await act(id, { kind: 'refresh', batch: 2, checkpoints: [] });
    const [first] = await seen('group.scaling.deciding');
    await act(id, { kind: 'decide', token: first?.data['token'] as string, result: 'abandon', message: 'not today' });
    const [waiting] = await seen('group.refresh.waiting');
    expect(waiting?.data).toMatchObject({ done: 0, total: 2 });
    expect((await show(id)).refresh).toMatchObject({ state: 'waiting', done: 0 });
    await act(id, { kind: 'continue refresh' });
    const second = (await seen('group.scaling.deciding', 2)).at(-1);
    await act(id, { kind: 'decide', token: second?.data['token'] as string, result: 'continue' });
    await seen('group.refresh.completed');
    expect((await names(id)).filter((name) => before.includes(name))).toEqual([]);
  });

  it('stops when a batch fails, and when an operator cancels it', async () => {
    const hooks = {
      g: { '*': { lifecycle_hooks: [{ transition: 'launching', heartbeat_timeout: 600, default_result: 'abandon' }] } },
    };
    const answers: string[] = ['continue', 'abandon'];
    await world.context.bus.subscribe([lifecycleEvent.waiting.type], async ({ message }) => {
      const { stack_id: stack = '', resource_name: name = '', token = '' } = message.data as Record<string, string>;
      const result = answers.shift() as 'continue' | 'abandon' | undefined;
      if (result) await world.actOn(stack, name, { kind: 'complete hook', hook: 'launching', token, result });
    });
    const environment = { resource_registry: { resources: hooks } };
    const { id } = await world.createAndWait('s', { ...own('desired_capacity: 1'), environment });
    await act(id, { kind: 'refresh', batch: 1, checkpoints: [] });
    const [failed] = await seen('group.refresh.failed');
    expect(failed?.data).toMatchObject({ group: 'g', total: 1, reason: 'The refresh stopped, because a batch failed' });
    expect((await show(id)).refresh).toMatchObject({ state: 'failed' });

    const other = await world.createAndWait('t', own('desired_capacity: 3'));
    await act(other.id, { kind: 'refresh', batch: 1, checkpoints: [30] });
    await seen('group.refresh.waiting');
    await act(other.id, { kind: 'cancel refresh' });
    await seen('group.refresh.cancelled');
    expect((await show(other.id)).refresh).toMatchObject({ state: 'cancelled', done: 1 });
  });
});

describe('a group whose members have numbers', () => {
  const counted = (count: number, more = '') => ({
    template: `
heat_template_version: 2018-08-31
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: ${count}, ${more} resource_def: {type: OS::Heat::TestResource, properties: {value: v}}}
`,
  });
  const reported = () =>
    events.map(({ type, data: { member } }) =>
      `${type.replace('group.', '')} ${typeof member === 'string' ? member : ''}`.trim(),
    );

  it('reports the members that enter and leave when its count changes, in order with the change', async () => {
    const { id } = await world.createAndWait('s', counted(1));
    await seen('group.member.entered');
    expect(events.map(({ data }) => data)).toMatchObject([
      { group: 'g', member: '0', reason: 'create', before: 1, after: 1 },
      { group: 'g', member: '0', reason: 'create', before: 1, after: 1 },
    ]);
    events.length = 0;
    await world.updated(id, counted(2));
    await seen('group.scaling.completed');
    expect(reported()).toEqual(['scaling.started', 'member.entering 1', 'member.entered 1', 'scaling.completed']);
    const change = { group: 'g', parent_stack_id: id, reason: 'update', policy: null, before: 1, after: 2 };
    for (const { data } of events) expect(data).toMatchObject({ ...change, id: events[0]?.data['id'] });
    expect(events[0]?.data).toMatchObject({ entering: ['1'], leaving: [] });
    events.length = 0;
    await world.updated(id, counted(1, "removal_policies: [{resource_list: ['0']}],"));
    await seen('group.scaling.completed');
    expect(reported()).toEqual(['scaling.started', 'member.leaving 0', 'member.left 0', 'scaling.completed']);
    expect(events[0]?.data).toMatchObject({ before: 2, after: 1, entering: [], leaving: ['0'] });
    events.length = 0;
    await world.remove(id);
    await seen('group.member.left');
    expect(events.map(({ type, data }) => [type, data['reason']])).toEqual([
      ['group.member.leaving', 'delete'],
      ['group.member.left', 'delete'],
    ]);
  });

  it('reports no scaling when an update changes only the definition of its members', async () => {
    const { id } = await world.createAndWait('s', counted(2));
    await seen('group.member.entered', 2);
    events.length = 0;
    const other = counted(2);
    await world.updated(id, { template: other.template.replace('value: v', 'value: w') });
    await world.updated(id, counted(3));
    await seen('group.scaling.completed');
    expect(reported()).toEqual(['scaling.started', 'member.entering 2', 'member.entered 2', 'scaling.completed']);
  });
});

describe('the list of groups', () => {
  const list = async () => (await world.ask(groupList, { project: 'p1' })).groups;

  it('shows sizes, places and the last decision of live groups that scale, and of no other stack', async () => {
    const { id } = await world.createAndWait('s', template({ group: 'desired_capacity: 2' }));
    const numbered =
      '{type: OS::Heat::ResourceGroup, properties: {count: 1, resource_def: {type: OS::Heat::TestResource}}}';
    await world.createAndWait('other', {
      template: `{heat_template_version: 2018-08-31, resources: {g: ${numbered}}}`,
    });
    expect(await list()).toMatchObject([
      { path: 'g', root: { stack_id: id, stack_name: 's' }, project: 'p1', size: 2, wanted: 2, outcome: null },
    ]);
    await signal(id, 'up');
    await atRest(id);
    expect(await list()).toMatchObject([
      { size: 3, wanted: 3, entering: 0, leaving: 0, min_size: 1, max_size: 5, outcome: { policy: 'up', after: 3 } },
    ]);
    await world.remove(id);
    await eventually(async () => ((await list()).length === 0 ? true : undefined), { what: 'an empty list' });
  });

  it('shows the size before and after while members enter', async () => {
    const { id } = await world.createAndWait('s', template());
    await act(id, { kind: 'resize', size: 4 });
    await seen('group.scaling.started');
    const [row] = await list();
    // The change may be complete already.
    expect([row?.wanted, (row?.size ?? 0) + (row?.entering ?? 0)]).toEqual([4, 4]);
  });
});
