/** The `parameters` section: the inputs that a template declares. */
import type { Json } from '@anneal/contracts/json.ts';
import type { PlanSource } from '@anneal/contracts/plan.ts';
import type { Constraint } from '@anneal/contracts/resource-type.ts';
import { compilePattern } from './constraint.ts';
import { join, type Mistakes, nearestName } from '../mistakes.ts';
import { isEmpty } from '../functions/function.ts';
import { isNull, kindOfNode, type MapNode, type YamlNode, toExact, toJson } from '@anneal/python/yaml/node.ts';
import { isFloat } from '@anneal/python/values/number.ts';
import { convertNode, type ParameterType } from './parameter-value.ts';
import { pythonText } from '@anneal/python/values/compare.ts';
import type { Version } from '../syntax/version.ts';
import type { EvaluationWork } from '../evaluate/work.ts';

export type { ParameterType } from './parameter-value.ts';

/** The declaration of a parameter. */
export interface ParameterSchema {
  readonly name: string;
  readonly type: ParameterType;
  readonly label: string | undefined;
  readonly description: string | undefined;
  readonly default: YamlNode | undefined;
  readonly hidden: boolean;
  readonly immutable: boolean;
  readonly tags: Json | undefined;
  readonly constraints: readonly Constraint[];
  readonly at: PlanSource | undefined;
}

const typeNames: Readonly<Record<string, ParameterType>> = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  comma_delimited_list: 'comma_delimited_list',
  json: 'json',
};
/** CloudFormation's names. The first templates of HOT used them, so only the first version accepts them. */
const firstTypeNames: typeof typeNames = {
  ...typeNames,
  String: 'string',
  Number: 'number',
  Boolean: 'boolean',
  CommaDelimitedList: 'comma_delimited_list',
  Json: 'json',
};
const keys = ['type', 'label', 'description', 'default', 'hidden', 'constraints', 'immutable', 'tags', 'schema'];

const fits: Readonly<Record<string, readonly ParameterType[]>> = {
  length: ['string', 'comma_delimited_list', 'json'],
  range: ['number'],
  modulo: ['number'],
  allowed_values: ['string', 'number', 'boolean', 'comma_delimited_list'],
  allowed_pattern: ['string'],
  custom_constraint: ['string', 'number', 'boolean', 'comma_delimited_list'],
};

/** The section to read, and where mistakes go. */
export interface SectionParameters {
  readonly section: YamlNode;
  readonly version: Version;
  readonly mistakes: Mistakes;
  /** Compiling patterns uses this work. */
  readonly work: EvaluationWork;
}

/** @throws OutOfWork */
export function readParameterSchemas({
  section,
  version,
  mistakes,
  work,
}: SectionParameters): Map<string, ParameterSchema> {
  const schemas = new Map<string, ParameterSchema>();
  if (isNull(section)) return schemas;
  if (section.kind !== 'map') {
    const message = `The "parameters" section must be a map, not ${kindOfNode(section)}`;
    mistakes.add({ code: 'WrongType', message, path: 'parameters', at: section.at, expected: 'a map' });
    return schemas;
  }
  for (const [name, entry] of section.entries) {
    schemas.set(name, new SchemaReader({ name, version, mistakes, work, at: entry.at }).read(entry.value));
  }
  return schemas;
}

class SchemaReader {
  readonly #name: string;
  readonly #version: Version;
  readonly #mistakes: Mistakes;
  readonly #at: PlanSource | undefined;
  readonly #work: EvaluationWork;

  constructor(options: {
    name: string;
    version: Version;
    mistakes: Mistakes;
    at: PlanSource | undefined;
    work: EvaluationWork;
  }) {
    this.#name = options.name;
    this.#version = options.version;
    this.#mistakes = options.mistakes;
    this.#at = options.at;
    this.#work = options.work;
  }

