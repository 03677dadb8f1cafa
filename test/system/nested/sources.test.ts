/** After an update a tree holds the values of a fresh creation with the same request, whatever the change reaches. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { StackView } from '@anneal/contracts/calls/stacks.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type StackInput, StackWorld } from '../stack-world.ts';
import { changed, drawTree, inputOf, integersOf } from './random-tree.ts';

let world: StackWorld;
beforeEach(async () => {
  world = await StackWorld.open();
});
afterEach(() => world.close());

const version = 'heat_template_version: 2018-08-31';
const leaf = (prefix = '') => `${version}
parameters: {p: {type: string, default: none}}
resources:
  value: {type: OS::Heat::Value, properties: {value: {list_join: ['', ['${prefix}', {get_param: p}]]}}}
outputs: {p: {value: {get_attr: [value, value]}}}
`;
/** Groups whose members have a type that comes as a value, and how their output is read. */
const shapes = {
  'a chain of types': ['type: OS::Heat::ResourceChain, properties: {resources: [{get_param: type}]}', 'p'],
  'a group of a type': ['type: OS::Heat::ResourceGroup, properties: {resource_def: {type: {get_param: type}}}', 'p'],
  'a scaling group of a type': [
    'type: OS::Heat::AutoScalingGroup, properties: {min_size: 1, max_size: 2, resource: {type: {get_param: type}}}',
    'outputs_list, p',
  ],
  'a chain of a type with a made name': [
    "type: OS::Heat::ResourceChain, properties: {resources: [{list_join: ['::', [My, {get_param: short}]]}]}",
    'p',
  ],
} as const;

const input = (
  shape: keyof typeof shapes,
  { p, files = {}, registry = {} }: { p?: Json; files?: Record<string, string>; registry?: JsonObject } = {},
): StackInput => ({
  template: `${version}
parameters: {type: {type: string, default: My::Leaf}, short: {type: string, default: Leaf}}
resources:
  mid: {type: mid.yaml, properties: {type: {get_param: type}, short: {get_param: short}}}
  other: {type: other.yaml}
outputs: {p: {value: {get_attr: [mid, p]}}}
`,
  files: {
    'mid.yaml': `${version}
parameters: {type: {type: string}, short: {type: string}}
resources:
  group: {${shapes[shape][0]}}
outputs: {p: {value: {get_attr: [group, ${shapes[shape][1]}]}}}
`,
    'other.yaml': `${version}
resources:
  value: {type: OS::Heat::Value, properties: {value: constant}}
`,
    'leaf.yaml': leaf(),
    'second.yaml': leaf('second-'),
    ...files,
  },
  environment: {
    resource_registry: { 'My::Leaf': 'leaf.yaml', ...registry },
    ...(p !== undefined && { parameter_defaults: { p } }),
  },
});

/** Names of the stacks and resources that an update began to change, in the whole tree. */
async function touched(before: StackView): Promise<string[]> {
  const events = await world.events(before.id, 5);
  return events.filter((event) => event.endsWith(' UPDATE IN_PROGRESS')).map((event) => event.split(' ')[0] ?? '');
}

describe.each(Object.keys(shapes) as (keyof typeof shapes)[])('an update of %s', (shape) => {
  it('reaches a default, a file and a registry entry that only a value names, and nothing else', async () => {
    const root = await world.createAndWait('s', input(shape, { p: 'one' }));
    const shown = (stack: StackView): Json => {
      const { p } = world.outputs(stack);
      return isObject(p) ? Object.values(p) : (p ?? null);
    };
    expect(shown(await world.show(root.id))).toEqual(['one']);
    expect(shown(await world.updated(root.id, input(shape, { p: 'two' })))).toEqual(['two']);
    const other = { 'leaf.yaml': leaf('new-') };
    expect(shown(await world.updated(root.id, input(shape, { p: 'two', files: other })))).toEqual(['new-two']);
    const registry = { 'My::Leaf': 'second.yaml' };
    const last = input(shape, { p: 'two', files: other, registry });
    const { changes } = await world.plan(root.id, last);
    expect(changes.find(({ resource }) => resource === 'mid')?.change).toBe('update');
    expect(changes.find(({ resource }) => resource === 'other')?.change).toBe('unchanged');
    expect(shown(await world.updated(root.id, last))).toEqual(['second-two']);
    expect(shown(await world.updated(root.id, input(shape, { registry })))).toEqual(['second-none']);
    expect(await touched(root)).not.toContain('other');
  });
});

