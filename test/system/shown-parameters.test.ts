/** Parameters as a client reads them: the texts that Heat shows, and only those that a user has declared. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { stackPreview } from '@anneal/contracts/calls/previews.ts';
import { stackRevisionList, stackRevisionShow } from '@anneal/contracts/calls/stack-history.ts';
import { StackWorld } from './stack-world.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const declared = `
heat_template_version: 2018-08-31
parameters:
  empty_list: {type: json, default: []}
  list: {type: json, default: [a, b]}
  text: {type: json, default: ''}
  map: {type: json, default: {b: [1, true, null], a: 'ü'}}
  written: {type: json, default: '{"x": 1.0}'}
  names: {type: comma_delimited_list, default: 'a,b'}
  ratio: {type: number, default: 1.0}
  count: {type: number, default: 3}
  flag: {type: boolean, default: true}
  plain: {type: string, default: x}
  secret: {type: json, default: {a: 1}, hidden: true}
`;
const shown = {
  empty_list: '[]',
  list: '["a", "b"]',
  text: '""',
  map: String.raw`{"b": [1, true, null], "a": "\u00fc"}`,
  written: '{"x": 1.0}',
  names: 'a,b',
  ratio: '1.0',
  count: '3',
  flag: 'True',
  plain: 'x',
  secret: '******',
};

describe('the parameters of a stack', () => {
  it('are shown as Heat writes them: of the stack, of a nested stack, of a revision and of a preview', async () => {
    const template = `${declared}resources: {n: {type: inner.yaml}}\n`;
    const { id, parameters } = await world.createAndWait('shown', { template, files: { 'inner.yaml': declared } });
    expect(parameters).toMatchObject(shown);
    const nested = (await world.stacks(true)).find(({ parent }) => parent === id);
    expect((await world.show(nested?.id ?? '')).parameters).toMatchObject(shown);
    const [latest] = (await world.ask(stackRevisionList, { project: 'p1', stack: id })).revisions;
    const which = { project: 'p1', stack: id, revision: latest?.id ?? '' };
    const revision = await world.ask(stackRevisionShow, which);
    expect(revision.parameters).toMatchObject(shown);
    const { template: kept, environment, files, plan } = await world.show(id);
    const target = { template: kept, environment, files, plan, description: '' };
    const preview = await world.ask(stackPreview, { id, project: 'p1', ...target });
    expect(preview.parameters).toMatchObject(shown);
  });

  it('of a group are none, although its definition holds a secret', async () => {
    const template = `
heat_template_version: 2018-08-31
parameters: {password: {type: string, hidden: true}}
resources:
  g:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: OS::Heat::Value, properties: {value: {get_param: password}}}}
outputs: {o: {value: {get_attr: [g, value]}}}
`;
    const stack = await world.createAndWait('grouped', { template, parameters: { password: 'hush' } });
    expect(world.outputs(stack)).toEqual({ o: ['hush'] });
    const group = (await world.stacks(true)).find(({ parent }) => parent === stack.id);
    expect(await world.show(group?.id ?? '')).toMatchObject({ parameters: {}, group: true });
    expect(stack).not.toHaveProperty('group');
  });
});
