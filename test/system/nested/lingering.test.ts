/** A group with a member that cannot be deleted for a while, as when the controller of its machine is dark. */
import { groupAct, groupShow, type GroupAct } from '@anneal/contracts/calls/scaling.ts';
import { resourceResponse, type ResourceRequest, type ResourceResponse } from '@anneal/contracts/resource.ts';
import { announceTypes } from '@anneal/provider/routes.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

useQuickClock({ stepMs: 2_000 });

const queue = 'machines.requests';
let world: StackWorld;
/** Machines whose deletion fails. */
const dark = new Set<string>();
let deletions = 0;
beforeEach(async () => {
  world = await StackWorld.open();
  const { bus, mint } = world.context;
  await bus.consume(queue, async ({ message }) => {
    const data = message.data as ResourceRequest;
    const action = message.type.replace('resource.', '') as ResourceResponse['action'];
    const { id } = data.resource;
    if (action === 'delete') deletions += 1;
    const fails = action === 'delete' && dark.has(id);
    const response: ResourceResponse = {
      resource_id: id,
      stack_id: data.stack.id,
      action,
      fence: data.fence,
      physical_id: id,
      ...(fails
        ? { status: 'failed', error: { code: 'BmcUnreachable', message: 'The BMC does not answer.' } }
        : { status: 'complete' }),
    };
    await bus.send({
      queue: message.replyto ?? '',
      messages: [mint(resourceResponse, { id: `${message.id}:0`, cause: message, data: response })],
    });
  });
  await announceTypes(
    { bus, mint },
    { provider: 'machines', queue, types: [{ type: 'Test::Machine', properties: {}, attributes: {} }] },
  );
});

afterEach(() => world.close());

const template = `heat_template_version: 2018-08-31
resources:
  g:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 5, desired_capacity: 2, resource: {type: Test::Machine}}
outputs:
  refs: {value: {get_attr: [g, refs]}}
  size: {value: {get_attr: [g, current_size]}}
`;

const shown = async (id: string) => world.outputs(await world.show(id)) as { refs: string[]; size: number };

it('keeps the member, scales meanwhile, and deletes it when that is possible again', async () => {
  const { id } = await eventually(() => world.create('lingering', { template }).catch(() => undefined), {
    what: 'the type of the provider',
  });
  await world.complete(id);
  const { refs: first } = await shown(id);
  expect(first).toHaveLength(2);
  for (const each of first) dark.add(each);
  const act = (action: GroupAct) => world.ask(groupAct, { project: 'p1', stack: id, group: 'g', action });
  const groupFails = (size: number) =>
    eventually(
      async () => {
        const group = await world.ask(groupShow, { project: 'p1', stack: id, group: 'g' });
        return group.status === 'UPDATE_FAILED' && group.size === size ? group : undefined;
      },
      { what: `a failed group of ${size}` },
    );

  await act({ kind: 'resize', size: 1 });
  await groupFails(1);
  expect(await shown(id)).toEqual({ refs: expect.arrayContaining(first), size: 1 });
  await act({ kind: 'resize', size: 3 });
  await groupFails(3);
  const { refs } = await shown(id);
  expect(refs).toHaveLength(4);
  expect(refs).toEqual(expect.arrayContaining(first));

  const before = deletions;
  await eventually(() => deletions > before + 1, { what: 'two more attempts, without a request' });
  dark.clear();
  await eventually(async () => (await shown(id)).refs.length === 3, { what: 'the end of the member' });
  const { status } = await world.ask(groupShow, { project: 'p1', stack: id, group: 'g' });
  expect(status).toBe('UPDATE_COMPLETE');
  const ended = deletions;
  await world.act(id, { kind: 'check' });
  expect(deletions).toBe(ended);
});