  /** Always returns a schema, so that uses of the parameter are not reported too. */
  read(node: YamlNode): ParameterSchema {
    const at = this.#at;
    if (node.kind !== 'map') {
      this.#refuse('WrongType', `Parameter ${this.#name} must be a map, not ${kindOfNode(node)}`, node);
      return { ...this.#empty(), at };
    }
    for (const [key, entry] of node.entries) {
      const known = keys.includes(key) && (key !== 'tags' || this.#version >= '2018-03-02');
      if (known) continue;
      const nearest = nearestName(key, keys);
      this.#refuse('UnknownKey', `Invalid key '${key}' for parameter (${this.#name})`, { at: entry.at }, key, {
        found: key,
        expected: keys.join(', '),
        ...(nearest !== undefined && { nearest }),
      });
    }
    const type = this.#type(node);
    return {
      name: this.#name,
      type,
      label: this.#text(node, 'label'),
      description: this.#text(node, 'description'),
      default: this.#default(node),
      hidden: this.#flag(node, 'hidden'),
      immutable: this.#flag(node, 'immutable'),
      tags: this.#tags(node),
      constraints: this.#constraints(node, type),
      at,
    };
  }

  #empty(): Omit<ParameterSchema, 'at'> {
    const none = undefined;
    const empty = { label: none, description: none, default: none, tags: none, constraints: [] };
    return { name: this.#name, type: 'string', hidden: false, immutable: false, ...empty };
  }

  #refuse(
    code: string,
    message: string,
    { at }: { at: PlanSource | undefined },
    key?: string,
    more: { expected?: string; found?: string; nearest?: string } = {},
  ): void {
    const path = join('parameters', this.#name);
    this.#mistakes.add({ code, message, path: key === undefined ? path : join(path, key), at, ...more });
  }

  #type(node: MapNode): ParameterType {
    const entry = node.entries.get('type');
    const value = entry && toJson(entry.value);
    if (!entry || value === null) {
      this.#refuse('MissingType', `Missing parameter type for parameter: ${this.#name}`, { at: this.#at });
      return 'string';
    }
    const names = this.#version === '2013-05-23' ? firstTypeNames : typeNames;
    if (typeof value === 'string' && Object.hasOwn(names, value)) return names[value] ?? 'string';
    const found = typeof value === 'string' ? value : kindOfNode(entry.value);
    const nearest = nearestName(found, Object.keys(typeNames));
    this.#refuse('UnknownParameterType', `Invalid type (${found})`, entry.value, 'type', {
      found,
      expected: 'string, number, boolean, comma_delimited_list, json',
      ...(nearest !== undefined && { nearest }),
    });
    return typeNames[nearest ?? 'string'] ?? 'string';
  }

  #default(node: MapNode): YamlNode | undefined {
    const entry = node.entries.get('default');
    return entry && !isNull(entry.value) ? entry.value : undefined;
  }

  #text(node: MapNode, key: string): string | undefined {
    const entry = node.entries.get(key);
    // Only people read it, so any value is allowed.
    return entry && !isNull(entry.value) ? pythonText(toExact(entry.value)) : undefined;
  }

  /** Reads a flag as Python's truth of the value. */
  #flag(node: MapNode, key: string): boolean {
    const entry = node.entries.get(key);
    return entry !== undefined && !isEmpty(toJson(entry.value));
  }

  #tags(node: MapNode): Json | undefined {
    const entry = node.entries.get('tags');
    if (!entry || entry.value.kind === 'list') return entry && toJson(entry.value);
    this.#refuse('WrongType', `The tags of parameter ${this.#name} must be a list`, entry.value, 'tags');
    return undefined;
  }

  #constraints(node: MapNode, type: ParameterType): Constraint[] {
    const entry = node.entries.get('constraints');
    if (!entry || isNull(entry.value)) return [];
    if (entry.value.kind !== 'list') {
      const message = `Invalid parameter constraints for parameter ${this.#name}, expected a list`;
      this.#refuse('WrongType', message, entry.value, 'constraints', { expected: 'a list' });
      return [];
    }
    return entry.value.items.flatMap((item, index) => this.#constraint(item, index, type) ?? []);
  }

  #constraint(node: YamlNode, index: number, type: ParameterType): Constraint | undefined {
    const key = `constraints.${index}`;
    const refuse = (message: string, at: { at: PlanSource | undefined } = node): undefined => {
      this.#refuse(
        'InvalidConstraint',
        `Invalid parameter constraints for parameter ${this.#name}: ${message}`,
        at,
        key,
      );
      return undefined;
    };
    if (node.kind !== 'map') return refuse('expected a map');
    const kinds = [...node.entries.keys()].filter((name) => name !== 'description');
    // When there are several, the first in this order counts.
    const kind = ['modulo', 'range', 'length', 'allowed_values', 'allowed_pattern', 'custom_constraint'].find((name) =>
      kinds.includes(name),
    );
    if (kind === undefined && kinds.length === 0) return refuse('No constraint expressed');
    for (const name of kinds) {
      const known = Object.hasOwn(fits, name) && (name !== 'modulo' || this.#version >= '2017-02-24');
      if (!known)
        return refuse(`Invalid key '${name}'; expected one of ${Object.keys(fits).join(', ')}`, node.entries.get(name));
    }
    if (kind === undefined || !fits[kind]?.includes(type)) return refuse(`${kind} constraint invalid for ${type}`);
    const value = node.entries.get(kind)?.value ?? node;
    const rule = readRule(kind, value, this.#work);
    if (typeof rule === 'string') return refuse(rule, value);
    const description = node.entries.get('description')?.value;
    const words = description && !isEmpty(toJson(description)) ? pythonText(toExact(description)) : undefined;
    return words === undefined ? rule : { ...rule, description: words };
  }
}

