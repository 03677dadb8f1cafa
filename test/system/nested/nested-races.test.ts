import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const slow = `
heat_template_version: 2018-08-31
parameters: {value: {type: string}, wait: {type: number, default: 0}}
resources:
  t:
    type: OS::Heat::TestResource
    properties: {value: {get_param: value}, action_wait_secs: {create: {get_param: wait}, update: {get_param: wait}}}
outputs: {out: {value: {get_attr: [t, output]}}}
`;
const input = (value: string, wait: number, count = 2) => ({
  files: { 'slow.yaml': slow },
  template: `
heat_template_version: 2018-08-31
resources:
  n: {type: slow.yaml, properties: {value: ${value}, wait: ${wait}}}
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: ${count}, resource_def: {type: slow.yaml, properties: {value: '${value}%index%', wait: ${wait}}}}
outputs:
  n: {value: {get_attr: [n, out]}}
  g: {value: {get_attr: [g, out]}}
`,
});
const leafBusy = (id: string, action: string) =>
  eventually(async () => {
    const leaves = (await world.resources(id, 5)).filter(({ name }) => name === 't');
    const busy = leaves.filter((leaf) => leaf.action === action && leaf.status === 'IN_PROGRESS');
    return busy.length === 3 ? true : undefined;
  });

describe('a newer action', () => {
  it('supersedes a creation in all nested stacks, and awaits the requests in flight', async () => {
    const { id } = await world.create('s', input('a', 1));
    await leafBusy(id, 'CREATE');
    const done = await world.updated(id, input('b', 0));
    expect(world.outputs(done)).toEqual({ n: 'b', g: ['b0', 'b1'] });
  });

  it('supersedes an update, and removes members that are being changed', async () => {
    const { id } = await world.createAndWait('s', input('a', 0));
    await world.update(id, input('b', 1));
    await leafBusy(id, 'UPDATE');
    const done = await world.updated(id, input('c', 0, 1));
    expect(world.outputs(done)).toEqual({ n: 'c', g: ['c0'] });
    expect((await world.resources(id, 5)).filter(({ name }) => name === 't')).toHaveLength(2);
  });

  it('rolls back a cancelled update in all nested stacks', async () => {
    const { id } = await world.createAndWait('s', input('a', 0));
    await world.update(id, input('b', 1));
    await leafBusy(id, 'UPDATE');
    await world.act(id, { kind: 'cancel', rollback: true });
    const back = await world.complete(id);
    expect(back.action).toBe('ROLLBACK');
    expect(world.outputs(back)).toEqual({ n: 'a', g: ['a0', 'a1'] });
  });

  it('stops an update without a rollback in all nested stacks, and a later update completes it', async () => {
    const { id } = await world.createAndWait('s', input('a', 0));
    await world.update(id, input('b', 1));
    await leafBusy(id, 'UPDATE');
    await world.act(id, { kind: 'cancel', rollback: false });
    expect(await world.settled(id)).toMatchObject({ status: 'FAILED', reason: 'Stack UPDATE cancelled' });
    await eventually(async () =>
      (await world.stacks(true)).every(({ status }) => status !== 'IN_PROGRESS') ? true : undefined,
    );
    expect(world.outputs(await world.updated(id, input('c', 0)))).toEqual({ n: 'c', g: ['c0', 'c1'] });
  });

  it('deletes a tree of stacks during its update', async () => {
    const { id } = await world.createAndWait('s', input('a', 0));
    await world.update(id, input('b', -1));
    await leafBusy(id, 'UPDATE');
    await world.remove(id);
    expect(await world.settled(id)).toMatchObject({ action: 'DELETE', status: 'COMPLETE' });
    expect(await world.stacks(true)).toEqual([]);
  });
});
