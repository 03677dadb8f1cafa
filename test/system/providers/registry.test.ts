import type { ResourceType, PropertySchema } from '@anneal/contracts/resource-type.ts';
import { stackEvents } from '@anneal/contracts/calls/stacks.ts';
import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StackWorld, type StackInput } from '../stack-world.ts';

let world: StackWorld;
let types: readonly ResourceType[];
beforeAll(async () => {
  world = await StackWorld.open();
  types = (await world.ask(resourceTypeList, {}, 'templating')).types;
});
afterAll(() => world.close());

const parameterTypes: Readonly<Record<PropertySchema['type'], string>> = {
  String: 'string',
  Integer: 'number',
  Number: 'number',
  Boolean: 'boolean',
  Map: 'json',
  List: 'comma_delimited_list',
  Any: 'string',
};
const values: Readonly<Record<PropertySchema['type'], JsonObject[string]>> = {
  String: 'x',
  Integer: 1,
  Number: 1,
  Boolean: true,
  Map: {},
  List: ['x'],
  Any: 'x',
};

const fileOf = ({ type }: ResourceType): string => `${type.replaceAll('::', '-')}.yaml`;
const required = ({ properties }: ResourceType): [string, PropertySchema][] =>
  Object.entries(properties).filter(([, schema]) => schema.required);

/** A template with the required properties and the attributes of the type, without a resource of any provider. */
function templateFor(type: ResourceType): string {
  const parameters = required(type).map(([name, schema]) => [name, { type: parameterTypes[schema.type] }]);
  const outputs = ['mark', ...Object.keys(type.attributes)].map((name) => [name, { value: `template ${name}` }]);
  return JSON.stringify({
    heat_template_version: '2018-08-31',
    ...(parameters.length > 0 && { parameters: Object.fromEntries(parameters) }),
    outputs: Object.fromEntries(outputs),
  });
}

const propertiesFor = (type: ResourceType): JsonObject =>
  Object.fromEntries(required(type).map(([name, schema]) => [name, values[schema.type]]));
const nameOf = ({ type }: ResourceType): string => type.replaceAll('::', '_');
const definitionOf = (type: ResourceType): JsonObject => ({ type: type.type, properties: propertiesFor(type) });
const mapped = (to: (type: ResourceType) => [string, JsonObject[string]]): JsonObject =>
  Object.fromEntries(types.map(to));

/** A stack with a resource of every type. The output with the name of a resource is its `mark`. */
function stackOf(registry: JsonObject, more: { resource?: (type: ResourceType) => JsonObject; path?: string[] } = {}) {
  const { resource = definitionOf, path = ['mark'] } = more;
  const template = {
    heat_template_version: '2018-08-31',
    resources: Object.fromEntries(types.map((type) => [nameOf(type), resource(type)])),
    outputs: Object.fromEntries(
      types.map((type) => [nameOf(type), { value: { get_attr: [nameOf(type), ...path] } }] as const),
    ),
  };
  const files = Object.fromEntries(types.map((type) => [fileOf(type), templateFor(type)]));
  return { template: JSON.stringify(template), files, environment: { resource_registry: registry } };
}

const url = (type: ResourceType): string => `http://templates.example/${fileOf(type)}`;
const wrapper = (type: ResourceType): string =>
  JSON.stringify({
    heat_template_version: '2018-08-31',
    resources: { inner: definitionOf(type) },
    outputs: { mark: { value: { get_attr: ['inner', 'mark'] } } },
  });

const kinds: Readonly<Record<string, () => StackInput>> = {
  'a type': () => stackOf(mapped((type) => [type.type, fileOf(type)])),
  'a type of one resource': () =>
    stackOf({ resources: mapped((type) => [nameOf(type), { [type.type]: fileOf(type) }]) }),
  'a type that a chain of names leads to': () =>
    stackOf({
      ...mapped((type) => [type.type, `First::${nameOf(type)}`]),
      ...mapped((type) => [`First::${nameOf(type)}`, `Second::${nameOf(type)}`]),
      ...mapped((type) => [`Second::${nameOf(type)}`, fileOf(type)]),
    }),
  'all types by a wildcard': () =>
    stackOf({
      'OS::*': 'Mine::OS::*',
      'AWS::*': 'Mine::AWS::*',
      'Anneal::*': 'Mine::Anneal::*',
      ...mapped((type) => [`Mine::${type.type}`, fileOf(type)]),
    }),
  'a URL': () => {
    const stack = stackOf(mapped((type) => [type.type, url(type)]));
    return { ...stack, files: Object.fromEntries(types.map((type) => [url(type), templateFor(type)])) };
  },
  'a type, and names the file as the type': () =>
    stackOf({}, { resource: (type) => ({ ...definitionOf(type), type: fileOf(type) }) }),
  'a type inside a nested stack': () => {
    const stack = stackOf(
      mapped((type) => [type.type, fileOf(type)]),
      { resource: (type) => ({ type: `wrap-${fileOf(type)}` }) },
    );
    const wrappers = types.map((type) => [`wrap-${fileOf(type)}`, wrapper(type)] as const);
    return { ...stack, files: { ...stack.files, ...Object.fromEntries(wrappers) } };
  },
  'a type of one resource inside a nested stack': () => {
    const stack = stackOf(
      { resources: mapped((type) => [nameOf(type), { inner: { [type.type]: fileOf(type) } }]) },
      { resource: (type) => ({ type: `wrap-${fileOf(type)}` }) },
    );
    const wrappers = types.map((type) => [`wrap-${fileOf(type)}`, wrapper(type)] as const);
    return { ...stack, files: { ...stack.files, ...Object.fromEntries(wrappers) } };
  },
  'the type of the members of a group': () =>
    stackOf(
      mapped((type) => [type.type === 'OS::Heat::ResourceGroup' ? 'Unused' : type.type, fileOf(type)]),
      {
        path: ['resource.0', 'mark'],
        resource: (type) => ({
          type: 'OS::Heat::ResourceGroup',
          properties: {
            resource_def:
              type.type === 'OS::Heat::ResourceGroup'
                ? { ...definitionOf(type), type: fileOf(type) }
                : definitionOf(type),
          },
        }),
      },
    ),
};

