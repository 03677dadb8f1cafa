/** A context whose members a scaling policy changes between the updates of the stack. */
import { contextShow } from '@anneal/contracts/calls/context.ts';
import { hostCreate } from '@anneal/contracts/calls/hosts.ts';
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import type { ContextView } from '@anneal/contracts/calls/context.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

const project = 'p1';
let world: StackWorld;
beforeAll(async () => {
  world = await StackWorld.open({}, { hosts: true });
});
afterAll(() => world.close());

const names = ['a', 'b', 'c', 'd'];

/** Hosts that ask for work. Returns their ids. */
async function hosts(): Promise<string[]> {
  return Promise.all(
    names.map(async (name) => {
      const id = world.context.newId();
      await world.ask(hostCreate, { id, name, project }, 'configuration');
      const queue = `host.${id}.responses`;
      const messages = [{ body: { hello: true, facts: {} }, ttl: 600 }];
      await world.ask(queuePost, { project, queue, client_id: 'host', messages }, 'configuration');
      return id;
    }),
  );
}

it('follows the policy at once, and the next update of the stack changes nothing', async () => {
  const ids = await hosts();
  const policy = (by: number): string => `
    type: OS::Heat::ScalingPolicy
    properties:
      adjustment_type: change_in_capacity
      auto_scaling_group_id: {get_resource: group}
      scaling_adjustment: ${by}`;
  // The group has the first hosts of the list, as many as it has members.
  const template = `heat_template_version: 2018-08-31
resources:
  group:
    type: OS::Heat::AutoScalingGroup
    properties: {min_size: 1, max_size: 4, desired_capacity: 2, resource: {type: OS::Heat::TestResource}}
  more: ${policy(2)}
  fewer: ${policy(-3)}
  cluster:
    type: Anneal::Context
    properties:
      members:
        all:
          yaql: {expression: $.data.ids.take($.data.size), data: {ids: ${JSON.stringify(ids)}, size: {get_attr: [group, current_size]}}}
outputs: {members: {value: {get_attr: [cluster, names, all]}}}
`;
  const { id } = await world.createAndWait('s', { template });
  const shown = (): Promise<ContextView> => world.ask(contextShow, { project, context: 'cluster' }, 'configuration');
  const members = (version: number): Promise<string[]> =>
    eventually(
      async () => {
        const { data } = await shown();
        return data.version === version ? data.members.map(({ name }) => name) : undefined;
      },
      { what: `version ${version} of the context`, last: shown },
    );
  expect(await members(1)).toEqual(['a', 'b']);
  await world.signal(id, 'more', null);
  expect(await members(2)).toEqual(names);
  // Outputs follow with the new version.
  await eventually(async () => {
    const output = world.outputs(await world.show(id))['members'];
    return JSON.stringify(output) === JSON.stringify(names) ? true : undefined;
  });
  await world.updated(id, { template });
  expect((await shown()).data.version).toBe(2);
  await world.signal(id, 'fewer', null);
  expect(await members(3)).toEqual(['a']);
});
