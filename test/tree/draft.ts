/** One template, and the stack that results from it with some parameters. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { ExpectedResource, ExpectedStack } from './expected.ts';
import { TreeGroup, type TreeMember } from './group.ts';
import { literalOf, stringOf, type KnownValue, type KnownCondition } from './known.ts';

/** Makes the nested stacks of a type. */
export interface TreeTypes {
  /** True for a type that is a template, false for one that the product serves. */
  has(type: string): boolean;
  /** A stack of this type with these parameters. */
  build(type: string, given: JsonObject): ExpectedStack;
}

type Properties = Readonly<Record<string, KnownValue>>;

/** Reads an output, or a path in it, of a nested stack. */
export interface Nested {
  read(...path: string[]): KnownValue;
  /** The id of the nested stack, or what its output `OS::stack_id` says. */
  readonly id: KnownValue;
}

interface ParameterSchema {
  readonly type: 'string' | 'number' | 'json' | 'comma_delimited_list' | 'boolean';
  readonly hidden?: boolean;
  readonly default?: Json;
}

const hotOf = (properties: Properties): JsonObject =>
  Object.fromEntries(Object.entries(properties).map(([name, { hot }]) => [name, hot]));
const valueOf = (properties: Properties): JsonObject =>
  Object.fromEntries(Object.entries(properties).map(([name, { value }]) => [name, value]));

/** A path in a value; null where it leads nowhere. */
const walk = (value: Json | undefined, path: readonly string[]): Json =>
  path.reduce<Json>((found, key) => (found as JsonObject | null)?.[key] ?? null, value ?? null);

export class TemplateDraft {
  readonly expected: ExpectedStack = { outputs: {}, resources: {} };
  readonly #types: TreeTypes;
  readonly #given: JsonObject;
  readonly #defaults: JsonObject;
  readonly #parameters: { [name: string]: Json } = {};
  readonly #conditions: { [name: string]: Json } = {};
  readonly #resources: { [name: string]: Json } = {};
  readonly #outputs: { [name: string]: Json } = {};

  constructor({ types, given, defaults }: { types: TreeTypes; given: JsonObject; defaults: JsonObject }) {
    this.#types = types;
    this.#given = given;
    this.#defaults = defaults;
  }

  template(): JsonObject {
    return {
      heat_template_version: '2018-08-31',
      parameters: this.#parameters,
      conditions: this.#conditions,
      resources: this.#resources,
      outputs: this.#outputs,
    };
  }

  /** Its value comes from the parent stack, else from the environment's defaults, else from the template. */
  parameter(name: string, schema: ParameterSchema): KnownValue {
    this.#parameters[name] = { ...schema };
    const value = this.#given[name] ?? this.#defaults[name] ?? schema.default;
    if (value === undefined) throw new Error(`The parameter ${name} has no value.`);
    return { hot: { get_param: name }, value };
  }

  /** Holds when the two values are equal. */
  condition(name: string, [left, right]: readonly [KnownValue, KnownValue]): KnownCondition {
    this.#conditions[name] = { equals: [left.hot, right.hot] };
    return { name, holds: left.value === right.value };
  }

