/**
 * Rewrites a template in CloudFormation's form, as Heat reads it, to HOT's names: sections, keys and the functions that
 * both have. Functions that only CloudFormation has (`Fn::Select`, `Fn::FindInMap` …) keep their names.
 */
import type { PlanSource } from '@anneal/contracts/plan.ts';
import { type Mistakes, nearestName } from '../mistakes.ts';
import { type MappingEntry, isNull, kindOfNode, type MapNode, type YamlNode } from '@anneal/python/yaml/node.ts';
import { parametersOf } from './parameters.ts';

/** The supported version of each format, by the key that names it. */
export const cfnVersions: Readonly<Record<string, string>> = {
  AWSTemplateFormatVersion: '2010-09-09',
  HeatTemplateFormatVersion: '2012-12-12',
};

const sections: Readonly<Record<string, string>> = {
  Description: 'description',
  ParameterGroups: 'parameter_groups',
  Parameters: 'parameters',
  Mappings: 'mappings',
  Conditions: 'conditions',
  Resources: 'resources',
  Outputs: 'outputs',
};
const resourceKeys: Readonly<Record<string, string>> = {
  Type: 'type',
  Properties: 'properties',
  Metadata: 'metadata',
  DependsOn: 'depends_on',
  DeletionPolicy: 'deletion_policy',
  UpdatePolicy: 'update_policy',
  Description: 'description',
  Condition: 'condition',
};
const outputKeys: Readonly<Record<string, string>> = {
  Value: 'value',
  Description: 'description',
  Condition: 'condition',
};
/** Functions that are calls only inside a condition. */
const conditionFunctions: Readonly<Record<string, string>> = {
  'Fn::Equals': 'equals',
  'Fn::Not': 'not',
  'Fn::And': 'and',
  'Fn::Or': 'or',
};

/** A CloudFormation template under HOT's section names. */
export interface Normalised {
  readonly root: MapNode;
  /** The maps that are calls. Any other map is data, even when its key is the name of a HOT function. */
  readonly calls: ReadonlySet<YamlNode>;
}

/** Rewrites sections and functions. Mistakes are added, and the rest is still rewritten. */
export function normaliseCfn(root: MapNode, format: string, mistakes: Mistakes): Normalised {
  const hasConditions = format === 'AWSTemplateFormatVersion';
  const resources = root.entries.get('Resources')?.value;
  const names = new Set(resources?.kind === 'map' ? resources.entries.keys() : []);
  const reader = new Reader({ names, hasConditions, mistakes });
  const entries = new Map<string, MappingEntry>();
  for (const [name, entry] of root.entries) {
    if (Object.hasOwn(cfnVersions, name)) continue;
    const known = Object.hasOwn(sections, name) && (name !== 'Conditions' || hasConditions);
    if (!known) {
      const expected = Object.keys(sections).join(', ');
      const nearest = nearestName(name, Object.keys(sections));
      const message = `The template section is invalid: ${name}`;
      mistakes.add({ code: 'UnknownSection', message, path: name, at: entry.at, expected, found: name, nearest });
      continue;
    }
    if (name === 'Conditions' && isNull(entry.value)) {
      const message = 'Conditions validation error: Condition definitions must be a map';
      mistakes.add({ code: 'WrongType', message, path: name, at: entry.at, expected: 'a map' });
    }
    entries.set(sections[name] ?? name, { at: entry.at, value: reader.section(name, entry.value) });
  }
  return { root: { kind: 'map', entries, at: root.at }, calls: reader.calls };
}

class Reader {
  readonly calls = new Set<YamlNode>();
  readonly #names: ReadonlySet<string>;
  readonly #hasConditions: boolean;
  readonly #mistakes: Mistakes;

  constructor(options: { names: ReadonlySet<string>; hasConditions: boolean; mistakes: Mistakes }) {
    this.#names = options.names;
    this.#hasConditions = options.hasConditions;
    this.#mistakes = options.mistakes;
  }

