import { describe, expect, it } from 'vitest';
import { render, type RenderParameters } from '../render.ts';
import { knownTypes } from '../known.ts';

const answer = (template: string, more: Partial<RenderParameters> = {}) =>
  render({ template, stackName: 's', stackId: '', projectId: 'p', types: knownTypes, ...more });
const withGroup = (definition: string, outputs: string, count = '2') => `
heat_template_version: rocky
resources:
  first: {type: 'OS::Heat::RandomString'}
  group:
    type: OS::Heat::ResourceGroup
    properties:
      count: ${count}
      resource_def: ${definition}
outputs: ${outputs}
`;

describe('groups', () => {
  it('are expanded to their members, and their attributes come from the members', () => {
    const template = withGroup(
      "{type: 'OS::Heat::Value', properties: {value: v%index%}}",
      "{refs: {value: {get_attr: [group, refs]}}, x: {value: {get_attr: [group, 'resource.1.value']}}}",
    );
    const attributes = { group: { __resources__: { 0: { __id__: 'a' }, 1: { __id__: 'b', value: 'v1' } } } };
    expect(answer(template, { attributes })).toMatchObject({
      rendered: {
        resources: {
          group: { nested: { resources: { 0: { properties: { value: 'v0' } }, 1: { properties: { value: 'v1' } } } } },
        },
        outputs: { refs: ['a', 'b'], x: 'v1' },
      },
    });
    expect(answer(template)).toMatchObject({
      rendered: { outputs: { refs: [{ $unknown: true }, { $unknown: true }], x: { $unknown: true } } },
    });
  });

  it('keep unknown values in their place', () => {
    const value = '{get_attr: [first, value]}';
    const template = withGroup(
      `{type: 'OS::Heat::Value', properties: {value: [%index%, ${value}]}}`.replace('%index%', "'%index%'"),
      '{}',
    );
    expect(answer(template)).toMatchObject({
      rendered: {
        resources: { group: { nested: { resources: { 1: { properties: { value: ['1', { $unknown: true }] } } } } } },
      },
    });
  });

  it('are not expanded while their size is unknown', () => {
    const template = withGroup(
      "{type: 'OS::Heat::None'}",
      '{refs: {value: {get_attr: [group, refs]}}}',
      '{get_attr: [first, value]}',
    );
    expect(answer(template)).toMatchObject({ rendered: { outputs: { refs: { $unknown: true } } } });
  });

  it('report a mistake in their definition once, at its place', () => {
    const template = withGroup("{type: 'OS::Heat::RandomString', properties: {lenght: 3}}", '{}', '20');
    expect(answer(template)).toMatchObject({
      mistakes: [
        {
          code: 'UnknownProperty',
          path: 'resources.group<nested_stack>.resources.0.properties.lenght',
          line: 9,
          nearest: 'length',
        },
      ],
    });
  });

  it('do not report mistakes in the definition when they have no members', () => {
    const template = withGroup("{type: 'No::Such::Type'}", '{refs: {value: {get_attr: [group, refs]}}}', '0');
    expect(answer(template)).toMatchObject({ rendered: { outputs: { refs: [] } } });
  });

  it('may contain templates, to which the environment applies', () => {
    const template = withGroup(
      "{type: 'My::Type', properties: {name: n%index%}}",
      '{o: {value: {get_attr: [group, out]}}}',
    );
    const files = {
      'm.yaml': `heat_template_version: rocky
parameters: {name: {type: string}}
outputs: {out: {value: {get_param: name}}}
`,
    };
    const environments = ['resource_registry: {My::Type: m.yaml}'];
    expect(answer(template, { files, environments })).toMatchObject({ rendered: { outputs: { o: ['n0', 'n1'] } } });
  });
});

describe('a mistake in a file that members use as their type', () => {
  const leaf = `heat_template_version: rocky
resources:
  broken:
    type: OS::Heat::Value
    properties:
      value: {get_param: nowhere}
`;
  const groups: readonly (readonly [string, string])[] = [
    ['a chain', "type: OS::Heat::ResourceChain, properties: {resources: ['leaf.yaml']}"],
    ['a group', 'type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: leaf.yaml}}'],
    [
      'a group of groups',
      `type: OS::Heat::ResourceGroup, properties: {count: 2, resource_def: {type: 'OS::Heat::ResourceGroup', properties: {resource_def: {type: leaf.yaml}}}}`,
    ],
    ['a chain in a file', 'type: middle.yaml'],
  ];

  it.each(groups)('is at its line of that file: %s', (_what, group) => {
    const found = answer(`heat_template_version: rocky\nresources:\n  group: {${group}}\n`, {
      files: {
        'leaf.yaml': leaf,
        'middle.yaml': `heat_template_version: rocky\nresources:\n  c: {${groups[0]?.[1] ?? ''}}\n`,
      },
    });
    expect(found).toMatchObject({
      mistakes: [{ file: 'leaf.yaml', line: 6, message: expect.stringContaining('nowhere') }],
    });
  });
});
