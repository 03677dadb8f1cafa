import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const template = `
heat_template_version: 2018-08-31
resources:
  handle: {type: OS::Heat::UpdateWaitConditionHandle}
  wait: {type: AWS::CloudFormation::WaitCondition, properties: {Handle: {get_resource: handle}, Timeout: 600}}
outputs:
  handle: {value: {get_resource: handle}}
  said: {value: {get_attr: [wait, Data]}}
`;
const signal = (data: string) => ({ Status: 'SUCCESS', Reason: 'done', UniqueId: 'one', Data: data });

const idOf = async (stack: string, name: string): Promise<string> =>
  (await world.resources(stack)).find((resource) => resource.name === name)?.id ?? '';
/** Waits until the condition of this stack waits, in the running action. */
const waiting = (stack: string, action: string) =>
  eventually(
    async () =>
      (await world.resources(stack)).some(
        ({ name, ...found }) => name === 'wait' && found.status === 'IN_PROGRESS' && found.action === action,
      ) || undefined,
    { what: `${action} of the wait condition` },
  );

/** Creates a stack and signals its handle once. */
async function createSignalled(name: string, how: Parameters<StackWorld['create']>[2] = {}): Promise<string> {
  const { id } = await world.create(name, { template }, how);
  await waiting(id, 'CREATE');
  await world.signal(id, 'handle', signal('first'));
  expect(world.outputs(await world.complete(id))).toMatchObject({ said: '{"one": "first"}' });
  return id;
}

describe('a handle that every update replaces', () => {
  it('is replaced by an update without changes, and its condition waits again', async () => {
    const id = await createSignalled('s');
    const [handle, { handle: address }] = [await idOf(id, 'handle'), world.outputs(await world.show(id))];
    for (const word of ['second', 'third']) {
      await world.update(id, { template });
      await waiting(id, 'CREATE');
      await world.signal(id, 'handle', signal(word));
      expect(world.outputs(await world.complete(id))).toMatchObject({ said: `{"one": "${word}"}` });
    }
    expect(await idOf(id, 'handle')).not.toBe(handle);
    expect(world.outputs(await world.show(id))['handle']).not.toBe(address);
    expect(await world.resources(id)).toHaveLength(2);
  });

  it('is replaced in the plan, with the reason', async () => {
    const id = await createSignalled('s');
    const { rows, changes } = await world.plan(id, { template });
    expect(rows).toEqual(['1 replace handle', '2 maybe replace wait']);
    expect(changes[0]).toMatchObject({ because: 'every update renews it', order: 'create before delete' });
  });

  it('is restored by a rollback, which waits for no signal', async () => {
    const id = await createSignalled('s', { on_failure: 'rollback' });
    const handle = await idOf(id, 'handle');
    await world.update(id, { template });
    await waiting(id, 'CREATE');
    await world.signal(id, 'handle', { ...signal('no'), Status: 'FAILURE' });
    expect(await world.settled(id)).toMatchObject({ action: 'ROLLBACK', status: 'COMPLETE' });
    expect(await idOf(id, 'handle')).toBe(handle);
    expect(world.outputs(await world.show(id))).toMatchObject({ said: '{"one": "first"}' });
  });

  it('is kept by a retry of the update', async () => {
    const id = await createSignalled('s');
    await world.update(id, { template });
    await waiting(id, 'CREATE');
    const handle = await idOf(id, 'handle');
    await world.signal(id, 'handle', { ...signal('no'), Status: 'FAILURE' });
    expect(await world.settled(id)).toMatchObject({ action: 'UPDATE', status: 'FAILED' });
    // This signal replaces the one that failed the condition.
    await world.signal(id, 'handle', signal('better'));
    await world.act(id, { kind: 'retry' });
    expect(world.outputs(await world.complete(id))).toMatchObject({ said: '{"one": "better"}' });
    expect(await idOf(id, 'handle')).toBe(handle);
  });

  it('is replaced in a nested stack by an update of the parent, but not when a group grows', async () => {
    const member = `
heat_template_version: 2018-08-31
resources: {handle: {type: OS::Heat::UpdateWaitConditionHandle}}
outputs: {OS::stack_id: {value: {get_resource: handle}}}
`;
    const around = {
      template: `
heat_template_version: 2018-08-31
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 3, resource: {type: member.yaml}}
  more:
    type: OS::Heat::ScalingPolicy
    properties: {auto_scaling_group_id: {get_resource: group}, adjustment_type: change_in_capacity, scaling_adjustment: 1}
outputs: {refs: {value: {get_attr: [group, refs]}}}
`,
      files: { 'member.yaml': member },
    };
    const { id } = await world.createAndWait('s', around);
    const refs = async (): Promise<unknown[]> => world.outputs(await world.show(id))['refs'] as unknown[];
    const [first] = await refs();
    await world.signal(id, 'more', null);
    const grown = await eventually(async () => {
      const found = await refs();
      return found.length === 2 ? found : undefined;
    });
    expect(grown).toContain(first);
    const { rows } = await world.plan(id, around);
    expect(rows.filter((row) => /update group$|replace group.*handle$/.test(row))).toHaveLength(3);
    await world.updated(id, around);
    const renewed = await refs();
    expect(renewed).toHaveLength(2);
    for (const one of grown) expect(renewed).not.toContain(one);
  });
});