describe('an update', () => {
  it('leaves a tree alone when nothing that it has read differs', async () => {
    const root = await world.createAndWait('s', input('a chain of types', { p: 'one' }));
    const events = await world.events(root.id, 5);
    const more = { files: { 'unused.yaml': leaf('unused-') }, registry: { 'My::Unused': 'unused.yaml' } };
    await world.updated(root.id, input('a chain of types', { p: 'one', ...more }));
    await world.updated(root.id, input('a chain of types', { p: 'one' }));
    const added = (await world.events(root.id, 5)).slice(events.length);
    expect(added.every((event) => event.startsWith('s UPDATE '))).toBe(true);
  });

  it('reaches a default whose number only gets another form', async () => {
    const root = await world.createAndWait('s', { ...input('a chain of types'), environment: numberAs('1') });
    const after = await world.updated(root.id, { ...input('a chain of types'), environment: numberAs('1.0') });
    expect(world.outputs(after)).toEqual({ p: ['1.0'] });
  });
  const numberAs = (p: string): string => `resource_registry: {'My::Leaf': leaf.yaml}\nparameter_defaults: {p: ${p}}\n`;

  it('reaches the first member of a group that was empty', async () => {
    const grown = (count: number, p: string): StackInput => ({
      template: `${version}
resources:
  mid: {type: mid.yaml, properties: {count: ${count}}}
outputs: {p: {value: {get_attr: [mid, p]}}}
`,
      files: {
        'mid.yaml': `${version}
parameters: {count: {type: number}}
resources:
  group: {type: OS::Heat::ResourceGroup, properties: {count: {get_param: count}, resource_def: {type: leaf.yaml}}}
outputs: {p: {value: {get_attr: [group, p]}}}
`,
        'leaf.yaml': leaf(),
      },
      environment: { parameter_defaults: { p } },
    });
    const root = await world.createAndWait('s', grown(0, 'one'));
    await world.updated(root.id, grown(0, 'two'));
    expect(world.outputs(await world.updated(root.id, grown(1, 'two')))).toEqual({ p: ['two'] });
  });

  it('that fails is rolled back to the values of before', async () => {
    const failing = (p: string, fail: boolean): StackInput => {
      const given = input('a chain of types', { p });
      const broken = `  broken: {type: OS::Heat::TestResource, properties: {fail: true}, depends_on: mid}\noutputs:`;
      return fail ? { ...given, template: given.template.replace('outputs:', broken) } : given;
    };
    const { id } = await world.create('s', failing('one', false), { on_failure: 'rollback' });
    await world.complete(id);
    await world.update(id, failing('two', true));
    expect(await world.settled(id)).toMatchObject({ action: 'ROLLBACK', status: 'COMPLETE' });
    expect(world.outputs(await world.show(id))).toEqual({ p: ['one'] });
  });

  it.each([1, 2, 3, 4])('of a random tree (seed %i) gives the values of a fresh creation', async (seed) => {
    const random = integersOf(seed);
    let tree = drawTree(random);
    const { id } = await world.createAndWait('updated', inputOf(tree));
    for (let change = 0; change < 6; change += 1) {
      tree = changed(tree, random);
      const fresh = await world.createAndWait(`fresh-${change}`, inputOf(tree));
      const after = await world.updated(id, inputOf(tree));
      expect({ change, ...world.outputs(after) }).toEqual({ change, ...world.outputs(fresh) });
      await world.remove(fresh.id);
    }
  });
});
