import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import { type StackView } from '@anneal/contracts/calls/stacks.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { provisioningTypes } from '@anneal/hot/types/provisioning.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const member = `
heat_template_version: 2018-08-31
parameters: {value: {type: string}}
resources:
  v: {type: OS::Heat::Value, properties: {value: {get_param: value}}}
outputs:
  out: {value: {get_attr: [v, value]}}
`;
const groupOf = ({ properties, policy = '{}' }: { properties: string; policy?: string }) => `
heat_template_version: 2018-08-31
resources:
  g:
    type: OS::Heat::ResourceGroup
    update_policy: ${policy}
    properties: ${properties}
outputs:
  out: {value: {get_attr: [g, out]}}
  map: {value: {get_attr: [g, attributes, out]}}
  refs: {value: {get_attr: [g, refs_map]}}
  one: {value: {get_attr: [g, resource.1, out]}}
  removed: {value: {get_attr: [g, removed_rsrc_list]}}
`;
const files = { 'member.yaml': member };
const numbered = (count: number, more = '', value = 'm%index%', policy = '{}') => ({
  files,
  template: groupOf({
    policy,
    properties: `{count: ${count}, ${more} resource_def: {type: member.yaml, properties: {value: ${value}}}}`,
  }),
});

const groupStack = async (id: string) => {
  const nested = (await world.stacks(true)).find(({ parent }) => parent === id);
  if (!nested) throw new Error('no group');
  return nested;
};
const namesIn = async (id: string): Promise<string[]> => {
  const { id: group } = await groupStack(id);
  return (await world.resources(group)).map(({ name }) => name).sort();
};

