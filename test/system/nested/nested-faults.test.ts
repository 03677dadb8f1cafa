import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const points = ['recorded', 'sent', 'written', 'published', 'closed'].map((name) => `scheduling.${name}`);
const files = {
  'member.yaml': `
heat_template_version: 2018-08-31
parameters: {value: {type: string}}
resources:
  t: {type: OS::Heat::TestResource, properties: {value: {get_param: value}}}
outputs: {out: {value: {get_attr: [t, output]}}}
`,
};
const input = (value: string, count: number) => ({
  files,
  template: `
heat_template_version: 2018-08-31
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: ${count}, resource_def: {type: member.yaml, properties: {value: '${value}%index%'}}}
outputs: {all: {value: {get_attr: [g, out]}}}
`,
});

describe.each(points)('a process that dies repeatedly at %s', (point) => {
  it('does not stop a tree of stacks, and each change is made once', async () => {
    const world = await StackWorld.open();
    cleanups.push(() => world.close());
    let passed = 0;
    const disarm = armFault(point, () => {
      passed += 1;
      if (passed % 4 === 0 && passed < 40) throw new Error(`fault ${point}`);
    });
    cleanups.push(disarm);
    const { id } = await world.create('s', input('a', 3));
    expect(world.outputs(await world.complete(id, 30_000))['all']).toEqual(['a0', 'a1', 'a2']);
    await world.update(id, input('b', 2));
    expect(world.outputs(await world.complete(id, 30_000))['all']).toEqual(['b0', 'b1']);
    await world.remove(id);
    await world.complete(id, 30_000);
    await eventually(async () => ((await world.stacks(true)).length === 0 ? true : undefined));
    const events = (await world.events(id, 5)).filter((event) => event.startsWith('g '));
    expect(new Set(events).size).toBe(events.length);
    expect(passed).toBeGreaterThan(8);
  });
});

describe('duplicate delivery of every message between stacks', () => {
  it('changes only the number of messages', async () => {
    const world = await StackWorld.open();
    cleanups.push(() => world.close());
    const { bus } = world.context;
    const send = bus.send.bind(bus);
    bus.send = ({ queue, messages }) => send({ queue, messages: messages.flatMap((message) => [message, message]) });
    const root = await world.createAndWait('s', input('a', 2));
    expect(world.outputs(root)['all']).toEqual(['a0', 'a1']);
    expect(world.outputs(await world.updated(root.id, input('b', 3)))['all']).toEqual(['b0', 'b1', 'b2']);
    const events = await world.events(root.id);
    expect(events).toEqual([
      's CREATE IN_PROGRESS',
      'g CREATE IN_PROGRESS',
      'g CREATE COMPLETE',
      's CREATE COMPLETE',
      's UPDATE IN_PROGRESS',
      'g UPDATE IN_PROGRESS',
      'g UPDATE COMPLETE',
      's UPDATE COMPLETE',
    ]);
  });
});
