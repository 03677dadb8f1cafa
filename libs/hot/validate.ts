/** The answer of Heat's validate: the parameters that a template declares. Parameters may lack values. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanParameter } from '@anneal/contracts/plan.ts';
import { compileBody } from './compile.ts';
import type { CompileParameters } from './tree/compile-parameters.ts';
import type { Body } from './tree/tree.ts';
import { readFront } from './tree/prepare.ts';
import { Mistakes } from './mistakes.ts';
import { withTextKeys } from '@anneal/python/values/exact.ts';
import { isPlainObject, isNull, toExact, toJson, toRecord } from '@anneal/python/yaml/node.ts';
import type { ParameterSchema, ParameterType } from './parameters/parameter-schema.ts';
import { sectionNode } from './syntax/template.ts';
import { withinWork, EvaluationWork } from './evaluate/work.ts';

/** The parameters in the form of Heat, or the mistakes. `showNested` adds the parameters of the nested stacks. */
export function validate({
  limits,
  work = new EvaluationWork(limits),
  showNested = false,
  ...options
}: CompileParameters & { readonly showNested?: boolean }):
  | { readonly answer: JsonObject; readonly warnings: Mistake[]; readonly plan: Plan }
  | { readonly mistakes: Mistake[] } {
  const parameters = { ...options, work };
  const mistakes = new Mistakes();
  const compiled = withinWork(mistakes, () => {
    const read = readFront({ ...parameters, mistakes, missingAllowed: true });
    return read && { front: read, body: compileBody({ ...parameters, front: read, mistakes }) };
  });
  if (mistakes.any || !compiled?.body) return { mistakes: mistakes.all() };
  const { front, body } = compiled;
  const groups = sectionNode(front.read, 'parameter_groups');
  const described = Array.from(front.schemas.values(), (schema): [string, Json] => {
    // Heat shows a value that the user gave, not one that is only a default.
    const isGiven = front.environment.parameters.has(schema.name) && Object.hasOwn(front.values, schema.name);
    return [schema.name, describeParameter(schema, isGiven ? front.values[schema.name] : undefined)];
  });
  return {
    answer: {
      Description: front.read.description,
      Parameters: toRecord(described),
      ...(!isNull(groups) && { ParameterGroups: toJson(groups) }),
      ...(showNested && describeNested(body)),
      Environment: withTextKeys(
        withTemplates(withEverySection(maskHidden(front.environment.merged, front.schemas)), body),
      ),
    },
    warnings: mistakes.warnings(),
    plan: body.plan,
  };
}

/** The nested stacks by resource, with the values that the resources pass to them, as far as they are known. */
function describeNested({ nested, writtenTypes }: Body): JsonObject {
  if (nested.size === 0) return {};
  const described = Array.from(nested, ([name, { file, parameters: passed, body }]): [string, Json] => {
    const parameters = Array.from(body.schemas.values(), (schema): [string, Json] => [
      schema.name,
      describeParameter(schema, Object.hasOwn(passed, schema.name) ? body.plan.parameters[schema.name] : undefined),
    ]);
    const part = {
      Type: writtenTypes.get(name) ?? file,
      Description: body.plan.description,
      Parameters: toRecord(parameters),
      ...describeNested(body),
    };
    return [name, part];
  });
  return { NestedParameters: toRecord(described) };
}

const names: Record<ParameterType, string> = {
  string: 'String',
  number: 'Number',
  boolean: 'Boolean',
  comma_delimited_list: 'CommaDelimitedList',
  json: 'Json',
};

function describeParameter(schema: ParameterSchema, value: PlanParameter | undefined): JsonObject {
  const { name, type, description, hidden, label, tags } = schema;
  const hide = (item: Json): Json => (hidden ? '******' : item);
  return {
    Type: names[type],
    Description: description ?? '',
    NoEcho: String(hidden),
    Label: label ?? name,
    ...(schema.default && { Default: hide(withTextKeys(toExact(schema.default))) }),
    ...(value && { Value: hide(value.value) }),
    ...(tags !== undefined && { Tags: tags }),
    ...describeConstraints(schema),
  };
}

function describeConstraints({ constraints }: ParameterSchema): JsonObject {
  const found: JsonObject = {};
  const set = (key: string, value: Json | undefined): void => {
    if (value !== undefined) found[key] = value;
  };
  for (const constraint of constraints) {
    set('MinLength', constraint.length?.min);
    set('MaxLength', constraint.length?.max);
    set('MinValue', constraint.range?.min);
    set('MaxValue', constraint.range?.max);
    set('Step', constraint.modulo?.step);
    set('Offset', constraint.modulo?.offset);
    set('AllowedValues', constraint.allowed_values);
    set('AllowedPattern', constraint.allowed_pattern);
    set('CustomConstraint', constraint.custom_constraint);
    set('ConstraintDescription', constraint.description);
  }
  return found;
}

/** Heat shows the main sections of an environment also when they are empty. */
function withEverySection(environment: JsonObject): JsonObject {
  const { resource_registry: registry } = environment;
  return {
    parameters: {},
    parameter_defaults: {},
    event_sinks: [],
    ...environment,
    resource_registry: { resources: {}, ...(isPlainObject(registry) && registry) },
  };
}

/** Heat enters each template that the root stack names as a type into the registry. */
function withTemplates(environment: JsonObject, { nested, writtenTypes }: Body): JsonObject {
  const files = Array.from(nested, ([name, { file }]) => [writtenTypes.get(name), file] as const);
  const named = files.filter(([written, file]) => written === file);
  const { resource_registry: registry } = environment;
  return { ...environment, resource_registry: { ...Object.fromEntries(named), ...(registry as JsonObject) } };
}

/** Replaces the values of hidden parameters in an environment. */
export function replaceHidden(
  environment: JsonObject,
  isHidden: (name: string) => boolean,
  replace: (value: Json) => Json,
): JsonObject {
  return toRecord(
    Object.entries(environment).map(([section, content]): [string, Json] => {
      const holds = section === 'parameters' || section === 'parameter_defaults';
      if (!holds || !isPlainObject(content)) return [section, content];
      return [
        section,
        toRecord(Object.entries(content).map(([name, value]) => [name, isHidden(name) ? replace(value) : value])),
      ];
    }),
  );
}

const maskHidden = (environment: JsonObject, schemas: ReadonlyMap<string, ParameterSchema>): JsonObject =>
  replaceHidden(
    environment,
    (name) => schemas.get(name)?.hidden === true,
    () => '******',
  );