describe('a resource group', () => {
  it('creates numbered members, and shows their attributes in every form', async () => {
    const root = await world.createAndWait('s', numbered(3));
    const outputs = world.outputs(root);
    expect(outputs).toMatchObject({
      out: ['m0', 'm1', 'm2'],
      map: { 0: 'm0', 1: 'm1', 2: 'm2' },
      one: 'm1',
      removed: [],
    });
    expect(Object.keys(outputs['refs'] as JsonObject)).toEqual(['0', '1', '2']);
    expect((await world.resources(root.id, 5)).map(({ name }) => name)).toHaveLength(1 + 3 + 3);
  });

  /** A group of three, whose member `bad` fails. */
  const failing = (bad: string, value = 'x') => ({
    template: groupOf({
      policy: '{rolling_update: {max_batch_size: 1, min_in_service: 1}}',
      properties: `{count: 3, resource_def: {type: member.yaml, properties: {value: '${value}-%index%', bad: '${value}-${bad}'}}}`,
    }),
    files: {
      'member.yaml': `
heat_template_version: 2018-08-31
parameters: {value: {type: string}, bad: {type: string}}
conditions: {fails: {equals: [{get_param: value}, {get_param: bad}]}}
resources:
  t: {type: OS::Heat::TestResource, properties: {value: {get_param: value}, fail: {if: [fails, true, false]}}}
outputs: {out: {value: {get_attr: [t, output]}}}
`,
    },
  });
  const values = { 0: 'x-0', 1: 'x-1', 2: 'x-2' };

  it('keeps the complete members and recreates the failed ones after a failed creation', async () => {
    const { id } = await world.create('s', failing('1'));
    expect((await world.settled(id)).reason).toContain('resources.g.resources[1].resources.t: Test Resource failed t');
    const { id: group } = await groupStack(id);
    const [first] = await world.resources(group);
    expect(world.outputs(await world.updated(id, failing('none')))).toMatchObject({ map: values });
    expect((await groupStack(id)).id).toBe(group);
    expect((await world.resources(group))[0]).toMatchObject({ id: first?.id, physical_id: first?.physical_id });
    expect(await namesIn(id)).toEqual(['0', '1', '2']);
  });

  it('rolls back every member when the update of one fails', async () => {
    const { id } = await world.create('s', failing('none'), { on_failure: 'rollback' });
    expect(world.outputs(await world.complete(id))).toMatchObject({ map: values });
    // Updates begin at the highest number, so the other members have the new value when this one fails.
    await world.update(id, failing('0', 'y'));
    const back = await world.complete(id);
    expect(back).toMatchObject({ action: 'ROLLBACK' });
    expect(world.outputs(back)).toMatchObject({ map: values });
  });

  it('can be deleted while it grows', async () => {
    const { id } = await world.create('s', numbered(50));
    await world.remove(id);
    expect(await world.complete(id)).toMatchObject({ action: 'DELETE' });
    expect(await world.stacks(true)).toEqual([]);
  });

  it('grows at the end, shrinks from the end, and can be empty', async () => {
    const root = await world.createAndWait('s', numbered(2));
    expect(world.outputs(await world.updated(root.id, numbered(4)))['out']).toEqual(['m0', 'm1', 'm2', 'm3']);
    expect(world.outputs(await world.updated(root.id, numbered(1)))['out']).toEqual(['m0']);
    expect(world.outputs(await world.updated(root.id, numbered(0)))['out']).toEqual([]);
    await world.remove(root.id);
    await world.complete(root.id);
    expect(await world.stacks(true)).toEqual([]);
  });

  it('removes a named member, keeps the others, and never reuses its name', async () => {
    const policy = '{rolling_update: {max_batch_size: 1, min_in_service: 1}}';
    const group = (count: number, removal = '') => numbered(count, removal, 'm%index%', policy);
    const refsOf = (stack: StackView): JsonObject => world.outputs(stack)['refs'] as JsonObject;
    const root = await world.createAndWait('s', group(3));
    const before = refsOf(root);
    expect(Object.keys(before)).toEqual(['0', '1', '2']);
    const removed = await world.updated(root.id, group(3, "removal_policies: [{resource_list: ['1']}],"));
    expect(world.outputs(removed)).toMatchObject({ out: ['m0', 'm2', 'm3'], removed: ['1'] });
    expect(refsOf(removed)).toEqual({ 0: before['0'], 2: before['2'], 3: expect.any(String) });
    const again = await world.updated(root.id, group(4));
    expect(world.outputs(again)).toMatchObject({ out: ['m0', 'm2', 'm3', 'm4'], removed: ['1'] });
    const byReference = `removal_policies: [{resource_list: [${JSON.stringify(refsOf(again)['3'])}]}],`;
    expect(world.outputs(await world.updated(root.id, group(3, byReference)))).toMatchObject({
      out: ['m0', 'm2', 'm4'],
      removed: ['1', '3'],
    });
    expect(refsOf(await world.updated(root.id, group(1)))).toEqual({ 0: before['0'] });
  });

  it('updates members in batches, and adds temporary members when too few would be left', async () => {
    const policy = '{rolling_update: {max_batch_size: 2, min_in_service: 3, pause_time: 0}}';
    const root = await world.createAndWait('s', numbered(3, '', 'a%index%', policy));
    const group = await groupStack(root.id);
    const before = (await world.events(group.id)).length;
    const after = await world.updated(root.id, numbered(3, '', 'b%index%', policy));
    expect(world.outputs(after)['out']).toEqual(['b0', 'b1', 'b2']);
    const events = (await world.events(group.id)).slice(before);
    expect(await namesIn(root.id)).toEqual(['0', '1', '2']);
    expect(events.some((event) => event.startsWith('3 CREATE'))).toBe(true);
    let changing = 0;
    let most = 0;
    for (const event of events) {
      if (/^[012] UPDATE IN_PROGRESS/.test(event)) changing += 1;
      if (/^[012] UPDATE COMPLETE/.test(event)) changing -= 1;
      most = Math.max(most, changing);
    }
    expect(most).toBe(2);
  });

  it('creates new members first, then updates from the highest number down', async () => {
    const policy = '{rolling_update: {max_batch_size: 1}, batch_create: {max_batch_size: 1}}';
    const root = await world.createAndWait('s', numbered(3, '', 'a%index%', policy));
    const group = await groupStack(root.id);
    const begun = (events: readonly string[]): string[] =>
      events.flatMap((event) => /^(\d) (?:CREATE|UPDATE) IN_PROGRESS/.exec(event)?.[1] ?? []);
    const before = await world.events(group.id);
    expect(begun(before)).toEqual(['0', '1', '2']);
    await world.updated(root.id, numbered(4, '', 'b%index%', policy));
    expect(begun((await world.events(group.id)).slice(before.length))).toEqual(['3', '2', '1', '0']);
  });

  it('shows a pause between two batches, and its end', async () => {
    const policy = '{rolling_update: {max_batch_size: 1, pause_time: 600}}';
    const root = await world.createAndWait('s', numbered(2, '', 'a%index%', policy));
    await world.update(root.id, numbered(2, '', 'b%index%', policy));
    const pause = await eventually(async () => {
      const { summary, exits } = await world.ask(stackWhy, { project: 'p1', stack: root.id });
      return summary.includes('pauses') ? { summary, exits } : undefined;
    });
    expect(pause.summary).toMatch(/^Stack s-g-\w+ pauses between two batches of its members until \d{4}-/);
    expect(pause.exits).toEqual(['anneal stack cancel s']);
  });

  it('of groups shows the attributes of the members’ members', async () => {
    const inner = `{type: OS::Heat::ResourceGroup, properties: {count: 2, index_var: '%j%', resource_def: {type: member.yaml, properties: {value: '%index%.%j%'}}}}`;
    const template = (count: number): string => `
heat_template_version: 2018-08-31
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: ${count}, resource_def: ${inner}}}
  s: {type: OS::Heat::AutoScalingGroup, properties: {min_size: 1, max_size: 2, resource: ${inner}}}
outputs:
  all: {value: {get_attr: [g, out]}}
  map: {value: {get_attr: [g, attributes, out]}}
  one: {value: {get_attr: [g, resource.1.refs_map, '1']}}
  deep: {value: {get_attr: [g, resource.0, resource.1.out]}}
  list: {value: {get_attr: [s, outputs_list, out]}}
`;
    const root = await world.createAndWait('s', { files, template: template(2) });
    const all = [0, 1].map((i) => [`${i}.0`, `${i}.1`]);
    expect(world.outputs(root)).toEqual({
      all,
      map: { 0: all[0], 1: all[1] },
      one: expect.any(String),
      deep: '0.1',
      list: [['%index%.0', '%index%.1']],
    });
    const more = await world.updated(root.id, { files, template: template(3) });
    expect(world.outputs(more)['all']).toEqual([...all, ['2.0', '2.1']]);
  });

  it('names a missing member whose attribute is read', async () => {
    const template = `
heat_template_version: 2018-08-31
resources:
  g: {type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: OS::Heat::Value, properties: {value: v}}}}
outputs:
  fifth: {value: {get_attr: [g, resource.5.value]}}
  reference: {value: {get_attr: [g, resource.5]}}
  first: {value: {get_attr: [g, resource.0.value]}}
  none: {value: {get_attr: [g, attributes]}}
`;
    const root = await world.createAndWait('s', { template });
    const message = "Member '5' not found in group resource 'g'.";
    expect(root.outputs).toMatchObject([
      { key: 'fifth', value: null, error: message },
      { key: 'reference', value: null, error: message },
      { key: 'first', value: 'v' },
      { key: 'none', value: null, error: 'The Referenced Attribute (g attributes) is incorrect.' },
    ]);
    const reader = `
  reader: {type: OS::Heat::Value, properties: {value: {get_attr: [g, resource.5.value]}}}
outputs:`;
    await world.update(root.id, { template: template.replace('\noutputs:', reader) });
    expect((await world.settled(root.id)).reason).toBe(
      `Resource CREATE failed: InvalidRequest: resources.reader: ${message}`,
    );
  });

  it('creates members in batches when its policy requires it', async () => {
    const policy = '{batch_create: {max_batch_size: 1, pause_time: 0}}';
    const root = await world.createAndWait('s', numbered(3, '', 'a%index%', policy));
    const group = await groupStack(root.id);
    const events = (await world.events(group.id)).filter((event) => /^\d/.test(event));
    const pairs = events.map((event) => event.split(' ')[0]);
    expect(pairs[0]).toBe(pairs[1]);
    expect(pairs[2]).toBe(pairs[3]);
  });

  it('creates a thousand members in seconds', async () => {
    const template = `
heat_template_version: 2018-08-31
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: 1000, resource_def: {type: OS::Heat::Value, properties: {value: 'v%index%'}}}
outputs:
  all: {value: {get_attr: [g, value]}}
`;
    const { id } = await world.create('s', { template });
    const root = await world.complete(id, 60_000);
    expect(world.outputs(root)['all']).toHaveLength(1000);
  });

  it('creates a thousand members that are nested stacks', async () => {
    const { id } = await world.create('s', numbered(1000));
    const root = await world.complete(id, 90_000);
    expect(world.outputs(root)['out']).toHaveLength(1000);
    expect((await world.stacks(true)).length).toBe(1000);
    await world.remove(id);
    await world.complete(id, 90_000);
  });

  it('is refused when its pauses exceed the time limit of the stack', async () => {
    const policy = '{rolling_update: {max_batch_size: 1, pause_time: 3000}}';
    const root = await world.createAndWait('s', numbered(3, '', 'a%index%', policy));
    await world.update(root.id, numbered(3, '', 'b%index%', policy));
    expect((await world.settled(root.id)).reason).toContain(
      'The current update policy will result in stack update timeout.',
    );
  });
});