  section(name: string, node: YamlNode): YamlNode {
    if (node.kind !== 'map') return node;
    if (name === 'Parameters') return each(node, (value, key) => parametersOf(value, key, this.#mistakes));
    if (name === 'Conditions') return each(node, (value) => this.#value(value, true));
    if (name === 'Resources') return each(node, (value) => this.#keys(value, resourceKeys));
    if (name === 'Outputs') return each(node, (value) => this.#keys(value, outputKeys));
    return node;
  }

  #keys(node: YamlNode, keys: Readonly<Record<string, string>>): YamlNode {
    if (node.kind !== 'map') return node;
    const entries = new Map<string, MappingEntry>();
    for (const [key, { at, value }] of node.entries) {
      const known = Object.hasOwn(keys, key) && (key !== 'Condition' || this.#hasConditions);
      // Ignore keys that Anneal does not read.
      if (!known) continue;
      if (key === 'Properties' && isNull(value))
        this.#mistakes.add({ code: 'WrongType', message: 'Properties type must be object', path: 'Resources', at });
      const isPlain = key === 'Type' || key === 'DependsOn' || key === 'Description';
      entries.set(keys[key] ?? key, { at, value: isPlain ? value : this.#value(value, key === 'Condition') });
    }
    return { kind: 'map', entries, at: node.at };
  }

  #value(node: YamlNode, inCondition = false): YamlNode {
    if (node.kind === 'scalar') return node;
    if (node.kind === 'list') return { ...node, items: node.items.map((item) => this.#value(item, inCondition)) };
    const [first] = node.entries.size === 1 ? node.entries : [];
    if (!first) return each(node, (value) => this.#value(value));
    const [name, { at, value }] = first;
    if (name === 'Ref') return this.#single(this.#reference(value), value, at, node.at);
    if (name === 'Fn::GetAtt') return this.#attribute(value, at, node);
    if (name === 'Fn::If' && this.#hasConditions) return this.#single('if', this.#choice(value), at, node.at);
    if (inCondition && this.#hasConditions && Object.hasOwn(conditionFunctions, name)) {
      const argument = this.#value(value, true);
      const operand = name === 'Fn::Not' ? this.#only(argument) : argument;
      return this.#single(conditionFunctions[name] ?? name, operand, at, node.at);
    }
    const isCall = name.startsWith('Fn::') && !Object.hasOwn(conditionFunctions, name) && name !== 'Fn::If';
    return isCall
      ? this.#single(name, this.#value(value), at, node.at)
      : each(node, (inner) => this.#value(inner, inCondition));
  }

  #choice(node: YamlNode): YamlNode {
    if (node.kind !== 'list') return this.#value(node);
    return { ...node, items: node.items.map((item, index) => this.#value(item, index === 0)) };
  }

  #single(name: string, value: YamlNode, at: PlanSource | undefined, around: PlanSource | undefined): MapNode {
    const call: MapNode = { kind: 'map', entries: new Map([[name, { at, value }]]), at: around };
    this.calls.add(call);
    return call;
  }

  #only(node: YamlNode): YamlNode {
    if (node.kind === 'list' && node.items.length === 1 && node.items[0]) return node.items[0];
    const message = 'Arguments to "Fn::Not" must be of the form: [condition]';
    this.#mistakes.add({ code: 'InvalidArguments', message, path: 'Fn::Not', at: node.at });
    return node;
  }

  /** Resolves a reference: to a resource if one has the name, else to a parameter. */
  #reference(node: YamlNode): string {
    if (node.kind === 'list') {
      const message = 'The argument to "Ref" must be a name, not a list';
      this.#mistakes.add({ code: 'InvalidArguments', message, path: 'Ref', at: node.at });
    }
    const isResource = node.kind === 'scalar' && typeof node.value === 'string' && this.#names.has(node.value);
    return isResource ? 'get_resource' : 'get_param';
  }

  #attribute(argument: YamlNode, at: PlanSource | undefined, node: MapNode): YamlNode {
    const built = this.#value(argument);
    if (built.kind !== 'list' || built.items.length !== 2) {
      const message = 'Arguments to "Fn::GetAtt" must be of the form [resource_name, attribute]';
      const found = built.kind === 'list' ? `${built.items.length} items` : kindOfNode(built);
      this.#mistakes.add({ code: 'InvalidArguments', message, path: 'Fn::GetAtt', at: argument.at ?? at, found });
    }
    return this.#single('get_attr', built, at, node.at);
  }
}

function each(node: MapNode, change: (value: YamlNode, key: string) => YamlNode): MapNode {
  const entries = Array.from(node.entries, ([key, { at, value }]): [string, MappingEntry] => [
    key,
    { at, value: isNull(value) ? value : change(value, key) },
  ]);
  return { kind: 'map', entries: new Map(entries), at: node.at };
}
