/**
 * A template, its environments and files to a plan, or to every mistake in them. Pure, and never throws: what is wrong
 * with the input is in the answer. Time is linear in the size of the input.
 */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanParameter } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { Build } from './build.ts';
import { findCycles } from './cycle.ts';
import { type Environment, type EnvironmentDocument, readEnvironments } from './environment.ts';
import type { Scope } from './evaluate.ts';
import { join, Mistakes } from './mistakes.ts';
import type { Entry } from './node.ts';
import { isObject, toJson, toRecord } from './node.ts';
import { compileOutput } from './output.ts';
import { checkParameterGroups } from './parameter-groups.ts';
import { type ParameterSchema, readParameterSchemas } from './parameter-schema.ts';
import { resolveParameters } from './parameters.ts';
import { fromJson } from './parse.ts';
import { compileResource, isEnabled, readType } from './resource.ts';
import { readTemplate, sectionEntries, sectionNode, type Template } from './template.ts';

export interface CompileParameters {
  readonly template: string | JsonObject;
  /** Merged in order; later ones win. */
  readonly environments?: readonly (string | JsonObject | EnvironmentDocument)[];
  readonly files?: Readonly<Record<string, string>>;
  /** Given for this stack; they win over those of the environments. */
  readonly parameters?: JsonObject;
  readonly stackName: string;
  /** Empty while the stack is not stored. */
  readonly stackId: string;
  readonly projectId: string;
  readonly types: readonly ResourceType[];
  /** Of the plan before, hidden ones opened: immutable parameters are compared with them. */
  readonly previousParameters?: Readonly<Record<string, PlanParameter>>;
  /** Default 1000; -1 is no limit. */
  readonly maxResources?: number;
  /** Names of stored parameters that the template may have lost since (PATCH); they are dropped in silence. */
  readonly droppable?: ReadonlySet<string>;
}

export type Compiled =
  /** `environment` is the merged one, `template` the template as an object. */
  | { readonly plan: Plan; readonly environment: JsonObject; readonly template: JsonObject }
  | { readonly mistakes: Mistake[] };

export function compile(parameters: CompileParameters): Compiled {
  const mistakes = new Mistakes();
  const front = readFront({ ...parameters, mistakes, missingAllowed: false });
  const plan = front && compileBody({ ...parameters, ...front, mistakes });
  if (mistakes.any || !front || !plan) return { mistakes: mistakes.all() };
  const template = toJson(front.read.root) as JsonObject;
  return { plan, environment: front.environment.merged, template };
}

export interface Front {
  readonly read: Template;
  readonly environment: Environment;
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly values: Record<string, PlanParameter>;
}

/** Everything before the resources: sections, environment, parameters. */
export function readFront(
  options: CompileParameters & { mistakes: Mistakes; missingAllowed: boolean },
): Front | undefined {
  const { mistakes } = options;
  const read = readTemplate({ content: options.template, mistakes });
  const environment = withGiven(readEnvironments(documentsOf(options), mistakes), options);
  if (!read) return undefined;
  const pseudo = {
    'OS::stack_name': options.stackName,
    'OS::stack_id': options.stackId,
    'OS::project_id': options.projectId,
  };
  const section = sectionNode(read, 'parameters');
  const schemas = readParameterSchemas({ section, version: read.version, mistakes });
  if (schemas.delete('__proto__')) sectionEntries(read, 'parameters', mistakes);
  const { values } = resolveParameters({
    schemas,
    environment: forget(environment, schemas, options.droppable),
    pseudo,
    previous: options.previousParameters,
    missingAllowed: options.missingAllowed,
    mistakes,
  });
  checkParameterGroups({ section: sectionNode(read, 'parameter_groups'), names: new Set(schemas.keys()), mistakes });
  return { read, environment: forget(environment, schemas, options.droppable), schemas, values };
}

function documentsOf({ environments = [] }: CompileParameters): EnvironmentDocument[] {
  return environments.map((item, index) => {
    const file = environments.length === 1 ? 'environment' : `environment ${index + 1}`;
    if (typeof item === 'string') return { content: item, file };
    return isDocument(item) ? item : { content: item, file };
  });
}
const isDocument = (item: JsonObject | EnvironmentDocument): item is EnvironmentDocument =>
  isObject(item) && Object.keys(item).length === 2 && typeof item['file'] === 'string' && 'content' in item;

/** Parameters given for the stack are stored with the environment, where they win. */
function withGiven(environment: Environment, { parameters }: CompileParameters): Environment {
  const given = fromJson({ value: parameters ?? {}, mistakes: new Mistakes() });
  if (given?.kind !== 'map' || given.entries.size === 0) return environment;
  const merged = new Map<string, Entry>([...environment.parameters, ...given.entries]);
  const before = environment.merged['parameters'];
  const stored = toRecord([...Object.entries((before ?? {}) as JsonObject), ...Object.entries(parameters ?? {})]);
  return { ...environment, parameters: merged, merged: { ...environment.merged, parameters: stored } };
}

function forget(
  environment: Environment,
  schemas: ReadonlyMap<string, unknown>,
  droppable: ReadonlySet<string> = new Set(),
): Environment {
  const lost = (name: string): boolean => droppable.has(name) && !schemas.has(name);
  if (![...environment.parameters.keys()].some(lost)) return environment;
  const stored = (environment.merged['parameters'] ?? {}) as JsonObject;
  return {
    ...environment,
    parameters: new Map([...environment.parameters].filter(([name]) => !lost(name))),
    merged: { ...environment.merged, parameters: toRecord(Object.entries(stored).filter(([name]) => !lost(name))) },
  };
}