const scaling = (more: string) => `
heat_template_version: 2018-08-31
resources:
  g:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 5, ${more} resource: {type: OS::Heat::TestResource, properties: {value: v}}}
outputs:
  size: {value: {get_attr: [g, current_size]}}
  values: {value: {get_attr: [g, outputs_list, output]}}
  map: {value: {get_attr: [g, outputs, output]}}
`;

describe('an autoscaling group', () => {
  it('updates its members as its rolling updates say: in batches, with a minimum in service and pauses', async () => {
    const updates = 'rolling_updates: {max_batch_size: 2, min_in_service: 2, pause_time: 0.2},';
    const root = await world.createAndWait('s', { template: scaling(`desired_capacity: 3, ${updates}`) });
    const group = await groupStack(root.id);
    const before = (await world.events(group.id)).length;
    const started = performance.now();
    const other = scaling(`desired_capacity: 3, ${updates}`).replace('value: v', 'value: w');
    expect(world.outputs(await world.updated(root.id, { template: other }))['values']).toEqual(['w', 'w', 'w']);
    expect(performance.now() - started).toBeGreaterThan(200);
    const events = (await world.events(group.id)).slice(before);
    // Two of three members change at once, so a third one keeps two in service meanwhile.
    expect(events.filter((event) => event.endsWith(' CREATE COMPLETE')).length).toBe(1);
    const progress = events.filter((event) => /^a[\da-z]{11} UPDATE (IN_PROGRESS|COMPLETE)$/.test(event));
    let [changing, most] = [0, 0];
    for (const event of progress) most = Math.max(most, (changing += event.endsWith('COMPLETE') ? -1 : 1));
    expect(most).toBe(2);
  });

  const adjust = async (stack: string, more: object = {}) => {
    const { context } = world;
    const data = {
      stack_id: stack,
      policy: 'p',
      adjustment_type: 'change_in_capacity' as const,
      adjustment: 1,
      min_step: null,
      cooldown: null,
      ...more,
    };
    await context.bus.send({
      queue: requestsQueue('scheduling'),
      messages: [context.mint(groupAdjust, { data, project: 'p1' })],
    });
  };

  it('keeps its size when an update or a policy would exceed the quota of resources', async () => {
    await world.close();
    world = await StackWorld.open({ ANNEAL_SCHEDULING_PROJECT_RESOURCES: '4' });
    const root = await world.createAndWait('s', { template: scaling('desired_capacity: 2,') });
    const group = await groupStack(root.id);
    await world.update(root.id, { template: scaling('desired_capacity: 5, cooldown: 0,') });
    const refused = await world.settled(root.id);
    expect(refused).toMatchObject({ action: 'UPDATE', status: 'FAILED' });
    expect(refused.reason).toContain('ANNEAL_SCHEDULING_PROJECT_RESOURCES');
    expect(await namesIn(root.id)).toHaveLength(2);
    await adjust(group.id, { adjustment: 3 });
    // Requests of one stack are handled in order, so the first one is ignored when the second one is done.
    await adjust(group.id, { adjustment: -1 });
    await eventually(async () => ((await namesIn(root.id)).length === 1 ? true : undefined), {
      last: async () => world.events(group.id),
    });
  });

  it('restores its size in a rollback that exceeds the quota of resources, also of templates in it', async () => {
    await world.close();
    world = await StackWorld.open({ ANNEAL_SCHEDULING_PROJECT_RESOURCES: '7' });
    const withMore = (count: number, more = '') => {
      const input = numbered(count);
      return { ...input, template: input.template.replace('outputs:', `${more}outputs:`) };
    };
    // The group, two members, and a value in each.
    const root = await world.createAndWait('s', withMore(2));
    const failing = '  t: {type: OS::Heat::TestResource, depends_on: g, properties: {fail: true}}\n';
    await world.update(root.id, withMore(1, failing));
    expect(await world.settled(root.id)).toMatchObject({ action: 'UPDATE', status: 'FAILED' });
    const value = (name: string) => `  ${name}: {type: OS::Heat::Value, properties: {value: x}}\n`;
    const filling = `heat_template_version: 2018-08-31\nresources:\n${['a', 'b', 'c'].map(value).join('')}`;
    // A full project is counted again at most once a second.
    await eventually(() => world.createAndWait('full', { template: filling }).catch(() => undefined));
    await expect(world.create('one', { template: filling })).rejects.toMatchObject({ code: 'QuotaExceeded' });
    await world.act(root.id, { kind: 'rollback' });
    expect(await world.settled(root.id)).toMatchObject({ action: 'ROLLBACK', status: 'COMPLETE' });
    expect(await namesIn(root.id)).toEqual(['0', '1']);
    // The quota holds again for the next request.
    await world.update(root.id, withMore(3));
    const refused = await world.settled(root.id);
    expect(refused).toMatchObject({ action: 'UPDATE', status: 'FAILED' });
    expect(refused.reason).toContain('ANNEAL_SCHEDULING_PROJECT_RESOURCES');
  });

  it('changes its size, which the parent stack shows and keeps', async () => {
    const root = await world.createAndWait('s', { template: scaling('desired_capacity: 2,') });
    expect(world.outputs(root)).toMatchObject({ size: 2, values: ['v', 'v'] });
    const group = await groupStack(root.id);
    const [first] = await namesIn(root.id);
    await adjust(group.id, { adjustment: 2 });
    await eventually(async () => (world.outputs(await world.show(root.id))['size'] === 4 ? true : undefined), {
      last: async () => world.events(group.id),
    });
    await world.complete(group.id);
    const same = await world.updated(root.id, { template: scaling('desired_capacity: 2, cooldown: 0,') });
    expect(world.outputs(same)).toMatchObject({ size: 4 });
    const asked = await world.updated(root.id, { template: scaling('desired_capacity: 3, cooldown: 0,') });
    expect(world.outputs(asked)).toMatchObject({ size: 3 });
    expect((await namesIn(root.id)).every((name) => name.length === 12)).toBe(true);
    expect(first).toMatch(/^[a-z0-9]{12}$/);
  });

  it.each(['scheduling.recorded', 'scheduling.written', 'scheduling.closed'])(
    'runs once for two signals at once, also when the process dies at %s',
    async (point) => {
      const seen = new Map<string, unknown>();
      await world.context.bus.subscribe(['group.scaling.started'], async ({ message }) => {
        seen.set(message.id, message.data);
      });
      const root = await world.createAndWait('s', { template: scaling('desired_capacity: 2,') });
      const group = await groupStack(root.id);
      let left = 1;
      const disarm = armFault(point, () => {
        if ((left -= 1) >= 0) throw new Error(`fault ${point}`);
      });
      try {
        await Promise.all([1, 2].map(() => adjust(group.id, { cooldown: 1000 })));
        await eventually(async () => (world.outputs(await world.show(root.id))['size'] === 3 ? true : undefined));
      } finally {
        disarm();
      }
      expect(left).toBeLessThan(0);
      const stack = { stack_id: group.id, stack_name: group.name };
      await eventually(() => (seen.size > 0 ? true : undefined));
      expect([...seen.values()]).toMatchObject([{ ...stack, policy: 'p', before: 2, after: 3, origin: { path: 'g' } }]);
    },
  );

  it('stays within its bounds, and ignores signals while it cools down', async () => {
    const root = await world.createAndWait('s', { template: scaling('desired_capacity: 2,') });
    const group = await groupStack(root.id);
    await adjust(group.id, { adjustment: 10, cooldown: 1000 });
    await eventually(async () => (world.outputs(await world.show(root.id))['size'] === 5 ? true : undefined));
    await world.complete(group.id);
    await adjust(group.id, { adjustment: -1 });
    await adjust(group.id, { adjustment: -1 });
    const last = await world.show(group.id);
    expect(last).toMatchObject({ status: 'COMPLETE' });
    expect(await namesIn(root.id)).toHaveLength(5);
  });
});