describe('a template that replaces a served type', () => {
  it.each(Object.keys(kinds))('is used when the registry maps %s', async (kind) => {
    const input = kinds[kind]?.() as StackInput;
    const { id } = await world.create(`s${Object.keys(kinds).indexOf(kind)}`, input);
    const stack = await world.complete(id, 60_000);
    expect(types.length).toBeGreaterThan(30);
    expect(world.outputs(stack)).toEqual(mapped((type) => [nameOf(type), 'template mark']));
    for (const resource of await world.resources(stack.id)) {
      expect(resource.nested_stack, `${resource.name} is a stack of its own`).toEqual({
        id: resource.physical_id,
        name: expect.stringContaining(resource.name.slice(-20)) as string,
      });
    }
    await world.remove(stack.id);
    await world.complete(stack.id, 60_000);
  });
});

describe('a type that the registry maps to another', () => {
  const withType = (type: string, registry: JsonObject): StackInput => ({
    template: `
heat_template_version: 2018-08-31
resources:
  s: {type: ${type}}
outputs:
  value: {value: {get_attr: [s, value]}}
`,
    files: {
      'a.yaml': JSON.stringify({ heat_template_version: '2018-08-31', outputs: { value: { value: 'a' } } }),
      'b.yaml': JSON.stringify({ heat_template_version: '2018-08-31', outputs: { value: { value: 'b' } } }),
    },
    environment: { resource_registry: registry },
  });
  const row = async (id: string) => {
    const [found] = await world.resources(id);
    return found;
  };

  it('is shown under its name in the template, in resources, plans and events', async () => {
    const input = withType('My::Secret', { 'My::Secret': 'Your::Secret', 'Your::Secret': 'OS::Heat::RandomString' });
    const { id } = await world.createAndWait('alias', input);
    const { type, physical_id: physical } = (await row(id)) ?? {};
    expect(type).toBe('My::Secret');
    const { events } = await world.ask(stackEvents, { project: 'p1', stack: id, descending: false });
    expect(new Set(events.map(({ resource_type: shown }) => shown))).toEqual(
      new Set(['OS::Heat::Stack', 'My::Secret']),
    );
    const renamed = withType('OS::Heat::RandomString', {});
    expect((await world.plan(id, renamed)).changes).toMatchObject([
      { type: 'OS::Heat::RandomString', change: 'unchanged' },
    ]);
    await world.updated(id, renamed);
    expect(await row(id)).toMatchObject({ type: 'OS::Heat::RandomString', physical_id: physical });
  });

  it('is updated in place from one template to another, under any name', async () => {
    const { id } = await world.createAndWait('become', withType('My::A', { 'My::A': 'a.yaml' }));
    const before = await row(id);
    const other = withType('My::B', { 'My::B': 'b.yaml' });
    expect((await world.plan(id, other)).changes).toMatchObject([{ type: 'My::B', change: 'update' }]);
    expect(world.outputs(await world.updated(id, other))).toEqual({ value: 'b' });
    expect(await row(id)).toMatchObject({ type: 'My::B', physical_id: before?.physical_id });
    const same = withType('My::C', { 'My::C': 'b.yaml' });
    expect(world.outputs(await world.updated(id, same))).toEqual({ value: 'b' });
    expect(await row(id)).toMatchObject({ type: 'My::C', physical_id: before?.physical_id });
  });

  it('is replaced when a template replaces a served type, and the other way round', async () => {
    const { id } = await world.createAndWait(
      'facade',
      withType('OS::Heat::RandomString', { 'OS::Heat::RandomString': 'a.yaml' }),
    );
    const before = await row(id);
    const served = await world.updated(id, withType('OS::Heat::RandomString', {}));
    expect(world.outputs(served)['value']).toMatch(/^\w{32}$/);
    expect((await row(id))?.physical_id).not.toBe(before?.physical_id);
    const again = await world.updated(id, withType('OS::Heat::RandomString', { 'OS::Heat::RandomString': 'b.yaml' }));
    expect(world.outputs(again)).toEqual({ value: 'b' });
  });
});
