/** Compiles a template resource as a nested stack: properties become parameters, outputs become attributes. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { PlanResource } from '@anneal/contracts/plan.ts';
import { evaluateParts } from '../evaluate.ts';
import { asEntries } from '../tree/prepare.ts';
import { join, type Mistakes } from '../mistakes.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import { resolveParameters } from '../environment/resolve-parameters.ts';
import { resolveProperties } from '../resources/properties.ts';
import { pseudoParameters } from '../parameters/pseudo.ts';
import type { Found } from '../environment/registry.ts';
import type { NestedScope } from '../tree/stack-scope.ts';
import type { Body, CompileInput } from '../tree/tree.ts';
import { type PartialValue, unknown } from '../evaluate/unknown.ts';
import { walk } from '../evaluate/attribute-path.ts';
import { type Child, childIdentity } from './child.ts';
import { readInside } from './inside.ts';
import type { NestedTemplate } from '../tree/library.ts';
import { passProperties } from './pass.ts';

interface TemplateResource {
  readonly resource: PlanResource;
  readonly template: NestedTemplate;
  readonly found: Extract<Found, { kind: 'template' }>;
  readonly stack: CompileInput;
  readonly inner: Mistakes;
}

/** Returns undefined after a mistake in the given properties. Mistakes in the template itself go to `inner`. */
export function templateChild({ resource, template, found, stack, inner }: TemplateResource): Child | undefined {
  const { environment } = stack;
  const { read, schemas, file } = template;
  for (const { line, column, file: at, ...mistake } of template.mistakes) {
    const isPlaced = line !== undefined && column !== undefined;
    inner.add({ ...mistake, at: isPlaced ? { line, column, ...(at !== undefined && { file: at }) } : undefined });
  }
  const passed = template.mistakes.length > 0 ? undefined : parametersOf(resource, template, stack);
  // Defaults in place of invalid properties would give a different stack.
  if (!passed && template.mistakes.length === 0) return undefined;
  const { parameters = {}, open = [] } = passed ?? {};
  const registry = environment.registry.inside(resource.name, found.mapping);
  const inside = { ...environment, registry, parameters: asEntries(parameters) };
  const identity = childIdentity(stack, resource.name);
  const { values } = resolveParameters({
    schemas,
    environment: inside,
    pseudo: pseudoParameters(read.dialect, identity),
    previous: undefined,
    // A value that is unknown is not missing, and a missing property is already reported.
    missingAllowed: true,
    now: stack.scope.now,
    mistakes: inner,
    work: stack.tree.work,
  });
  // A value that is given but unknown must not read as the default.
  for (const name of open) delete values[name];
  return {
    file,
    read,
    schemas,
    parameters,
    values,
    environment: inside,
    identity,
    report: (mistakes) => mistakes,
    show: outputsOf,
  };
}

interface Given {
  readonly parameters: JsonObject;
  /** Names of parameters whose values are unknown. */
  readonly open: readonly string[];
}

/** Converts the known properties. Compiling the resource has already reported their mistakes. */
function parametersOf(resource: PlanResource, { type }: NestedTemplate, stack: CompileInput): Given | undefined {
  const { mistakes, scope } = stack;
  const { properties, mistakes: wrong, unknown: open } = resolveProperties({ resource, type, scope, isTemplate: true });
  const base = `resources.${resource.name}.properties`;
  const isHidden = [...stack.schemas.values()].some(({ hidden }) => hidden);
  if (wrong.length > 0) {
    // These mistakes depend on values from nested stacks compiled earlier, so they are new.
    if (!mistakes.any) for (const { steps: _, ...mistake } of wrong) mistakes.add({ ...mistake, at: resource.source });
    return undefined;
  }
  const given = toRecord(Object.entries(properties).filter(([name]) => Object.hasOwn(resource.properties, name)));
  const passed = passProperties(given, type);
  if ('parameters' in passed) return { parameters: passed.parameters, open };
  const path = join(base, passed.property);
  const problem = isHidden ? 'its value cannot be passed to the nested stack' : passed.problem;
  const message = `Property error: ${path}: ${problem}`;
  mistakes.add({ code: 'WrongPropertyType', message, path, at: resource.source });
  return undefined;
}

/** Evaluates each output once, however often it is read. */
function outputsOf(body: Body): NestedScope {
  const known = new Map<string, PartialValue>();
  const output = (name: string): PartialValue => {
    const value = known.get(name) ?? readOutput(body, name);
    known.set(name, value);
    return value;
  };
  return {
    reference: () => output('OS::stack_id'),
    read(attribute, path) {
      const inner = readInside(attribute, (name) => Object.hasOwn(body.plan.resources, name));
      if (inner === undefined) return walk(output(attribute), path);
      const [first, ...rest] = [...inner.path, ...path];
      if (first === undefined) return body.scope.reference(inner.resource) ?? unknown;
      return typeof first === 'string' ? body.scope.readInside(inner.resource, first, rest) : null;
    },
  };
}

function readOutput({ plan, scope }: Body, name: string): PartialValue {
  const output = Object.hasOwn(plan.outputs, name) ? plan.outputs[name] : undefined;
  if (!output) return null;
  try {
    return evaluateParts(output.value, scope, `outputs.${name}.value`);
  } catch (error) {
    // Compiling the nested stack itself reports the mistake.
    if (error instanceof AnnealError) return unknown;
    throw error;
  }
}