const balancer = (size: string) => `
  balancer:
    type: OS::Heat::TestResource
    metadata: {members: {get_attr: [${size}]}, is: lb}
    properties: {value: v}
`;

describe('a scaling policy', () => {
  it('resizes its group when it is signalled', async () => {
    const root = await world.createAndWait('s', {
      template: `${scaling('desired_capacity: 1,').replace('outputs:', '')}
  up:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: g}
      adjustment_type: percent_change_in_capacity
      scaling_adjustment: 100
outputs:
  size: {value: {get_attr: [g, current_size]}}
  url: {value: {get_attr: [up, alarm_url]}}
`.replace(/\n {2}size: .*\n {2}values: .*\n {2}map: .*\n/, '\n'),
    });
    expect(world.outputs(root)['url']).toContain('/cfn/v1/signal/');
    await world.signal(root.id, 'up', {});
    await eventually(async () => (world.outputs(await world.show(root.id))['size'] === 2 ? true : undefined));
    await world.complete((await groupStack(root.id)).id);
    await world.signal(root.id, 'up', null);
    await eventually(async () => (world.outputs(await world.show(root.id))['size'] === 4 ? true : undefined));
  });

  it('updates metadata that reads the size of its group, in every parent stack', async () => {
    const policy = `
  up:
    type: OS::Heat::ScalingPolicy
    properties:
      auto_scaling_group_id: {get_resource: g}
      adjustment_type: change_in_capacity
      scaling_adjustment: 1
`;
    const inner = scaling('desired_capacity: 1,').replace(
      '\noutputs:',
      `${policy}${balancer('g, current_size')}outputs:`,
    );
    const template = `
heat_template_version: 2018-08-31
resources:
  n: {type: inner.yaml}
${balancer('n, size')}
  fixed: {type: OS::Heat::TestResource, metadata: {members: 1}, properties: {value: {get_attr: [n, size]}}}
`;
    const root = await world.createAndWait('s', { template, files: { 'inner.yaml': inner } });
    const nested = (await world.stacks(true)).find(({ parent }) => parent === root.id)?.id ?? '';
    const metadata = async (stack: string, name: string): Promise<unknown> =>
      (await world.resources(stack)).find((each) => each.name === name)?.metadata;
    const before = (await world.resources(root.id)).find(({ name }) => name === 'fixed');
    for (const members of [2, 3]) {
      await world.signal(nested, 'up', null);
      for (const stack of [nested, root.id])
        await eventually(async () =>
          isDeepStrictEqual(await metadata(stack, 'balancer'), { members, is: 'lb' }) ? true : undefined,
        );
    }
    expect((await world.resources(root.id)).find(({ name }) => name === 'fixed')).toEqual(before);
  });

  it('of AWS scales instances with a launch configuration', async () => {
    const root = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
resources:
  config:
    type: AWS::AutoScaling::LaunchConfiguration
    properties: {ImageId: image, InstanceType: small}
  g:
    type: AWS::AutoScaling::AutoScalingGroup
    properties:
      AvailabilityZones: [nova]
      LaunchConfigurationName: {get_resource: config}
      MinSize: 1
      MaxSize: 3
  up:
    type: AWS::AutoScaling::ScalingPolicy
    properties: {AutoScalingGroupName: {get_resource: g}, AdjustmentType: ChangeInCapacity, ScalingAdjustment: 1}
outputs:
  list: {value: {get_attr: [g, InstanceList]}}
`,
      files: {
        'instance.yaml': `
heat_template_version: 2018-08-31
parameters: {ImageId: {type: string}, InstanceType: {type: string}, Tags: {type: json}}
resources: {v: {type: OS::Heat::Value, properties: {value: {get_param: ImageId}}}}
outputs: {PublicIp: {value: {get_attr: [v, value]}}}
`,
      },
      environment: { resource_registry: { 'OS::Heat::ScaledResource': 'instance.yaml' } },
    });
    expect(world.outputs(root)['list']).toBe('image');
    await world.signal(root.id, 'up', {});
    await eventually(async () =>
      world.outputs(await world.show(root.id))['list'] === 'image,image' ? true : undefined,
    );
  });
});

describe('an instance group without a launch configuration', () => {
  const registry = {
    resource_registry: { 'OS::Heat::ScaledResource': 'instance.yaml', 'OS::Nova::Server': 'server.yaml' },
  };
  const serverType = provisioningTypes.find(({ type }) => type === 'OS::Nova::Server');
  const attributes = Object.keys(serverType?.attributes ?? {});
  const templates = {
    'server.yaml': `
heat_template_version: 2018-08-31
parameters: {image: {type: string}, flavor: {type: string}}
outputs:
${attributes.map((name) => `  ${name}: {value: ${name}}`).join('\n')}
`,
    'instance.yaml': `
heat_template_version: 2018-08-31
parameters: {ImageId: {type: string}, InstanceType: {type: string}, Tags: {type: json}}
resources:
  v: {type: OS::Heat::Value, properties: {value: {list_join: [/, [{get_param: ImageId}, {get_param: InstanceType}]]}}}
outputs: {PublicIp: {value: {get_attr: [v, value]}}}
`,
  };
  const group = (server: string, after: string, more = '') => ({
    template: `
heat_template_version: 2018-08-31
resources:
${more}
  g:
    type: AWS::AutoScaling::AutoScalingGroup
    properties: {AvailabilityZones: [nova], ${after}: ${server}, MinSize: 1, MaxSize: 3}
outputs:
  list: {value: {get_attr: [g, InstanceList]}}
`,
    files: templates,
    environment: registry,
  });

  it('copies its instances from the server that it names, which must exist', async () => {
    const { id } = await world.createAndWait('with-server', {
      template: `
heat_template_version: 2018-08-31
resources: {s: {type: OS::Nova::Server, properties: {image: debian, flavor: small}}}
`,
      files: templates,
      environment: registry,
    });
    const server = (await world.resources(id))[0]?.physical_id ?? '';
    const own = await world.createAndWait('s', group(server, 'InstanceId'));
    expect(world.outputs(own)['list']).toBe('debian/small');
    const config = `  c: {type: AWS::AutoScaling::LaunchConfiguration, properties: {InstanceId: ${server}, InstanceType: large}}`;
    const named = await world.createAndWait('t', group('{get_resource: c}', 'LaunchConfigurationName', config));
    expect(world.outputs(named)['list']).toBe('debian/large');
    const missing = await world.create('u', group('absent', 'InstanceId'));
    expect((await world.settled(missing.id)).reason).toContain('The Server (absent) could not be found.');
  });
});

describe('a chain', () => {
  it('creates its members at once when it is concurrent', async () => {
    const chain = { resources: ['OS::Heat::TestResource', 'OS::Heat::TestResource'], concurrent: true };
    const properties = { ...chain, resource_properties: { wait_secs: 0.2 } };
    const resources = { c: { type: 'OS::Heat::ResourceChain', properties } };
    const template = JSON.stringify({ heat_template_version: '2018-08-31', resources });
    const root = await world.createAndWait('s', { template });
    const group = await groupStack(root.id);
    const events = (await world.events(group.id)).filter((event) => /^\d/.test(event));
    expect(events.slice(0, 2)).toEqual(['0 CREATE IN_PROGRESS', '1 CREATE IN_PROGRESS']);
  });

  it('creates its members one after the other', async () => {
    const root = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
resources:
  c:
    type: OS::Heat::ResourceChain
    properties: {resources: [OS::Heat::TestResource, OS::Heat::TestResource], resource_properties: {value: x}}
outputs:
  all: {value: {get_attr: [c, output]}}
`,
    });
    expect(world.outputs(root)['all']).toEqual(['x', 'x']);
    const group = await groupStack(root.id);
    const events = (await world.events(group.id)).filter((event) => /^\d/.test(event));
    expect(events).toEqual(['0 CREATE IN_PROGRESS', '0 CREATE COMPLETE', '1 CREATE IN_PROGRESS', '1 CREATE COMPLETE']);
  });
});

