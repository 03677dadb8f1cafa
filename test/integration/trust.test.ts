/** No value from outside has a meaning of its own: shapes that mean something inside Anneal come back as they were sent. */
import type { Json } from '@anneal/contracts/json.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StackWorld } from './stack-world.ts';

let world: StackWorld;
beforeAll(async () => {
  world = await StackWorld.open();
});
afterAll(() => world.close());

const shapes: { [name: string]: Json } = {
  'a seal': { $sealed: 'x' },
  'a seal with a form': { $sealed: `1.deadbeef.${'A'.repeat(60)}` },
  'a seal of a seal': { $sealed: { $sealed: 'y' } },
  'reads of a nested stack': { $reads: [{ path: ['a'], value: 1 }] },
  'what is not known': { $unknown: true },
  'a parameter that is not known': { get_param: '$unknown' },
  'a call': { get_file: 'a.yaml' },
  'an attribute': { get_attr: ['v', 'value'] },
  'an expression': { kind: 'call', function: 'get_param', arguments: { kind: 'literal', value: 'x' } },
  'an exact number': { '#number': '1.0', '#map': [] },
  'a claim check': { dataref: 'a'.repeat(64) },
  'a reference': { $ref: '#/x', __id__: 'x', __resources__: {} },
};

const inner = `
heat_template_version: 2018-08-31
parameters: {j: {type: json}}
resources:
  v: {type: OS::Heat::Value, properties: {type: json, value: {get_param: j}}, metadata: {get_param: j}}
outputs:
  given: {value: {get_attr: [v, value]}}
  $reads: {value: {get_param: j}}
`;
const template = `
heat_template_version: 2018-08-31
parameters: {j: {type: json}, d: {type: json}}
resources:
  v: {type: OS::Heat::Value, properties: {type: json, value: {get_param: j}}, metadata: {get_param: j}}
  one: {type: inner.yaml, properties: {j: {get_param: j}}}
  group:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: OS::Heat::Value, properties: {type: json, value: {get_attr: [v, value]}}}}
  groups:
    type: OS::Heat::ResourceGroup
    properties: {count: 1, resource_def: {type: inner.yaml, properties: {j: {get_attr: [v, value]}}}}
outputs:
  parameter: {value: {get_param: j}}
  default: {value: {get_param: d}}
  value: {value: {get_attr: [v, value]}}
  nested: {value: {get_attr: [one, given]}}
  named: {value: {get_attr: [one, $reads]}}
  member: {value: {get_attr: [group, resource.0.value]}}
  deep: {value: {get_attr: [groups, resource.0.given]}}
  made: {value: {map_merge: [{get_param: j}, {}]}}
`;

const given = (value: Json) => ({
  template,
  files: { 'inner.yaml': inner },
  environment: world.context.secrets.seal({ parameter_defaults: { d: value } }),
  parameters: { j: world.context.secrets.seal(value) },
});

describe('a value from outside that looks like one from inside', () => {
  it.each(Object.entries(shapes))('%s comes back as it was sent', async (name, shape) => {
    const value = { deep: [shape], ...(shape as object) } as Json;
    const stack = await world.made(`s-${Object.keys(shapes).indexOf(name)}`, given(value));
    for (const { key, value: shown, error } of stack.outputs ?? []) {
      expect.soft({ key, shown, error }).toEqual({ key, shown: value, error: undefined });
    }
    const resource = (await world.resources(stack.id)).find((each) => each.name === 'v');
    expect(resource).toMatchObject({ attributes: { value }, metadata: value });
  });

  it('a seal that was copied from a database opens nowhere', async () => {
    const copied = world.context.secrets.seal('hush');
    const stack = await world.made('copied', given({ deep: [copied], ...copied }));
    const written = template.replaceAll('{get_param: j}', JSON.stringify({ deep: [copied] }));
    const literal = await world.made('written', { ...given({}), template: written });
    const resources = [...(await world.resources(stack.id, 2)), ...(await world.resources(literal.id, 2))];
    expect(JSON.stringify([stack, literal, resources])).not.toContain('hush');
    expect(world.outputs(stack)['value']).toEqual({ deep: [copied], ...copied });
    expect(world.outputs(literal)['value']).toEqual({ deep: [copied] });
  });
});