/** Returns the rule, or the message that says why it is invalid. */
function readRule(kind: string, node: YamlNode, work: EvaluationWork): Constraint | string {
  const value = toJson(node);
  switch (kind) {
    case 'allowed_values':
      return node.kind === 'list' ? { allowed_values: node.items.map(toExact) } : 'allowed_values must be a list';
    case 'allowed_pattern':
      if (typeof value !== 'string') return 'allowed_pattern must be a string';
      try {
        compilePattern(value, work);
        return { allowed_pattern: value };
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        return `allowed_pattern is not a regular expression: ${String(error)}`;
      }
    case 'custom_constraint':
      return typeof value === 'string' ? { custom_constraint: value } : 'custom_constraint must be a string';
    case 'modulo':
      return readModulo(node);
    default:
      return readBounds(kind, node);
  }
}

/** Reads numbers, or texts of numbers. A null counts as absent. */
function numbersOf(node: YamlNode, names: readonly string[]): Map<string, Json> | string {
  if (node.kind !== 'map') return `must be a map with ${names.join(', ')}`;
  const found = new Map<string, Json>();
  for (const [name, { value }] of node.entries) {
    if (!names.includes(name)) return `Invalid key '${name}'; expected ${names.join(', ')}`;
    if (isNull(value)) continue;
    const number = convertNode('number', value);
    if ('problem' in number) return `${name} must be a number`;
    found.set(name, number.value);
  }
  return found;
}

function readBounds(kind: string, node: YamlNode): Constraint | string {
  const numbers = numbersOf(node, ['min', 'max']);
  if (typeof numbers === 'string') return `${kind} ${numbers}`;
  if (numbers.size === 0) return `${kind} constraint must have a min or a max`;
  if (kind === 'length' && [...numbers.values()].some(isFloat)) return 'min/max length must be integral';
  const [min, max] = ['min', 'max'].map((name) => (numbers.has(name) ? Number(numbers.get(name)) : undefined));
  const bounds = { ...(min !== undefined && { min }), ...(max !== undefined && { max }) };
  return kind === 'length' ? { length: bounds } : { range: bounds };
}

function readModulo(node: YamlNode): Constraint | string {
  const numbers = numbersOf(node, ['step', 'offset']);
  if (typeof numbers === 'string') return `modulo ${numbers}`;
  const [step, offset] = ['step', 'offset'].map((name) => (numbers.has(name) ? Number(numbers.get(name)) : undefined));
  if (step === undefined || offset === undefined) return 'modulo must have a step and an offset';
  if (!Number.isInteger(step) || !Number.isInteger(offset)) return 'step/offset must be integer';
  if (step === 0) return 'step cannot be 0';
  if (Math.abs(offset) >= Math.abs(step)) return 'offset must be smaller than step';
  return offset !== 0 && Math.sign(offset) !== Math.sign(step)
    ? 'step and offset must be both positive or both negative'
    : { modulo: { step, offset } };
}
