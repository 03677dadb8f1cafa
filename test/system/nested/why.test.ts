import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const template = `
heat_template_version: 2018-08-31
resources:
  pool:
    type: OS::Heat::ResourceGroup
    properties: {count: 3, resource_def: {type: OS::Heat::TestResource, properties: {wait_secs: 600}}}
`;

it('names a member of a group by its path, which the commands take', async () => {
  const { id } = await world.create('many', { template });
  const found = await eventually(
    async () => {
      const answer = await world.ask(stackWhy, { project: 'p1', stack: id });
      return answer.summary.includes('2 more') ? answer : undefined;
    },
    { what: 'the members' },
  );
  expect(found.summary).toMatch(/^pool\/0 \(OS::Heat::TestResource\) waits until .* \(2 more of pool wait too\.\)$/);
  const { summary } = await world.ask(stackWhy, { project: 'p1', stack: id, resource: 'pool' });
  expect(summary).toBe(found.summary);
});
