/** Pages of the resources of a tree of stacks: together they are the whole list, also while resources are replaced. */
import { stackResources, type ResourceView } from '@anneal/contracts/calls/resources.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StackWorld } from '../stack-world.ts';

const project = 'p1';
const held = { type: 'OS::Heat::TestResource', properties: { wait_secs: -1 } };
const environment = { resource_registry: { 'My::Test': 'OS::Heat::TestResource' } };
const templateOf = (letter: string): string =>
  JSON.stringify({
    heat_template_version: '2018-08-31',
    resources: {
      aliased: { type: 'My::Test' },
      alone: { type: 'OS::Heat::TestResource', properties: { update_replace_value: letter } },
      // Replaces the first while this one works, so that two incarnations of it exist.
      after: {
        type: 'OS::Heat::TestResource',
        properties: { value: { get_attr: ['alone', 'output'] }, ...(letter === 'b' && { wait_secs: -1 }) },
      },
      group: {
        type: 'OS::Heat::ResourceGroup',
        properties: { count: 3, resource_def: { type: 'OS::Heat::TestResource' } },
      },
      ...(letter === 'b' && {
        held,
        planned: { type: 'OS::Heat::Value', depends_on: 'held', properties: { value: 1 } },
      }),
    },
  });

describe('pages of resources', () => {
  let world: StackWorld;
  let id: string;

  beforeAll(async () => {
    world = await StackWorld.open();
    ({ id } = await world.createAndWait('paged', { template: templateOf('a'), environment }));
  });
  afterAll(() => world.close());

  const pageOf = (page: PageRequest, depth = 5) =>
    world.ask(stackResources, { project, stack: id, detail: false, nested_depth: depth, page });
  const whole = async (depth = 5): Promise<ResourceView[]> =>
    (await world.ask(stackResources, { project, stack: id, detail: false, nested_depth: depth })).resources;
  const keyOf = ({ stack_name, name }: ResourceView): string => `${stack_name} ${name}`;
  /** Without what changes with the clock. */
  const sorted = (views: readonly ResourceView[]) => views.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));

  it('are together the whole list, in the order of the tree, page by page', async () => {
    const { resources, paths, total, found, states } = await pageOf({ limit: 100 });
    expect(sorted(resources)).toEqual(sorted(await whole()));
    expect(paths).toEqual(['after', 'aliased', 'alone', 'group', 'group/0', 'group/1', 'group/2']);
    expect({ total, found, states }).toEqual({ total: 7, found: 7, states: { CREATE_COMPLETE: 7 } });
    const second = await pageOf({ limit: 2, offset: 4 });
    expect(second.paths).toEqual(['group/0', 'group/1']);
    expect(second.resources).toEqual(resources.slice(4, 6));
    const aliased = await pageOf({ limit: 100, find: 'my::test' });
    expect(aliased).toMatchObject({ paths: ['aliased'], resources: [{ type: 'My::Test' }] });
    expect((await pageOf({ limit: 100 }, 0)).paths).toEqual(['after', 'aliased', 'alone', 'group']);
  });

  it('show one incarnation of a name, failures and work first, and what has not begun', async () => {
    await world.update(id, { template: templateOf('b'), environment });
    let last: string[] = [];
    await eventually(
      async () => {
        last = (await whole()).flatMap(({ name, status }) => (status === 'IN_PROGRESS' ? name : []));
        return last.sort().join() === 'after,held';
      },
      { what: 'only two resources working, which do not end', last: () => last },
    );
    const incarnations = await world.context.store
      .collection<never>({ name: 'scheduling_resources', indexes: [{ fields: ['stack_id', 'name'] }] })
      .then((collection) => collection.find({ where: { stack_id: id, name: 'alone' } }));
    expect(incarnations).toHaveLength(2);
    const { resources, paths, states } = await pageOf({ limit: 100, sort: 'state' });
    expect(sorted(resources)).toEqual(sorted(await whole()));
    expect(paths?.slice(0, 2).sort()).toEqual(['after', 'held']);
    expect(paths?.at(-1)).toBe('planned');
    expect(states).toMatchObject({ INIT_COMPLETE: 1 });
    const named = await pageOf({ limit: 100, find: 'testresource group/' });
    expect(named).toMatchObject({ total: 9, found: 3, paths: ['group/0', 'group/1', 'group/2'] });
  });
});