describe('a secret in the definition of a group', () => {
  it('reaches every member, and is nowhere stored in clear text', async () => {
    const root = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
parameters: {password: {type: string, hidden: true}}
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties:
      count: 2
      resource_def: {type: member.yaml, properties: {value: {get_param: password}}}
outputs:
  all: {value: {get_attr: [g, out]}}
`,
      files,
      parameters: { password: 'hush-hush' },
    });
    expect(world.outputs(root)['all']).toEqual(['hush-hush', 'hush-hush']);
    expect(JSON.stringify(await world.resources(root.id, 5))).not.toContain('hush-hush');
    const databases = (await readdir(world.context.directory)).filter((name) => /\.db/.test(name));
    for (const name of databases) {
      expect((await readFile(join(world.context.directory, name))).includes('hush-hush'), name).toBe(false);
    }
  });
});

describe('a stack whose template is among the files', () => {
  it('shows its outputs by name, in the form of AWS', async () => {
    const root = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
resources:
  r: {type: AWS::CloudFormation::Stack, properties: {TemplateURL: member.yaml, Parameters: {value: near}}}
outputs:
  out: {value: {get_attr: [r, Outputs.out]}}
`,
      files,
    });
    expect(world.outputs(root)['out']).toBe('near');
    expect(await world.stacks(false)).toHaveLength(1);
  });
});