  /** A value that the engine answers within the step that asks for it. */
  value(name: string, held: KnownValue, { type, when }: { type?: string; when?: KnownCondition } = {}): KnownValue {
    this.#add(name, {
      type: 'OS::Heat::Value',
      properties: { value: held.hot, ...(type !== undefined && { type }) },
      attributes: { value: held.value },
      ...(when && { when }),
    });
    return { hot: { get_attr: [name, 'value'] }, value: when?.holds === false ? null : held.value };
  }

  /** A text that a provider returns after some time. */
  slow(name: string, held: KnownValue, { seconds, fail }: { seconds: number; fail?: KnownValue }): KnownValue {
    this.#add(name, {
      type: 'OS::Heat::TestResource',
      properties: { value: held.hot, wait_secs: seconds, ...(fail && { fail: fail.hot }) },
      attributes: { output: held.value },
    });
    return { hot: { get_attr: [name, 'output'] }, value: held.value };
  }

  /** A random string of a single character, so its value is known. A change of the salt replaces it. */
  random(name: string, { letter, length, salt }: { letter: string; length: number; salt: KnownValue }): KnownValue {
    const value = letter.repeat(length);
    this.#add(name, {
      type: 'OS::Heat::RandomString',
      properties: { length, character_classes: [], character_sequences: [{ sequence: letter }], salt: salt.hot },
      attributes: { value },
      lasting: stringOf(salt.value),
    });
    return { hot: { get_attr: [name, 'value'] }, value };
  }

  /** A resource of any served type. `read` returns one of its attributes. */
  served(
    name: string,
    { type, properties, attributes }: { type: string; properties: Properties; attributes: JsonObject },
  ) {
    this.#add(name, { type, properties: hotOf(properties), attributes });
    return {
      read: (attribute: string): KnownValue => ({
        hot: { get_attr: [name, attribute] },
        value: attributes[attribute] ?? null,
      }),
    };
  }

  nested(name: string, type: string, properties: Properties): Nested {
    const inner = this.#types.build(type, valueOf(properties));
    this.#add(name, { type, properties: hotOf(properties), inner });
    return {
      read: (output, ...path) => ({
        hot: { get_attr: [name, output ?? '', ...path] },
        value: walk(inner.outputs[output ?? ''], path),
      }),
      id: { hot: { get_resource: name }, value: inner.outputs['OS::stack_id'] ?? null },
    };
  }

  /** A numbered group. `properties` of a member contain its number as a text. */
  group(
    name: string,
    {
      count,
      type,
      properties,
    }: { count: KnownValue; type: string; properties: (index: KnownValue<string>) => Properties },
  ): TreeGroup {
    const definition = hotOf(properties({ hot: '%index%', value: '' }));
    const members = Array.from({ length: Number(count.value) }, (_, index): TreeMember => {
      const inner = this.#types.build(type, valueOf(properties(literalOf(String(index)))));
      return { name: String(index), type, inner };
    });
    return this.#addGroup(name, {
      type: 'OS::Heat::ResourceGroup',
      properties: { count: count.hot, resource_def: { type, properties: definition } },
      members,
    });
  }

  /** One nested stack for each type of a list. */
  chain(name: string, types: KnownValue, properties: Properties): TreeGroup {
    const members = (types.value as string[]).map((type, index): TreeMember => ({
      name: String(index),
      type,
      inner: this.#types.build(type, valueOf(properties)),
    }));
    return this.#addGroup(name, {
      type: 'OS::Heat::ResourceChain',
      properties: { resources: types.hot, concurrent: true, resource_properties: hotOf(properties) },
      members,
      // As in Heat, other properties of the members replace the chain.
      lasting: JSON.stringify(valueOf(properties)),
    });
  }

  /** One deployment for each server of a map. `outputs` are those of a real deployment; a template computes its own. */
  deployments(
    name: string,
    { servers, properties, outputs }: { servers: KnownValue; properties: Properties; outputs: JsonObject },
  ): TreeGroup {
    const type = 'OS::Heat::SoftwareDeployment';
    const members = Object.entries(servers.value as JsonObject).map(([member, server]): TreeMember => {
      const inner = this.#types.has(type) ? this.#types.build(type, { ...valueOf(properties), server }) : undefined;
      return inner ? { name: member, type, inner } : { name: member, type, attributes: outputs };
    });
    return this.#addGroup(name, {
      type: `${type}Group`,
      properties: { servers: servers.hot, ...hotOf(properties) },
      members,
    });
  }

  output(name: string, { hot, value }: KnownValue): void {
    this.#outputs[name] = { value: hot };
    this.expected.outputs[name] = value;
  }

  #addGroup(
    name: string,
    {
      members,
      ...resource
    }: { type: string; properties: JsonObject; members: readonly TreeMember[]; lasting?: string },
  ): TreeGroup {
    const group = new TreeGroup(name, members);
    this.#add(name, { ...resource, inner: group.expected });
    return group;
  }

  #add(
    name: string,
    {
      type,
      properties,
      when,
      lasting = '',
      ...expected
    }: {
      type: string;
      properties: JsonObject;
      when?: KnownCondition;
      lasting?: string;
    } & Partial<ExpectedResource>,
  ): void {
    this.#resources[name] = { type, properties, ...(when && { condition: when.name }) };
    if (when?.holds !== false) this.expected.resources[name] = { ...expected, type, lasting: `${type} ${lasting}` };
  }
}