export interface Body {
  readonly plan: Plan;
  /** What each condition came to; null where a parameter without a value decides. */
  readonly conditions: JsonObject;
  /** The type of each resource as the template has it, before the registry. */
  readonly writtenTypes: ReadonlyMap<string, string>;
}

export const compileBody = (options: CompileParameters & Front & { mistakes: Mistakes }): Plan | undefined =>
  compileFront(options)?.plan;

/** Conditions, resources and outputs: the plan, and what else is known once it is made. */
export function compileFront(options: CompileParameters & Front & { mistakes: Mistakes }): Body | undefined {
  const { read, environment, schemas, values, mistakes } = options;
  const { version } = read;
  const scope: Scope = {
    templateVersion: version,
    parameter: (name) => (Object.hasOwn(values, name) ? values[name]?.value : undefined),
    reference: () => undefined,
    attribute: () => undefined,
  };
  const conditions = version >= '2016-10-14' ? sectionEntries(read, 'conditions', mistakes) : new Map<string, Entry>();
  const hidden = new Set([...schemas.values()].filter((schema) => schema.hidden).map(({ name }) => name));
  const build = new Build({
    version,
    scope,
    parameters: new Set([...schemas.keys(), 'OS::stack_name', 'OS::stack_id', 'OS::project_id']),
    hidden,
    files: new Map(Object.entries(options.files ?? {})),
    conditions,
    mistakes,
  });
  build.conditions.checkAll();
  const entries = sectionEntries(read, 'resources', mistakes);
  checkNames(entries, options);
  const types = new Map(options.types.map((type) => [type.type, type]));
  const enabled = new Map(
    Array.from(entries, ([name, { value }]) => [name, isEnabled(name, value, { build, version })]),
  );
  const common = { version, mistakes, build, scope, types, environment, hidden };
  const typeOf = new Map<string, ResourceType>();
  for (const [name, entry] of entries) {
    if (!enabled.get(name)) continue;
    const type = types.get(readType(name, entry, common) ?? '');
    if (type) typeOf.set(name, type);
  }
  const context = { ...common, enabled, typeOf };
  const resources = Array.from(entries)
    .filter(([name]) => enabled.get(name))
    .flatMap(([name, entry]) => compileResource(name, entry, context) ?? []);
  refuseCycles(resources, entries, mistakes);
  const outputs = Array.from(sectionEntries(read, 'outputs', mistakes)).flatMap(
    ([name, entry]) => compileOutput(name, entry, context) ?? [],
  );
  if (mistakes.any) return undefined;
  const plan: Plan = {
    format: 1,
    template_version: version,
    description: read.description,
    parameters: values,
    resources: toRecord(resources.map((resource) => [resource.name, resource])),
    outputs: toRecord(outputs.map((output) => [output.name, output])),
  };
  const verdicts = Array.from(conditions.keys(), (name): [string, Json] => {
    const use = { kind: 'scalar', value: name, at: undefined } as const;
    return [name, build.conditions.use(use, `conditions.${name}`) ?? null];
  });
  return { plan, conditions: toRecord(verdicts), writtenTypes: writtenTypes(entries) };
}

function writtenTypes(entries: ReadonlyMap<string, Entry>): Map<string, string> {
  const types = new Map<string, string>();
  for (const [name, { value }] of entries) {
    const type = value.kind === 'map' ? value.entries.get('type')?.value : undefined;
    if (type?.kind === 'scalar' && typeof type.value === 'string') types.set(name, type.value);
  }
  return types;
}

function checkNames(
  entries: ReadonlyMap<string, Entry>,
  { maxResources = 1000, schemas, mistakes }: CompileParameters & Front & { mistakes: Mistakes },
): void {
  if (maxResources >= 0 && entries.size > maxResources) {
    const message = `You have reached the maximum resources per stack, ${maxResources}: the template has ${entries.size}.`;
    mistakes.add({
      code: 'TooManyResources',
      message,
      path: 'resources',
      at: undefined,
      expected: `at most ${maxResources}`,
      found: String(entries.size),
    });
  }
  for (const [name, { at }] of entries) {
    const path = join('resources', name);
    if (name.includes('/'))
      mistakes.add({ code: 'InvalidName', message: `Resource name ${name} may not contain "/"`, path, at });
    if (name === '') mistakes.add({ code: 'InvalidName', message: 'A resource needs a name', path, at });
    if (schemas.has(name)) mistakes.add({ code: 'DuplicateName', message: `Duplicate names {'${name}'}`, path, at });
  }
}

function refuseCycles(
  resources: readonly { name: string; requires: readonly string[] }[],
  entries: ReadonlyMap<string, Entry>,
  mistakes: Mistakes,
): void {
  const requires = new Map(resources.map((resource) => [resource.name, resource.requires]));
  for (const cycle of findCycles(requires)) {
    const [first = ''] = cycle;
    const way = cycle.join(' → ');
    const message = `Circular Dependency Found: ${way}`;
    mistakes.add({ code: 'Cycle', message, path: join('resources', first), at: entries.get(first)?.at, found: way });
  }
}