describe('a remote stack', () => {
  it('is created from the template in its properties, and is in the list of stacks', async () => {
    const root = await world.createAndWait('s', {
      template: `
heat_template_version: 2018-08-31
resources:
  r:
    type: OS::Heat::Stack
    properties: {template: {get_file: member.yaml}, parameters: {value: far}}
outputs:
  out: {value: {get_attr: [r, outputs, out]}}
`,
      files,
    });
    expect(world.outputs(root)['out']).toBe('far');
    expect(await world.stacks(false)).toHaveLength(2);
  });

  it('has its own time limit, and is refused in another region or cloud', async () => {
    const inputOf = (more: string) => ({
      template: `
heat_template_version: 2018-08-31
resources:
  r: {type: OS::Heat::Stack, properties: {template: {get_file: member.yaml}, parameters: {value: far}, ${more}}}
`,
      files,
    });
    await expect(world.create('a', inputOf('context: {region_name: Elsewhere}'))).rejects.toThrow(
      'Cannot establish connection to Heat endpoint at region "Elsewhere" due to "public endpoint for orchestration',
    );
    const broken = {
      ...inputOf('timeout: 7'),
      files: { 'member.yaml': 'heat_template_version: 2018-08-31\nresource: {}' },
    };
    await expect(world.create('c', broken)).rejects.toThrow(
      'at region "RegionOne" due to "ERROR: The template section is invalid: resource"',
    );
    await expect(world.create('b', inputOf('context: {credential_secret_id: x}'))).rejects.toThrow(
      'credentials for another cloud are not supported',
    );
    const root = await world.createAndWait(
      's',
      inputOf('context: {region_name: RegionOne, insecure: true}, timeout: 7'),
    );
    const remote = async () => (await world.stacks(false)).find(({ id }) => id !== root.id);
    expect(await remote()).toMatchObject({ timeout_minutes: 7 });
    await world.updated(root.id, inputOf('timeout: 9'));
    expect(await remote()).toMatchObject({ timeout_minutes: 9 });
  });
});
