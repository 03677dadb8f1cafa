import type { TypeDescription } from '@anneal/client/types.ts';
import { describe, expect, it } from 'vitest';
import { complete, type Types } from './complete.ts';
import { declaredIn, placeAt } from './place.ts';

const server: TypeDescription = {
  resource_type: 'OS::Nova::Server',
  served: true,
  properties: {
    flavor: { type: 'string', required: true, update_allowed: true },
    image_update_policy: { type: 'string', constraints: [{ allowed_values: ['REBUILD', 'REPLACE'] }] },
    networks: {
      type: 'list',
      schema: { '*': { type: 'map', schema: { network: { type: 'string' }, port: { type: 'string' } } } },
    },
  },
  attributes: { first_address: {}, addresses: {} },
};
const types: Types = {
  all: () => Promise.resolve([{ resource_type: 'OS::Nova::Server', description: 'A machine.' }]),
  one: (type) => Promise.resolve(type === server.resource_type ? server : undefined),
};
const template = `heat_template_version: 2021-04-16
parameters:
  zone: {type: string}
  size:
    type: number
conditions:
  big: {equals: [1, 1]}
resources:
  web:
    type: OS::Nova::Server
    properties:
      networks:
        - network: lan
  db: {type: OS::Nova::Server}
`;
/** The labels at the mark `|` at the end of the template and this text. */
const labels = async (more: string): Promise<string[]> => {
  const text = template + more;
  const position = text.indexOf('|');
  const clean = text.replace('|', '');
  const place = placeAt(clean, position);
  return place ? (await complete(place, clean, types)).map(({ label }) => label) : [];
};

describe('completion in a template', () => {
  it('offers the sections that are not there yet', async () => {
    const found = await labels('|');
    expect(found).toEqual(expect.arrayContaining(['outputs', 'description']));
    expect(found).not.toContain('resources');
  });

  it('offers the parts of a resource, its type, and the properties of that type', async () => {
    expect(await labels('  new:\n    |')).toEqual(expect.arrayContaining(['type', 'properties', 'depends_on']));
    expect(await labels('  new:\n    type: |')).toEqual(['OS::Nova::Server']);
    const head = '  new:\n    type: OS::Nova::Server\n    properties:\n';
    expect(await labels(`${head}      |`)).toEqual(['flavor', 'image_update_policy', 'networks']);
    expect(await labels(`${head}      image_update_policy: |`)).toEqual(['REBUILD', 'REPLACE']);
    expect(await labels(`${head}      networks:\n        - |`)).toEqual(expect.arrayContaining(['network', 'port']));
    expect(await labels(`${head}      networks:\n      - network: x\n        |`)).toContain('port');
    expect(await labels(`${head}      flavor: { |`)).toEqual(expect.arrayContaining(['get_param', 'str_replace']));
  });

  it('offers the names that a function can read', async () => {
    const head = '  new:\n    type: OS::Nova::Server\n    properties:\n      flavor: ';
    expect(await labels(`${head}{ get_param: |`)).toEqual(expect.arrayContaining(['zone', 'size', 'OS::stack_name']));
    expect(await labels(`${head}{ get_attr: [|`)).toEqual(['web', 'db', 'new']);
    expect(await labels(`${head}{ get_attr: [web, |`)).toEqual(['first_address', 'addresses']);
    expect(await labels('  new:\n    depends_on: |')).toContain('web');
    expect(await labels('  new:\n    depends_on:\n      - |')).toContain('web');
    expect(await labels('  new:\n    condition: |')).toEqual(['big']);
  });

  it('offers the types and the constraints of parameters', async () => {
    const text = 'parameters:\n  zone:\n    type: ';
    const place = placeAt(text, text.length);
    expect(place && (await complete(place, text, types)).map(({ label }) => label)).toContain('comma_delimited_list');
  });
});

describe('the names of a section', () => {
  it('come with their types, in both forms of YAML', () => {
    expect([...declaredIn(template, 'resources')]).toEqual([
      ['web', 'OS::Nova::Server'],
      ['db', 'OS::Nova::Server'],
    ]);
    expect([...declaredIn(template, 'outputs')]).toEqual([]);
  });
});
