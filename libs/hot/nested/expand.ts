/** Compiles the nested stacks of a stack, in the order of its dependencies, so that outputs of one can be read by the next. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, PlanResource } from '@anneal/contracts/plan.ts';
import { evaluateParts } from '../evaluate.ts';
import { asEntries } from '../front.ts';
import { join, Mistakes } from '../mistakes.ts';
import { toRecord } from '../node.ts';
import { levelsOf } from '../order.ts';
import { resolveParameters } from '../parameters.ts';
import { resolveProperties } from '../properties.ts';
import { pseudoParameters } from '../pseudo.ts';
import { StackScope } from '../stack-scope.ts';
import type { Body, NestedStack, ResolvedTypes, StackInput } from '../tree.ts';
import { type Partial, settled, unknown } from '../unknown.ts';
import type { NestedTemplate } from './library.ts';
import { passProperties } from './pass.ts';

/** As Heat: the root, and five levels below it. */
const deepest = 5;

interface Expansion extends ResolvedTypes {
  readonly resources: readonly PlanResource[];
  readonly stack: StackInput;
  readonly compile: (input: StackInput) => Body | undefined;
}

export function expandNested(expansion: Expansion): Map<string, NestedStack> {
  const { resources, templateOf } = expansion;
  const nested = new Map<string, NestedStack>();
  if (templateOf.size === 0) return nested;
  const byName = new Map(resources.map((resource) => [resource.name, resource]));
  for (const name of levelsOf(resources).flat()) {
    const resource = byName.get(name);
    const template = templateOf.get(name);
    const child = resource && template && expand(resource, template, expansion);
    if (child) nested.set(name, child);
  }
  return nested;
}

function expand(resource: PlanResource, template: NestedTemplate, expansion: Expansion): NestedStack | undefined {
  const { stack, foundOf, compile } = expansion;
  const { tree, depth, scope, environment, mistakes, identity } = stack;
  const { name } = resource;
  const path = `resources.${name}`;
  const found = foundOf.get(name);
  if (found?.kind !== 'template') return undefined;
  if (depth >= deepest) {
    const message = `RequestLimitExceeded: ${path}<${template.file}>: Request limit exceeded: Recursion depth exceeds ${deepest}.`;
    mistakes.add({ code: 'TooDeep', message, path, at: resource.source });
    return undefined;
  }
  // The limit on the tree has been reported; what stands for billions is not worked through.
  if (tree.maxResources >= 0 && tree.count.resources > tree.maxResources) return undefined;
  const inner = new Mistakes();
  for (const mistake of template.mistakes) addTo(inner, mistake);
  const parameters = template.mistakes.length > 0 ? {} : parametersOf(resource, template, stack);
  const registry = environment.registry.inside(name, found.mapping);
  const childEnvironment = { ...environment, registry, parameters: asEntries(parameters ?? {}) };
  const childIdentity = { stackName: `${identity.stackName}-${name}`, stackId: '', projectId: identity.projectId };
  const { values } = resolveParameters({
    schemas: template.schemas,
    environment: childEnvironment,
    pseudo: pseudoParameters(template.read.dialect, childIdentity),
    previous: undefined,
    // What is not known yet is not missing; that a property is missing has been said.
    missingAllowed: true,
    mistakes: inner,
  });
  const childScope = new StackScope({
    version: template.read.version,
    values,
    given: scope.givenInside(name),
    facade: {
      metadata: partOf(resource.metadata, scope),
      deletion_policy: resource.deletion_policy ?? 'Delete',
      update_policy: partOf(resource.update_policy, scope),
    },
  });
  const body = inner.any
    ? undefined
    : compile({
        read: template.read,
        schemas: template.schemas,
        values,
        environment: childEnvironment,
        identity: childIdentity,
        scope: childScope,
        tree,
        depth: depth + 1,
        mistakes: inner,
      });
  for (const mistake of inner.all()) addTo(mistakes, inside(mistake, name, template.file));
  if (!body) return undefined;
  const read = new Map<string, Partial>();
  const output = (key: string): Partial => {
    const value = read.get(key) ?? readOutput(body, key);
    read.set(key, value);
    return value;
  };
  scope.addNested(name, { scope: childScope, output });
  return { file: template.file, parameters: parameters ?? {}, body };
}

/** Of the properties that are known; what is wrong with them has been said when the resource was compiled. */
function parametersOf(resource: PlanResource, { type }: NestedTemplate, stack: StackInput): JsonObject | undefined {
  const { mistakes, scope } = stack;
  const { properties, mistakes: wrong } = resolveProperties({ resource, type, scope, isTemplate: true });
  const base = `resources.${resource.name}.properties`;
  const hidden = new Set([...stack.schemas.values()].filter((schema) => schema.hidden).map(({ name }) => name));
  if (wrong.length > 0) {
    // Values that only the nested stacks before it have shown.
    if (!mistakes.any) for (const { steps: _, ...mistake } of wrong) addTo(mistakes, mistake, resource);
    return undefined;
  }
  const given = toRecord(Object.entries(properties).filter(([name]) => Object.hasOwn(resource.properties, name)));
  const passed = passProperties(given, type);
  if ('parameters' in passed) return passed.parameters;
  const path = join(base, passed.property);
  const problem = hidden.size > 0 ? 'its value cannot be passed to the nested stack' : passed.problem;
  const message = `Property error: ${path}: ${problem}`;
  mistakes.add({ code: 'WrongPropertyType', message, path, at: resource.source });
  return undefined;
}

/** Nothing written reads as an empty map; what is not known yet stays open. */
function partOf(expression: Expression | undefined, scope: StackScope): Json | undefined {
  if (!expression) return {};
  const value = settled(evaluateParts(expression, scope));
  return value === unknown ? undefined : value;
}

function readOutput({ plan, scope }: Body, name: string): Partial {
  const output = Object.hasOwn(plan.outputs, name) ? plan.outputs[name] : undefined;
  if (!output) return null;
  try {
    return evaluateParts(output.value, scope, `outputs.${name}.value`);
  } catch {
    // It is said when the nested stack itself is worked out.
    return unknown;
  }
}

function inside(mistake: Mistake, name: string, file: string): Mistake {
  const place = `resources.${name}<${file}>`;
  return { ...mistake, message: `${place}: ${mistake.message}`, path: join(place, mistake.path) };
}

function addTo(mistakes: Mistakes, { line, column, file, ...mistake }: Mistake, resource?: PlanResource): void {
  const at = line === undefined || column === undefined ? resource?.source : { line, column, ...(file && { file }) };
  mistakes.add({ ...mistake, at });
}
