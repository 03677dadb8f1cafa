/**
 * Compiles one nested stack just before the engine creates it: the properties of its resource are known. Stacks nested
 * in it are compiled later, one by one. Its environment is that of the stack around it, restricted to what applies
 * inside.
 */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, PlanNested, PlanParameter, PlanRolling } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { type CompileResult, hasDefaults } from './compile.ts';
import { type Environment, readEnvironments } from './environment/environment.ts';
import { asEntries } from './tree/prepare.ts';
import { openExpression } from './expressions/build.ts';
import { withMemberCalls } from './groups/calls.ts';
import { groupKind } from './groups/kind.ts';
import { openName } from './groups/open.ts';
import { scaledResource, scaledResourceTarget } from './groups/scaling.ts';
import { defaultDepth, tooDeep } from './limits.ts';
import { join, listed, Mistakes, nearestName } from './mistakes.ts';
import { isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import type { TypeRegistry } from './environment/registry.ts';
import { templateJson } from './syntax/template.ts';
import type { ParameterSchema } from './parameters/parameter-schema.ts';
import { resolveParameters } from './environment/resolve-parameters.ts';
import { resolveProperties } from './resources/properties.ts';
import { pseudoParameters } from './parameters/pseudo.ts';
import { compileStack } from './compile/stack.ts';
import { type FacadeParts, StackScope } from './tree/stack-scope.ts';
import { nestedKind } from './nested/describe.ts';
import { stackTypeOf } from './types/stack-types.ts';
import { foldFacade } from './nested/fold-facade.ts';
import { type NestedTemplate, readNested, type TemplateLibrary } from './tree/library.ts';
import { passProperties } from './nested/pass.ts';
import { UsedSources } from './tree/sources.ts';
import { withinWork, EvaluationWork } from './evaluate/work.ts';

/** Only for a group: the template of its members, that template's parameters, and its rolling update. */
interface Members {
  readonly template: JsonObject;
  readonly parameters: JsonObject;
  readonly rolling: PlanRolling | undefined;
}

/** A nested stack at run time, and the files and limits of its parent. */
export interface CompileNested {
  /** Environment of the stack around it, decrypted. */
  readonly environment: JsonObject;
  readonly library: TemplateLibrary;
  readonly files: Readonly<Record<string, string>>;
  readonly types: readonly ResourceType[];
  readonly resource: string;
  /** The type as written in the template around it. */
  readonly type: string;
  /** Undefined: the type decides. */
  readonly kind?: PlanNested['kind'] | undefined;
  readonly members?: Members | undefined;
  /** Decrypted. */
  readonly properties: JsonObject;
  /** Parameters of its current plan, decrypted; undefined when the stack is new. */
  readonly previousParameters?: Readonly<Record<string, PlanParameter>> | undefined;
  /** Only in a preview: parameters without a value yet. Values that depend on them stay open. */
  readonly unknown?: ReadonlySet<string> | undefined;
  /** Properties that hold a secret, which stays hidden inside the nested stack. */
  readonly hidden: ReadonlySet<string>;
  /** Parameter defaults that a stack around it hides. A parameter that takes such a value is hidden too. */
  readonly hiddenDefaults?: ReadonlySet<string> | undefined;
  readonly facade: FacadeParts;
  /** Parts of the facade that hold a secret. */
  readonly hiddenFacade: ReadonlySet<string>;
  readonly stackName: string;
  readonly stackId: string;
  readonly projectId: string;
  readonly depth: number;
  /** Limit of the whole tree; -1 is no limit. */
  readonly maxResources: number;
  /** Default 5. */
  readonly maxDepth?: number | undefined;
  readonly resourcesOutside: number;
  /** Work that compiling may use. */
  readonly work?: EvaluationWork;
}

interface Source {
  readonly template: NestedTemplate;
  readonly parameters: JsonObject;
  readonly environment: Environment;
  readonly hidden: ReadonlySet<string>;
}

type WithWork = CompileNested & { readonly work: EvaluationWork; readonly used: UsedSources };

/** Compiles one nested stack at run time, when its inputs are known. */
export function compileNested(given: CompileNested): CompileResult {
  const mistakes = new Mistakes();
  const options = { ...given, work: given.work ?? new EvaluationWork(), used: new UsedSources() };
  return withinWork(mistakes, () => compileWithin(options, mistakes)) ?? { mistakes: mistakes.all() };
}

function compileWithin(options: WithWork, mistakes: Mistakes): CompileResult {
  const { library, stackName, stackId, projectId, depth, maxDepth = defaultDepth, facade, used } = options;
  const source = depth > maxDepth ? refuseDepth(options.resource, maxDepth, mistakes) : sourceOf(options, mistakes);
  if (!source || mistakes.any) return { mistakes: mistakes.all() };
  const { template, parameters } = source;
  const { read } = template;
  const identity = { stackName, stackId, projectId };
  const environment = insideOf(source);
  const { hiddenDefaults = new Set<string>() } = options;
  const defaulted = [...hiddenDefaults].filter((name) => !Object.hasOwn(parameters, name));
  const schemas = hide(template.schemas, new Set([...source.hidden, ...defaulted]));
  const { unknown: open = new Set<string>() } = options;
  // The value of its resource hides a default, but for a null.
  for (const name of schemas.keys()) if ((parameters[name] ?? null) === null) used.preset(name);
  const { values } = resolveParameters({
    schemas,
    environment,
    pseudo: pseudoParameters(read.dialect, identity),
    previous: options.previousParameters,
    missingAllowed: open.size > 0,
    mistakes,
    work: options.work,
  });
  // A value that is given but unknown must not read as the default.
  for (const name of open) delete values[name];
  if (mistakes.any) return { mistakes: mistakes.all() };
  const types = new Map(options.types.map((type) => [type.type, type]));
  const body = compileStack({
    read,
    schemas,
    // Members of a group may read the name of an open value, which has no value.
    values: { ...values, ...(open.has(openName) && { [openName]: { type: 'json', value: null, hidden: false } }) },
    environment,
    mistakes,
    identity,
    scope: new StackScope({ version: read.version, declared: schemas, values, facade, work: options.work }),
    depth,
    tree: {
      library,
      nestedStacks: 'described',
      maxResources: options.maxResources,
      maxDepth,
      files: library.files,
      types,
      work: options.work,
      used,
      count: { resources: options.resourcesOutside },
    },
  });
  if (mistakes.any || !body) return { mistakes: mistakes.all() };
  const { [openName]: _, ...given } = body.plan.parameters;
  const passed = Object.keys(parameters).filter((name) => (parameters[name] ?? null) !== null);
  return {
    warnings: mistakes.warnings(),
    plan: {
      ...foldFacade({ ...body.plan, parameters: given }, facade, options.hiddenFacade),
      used: used.names(),
      passed,
      ...(options.members?.rolling && { rolling: options.members.rolling }),
    },
    template: templateJson(read),
    hiddenInside: hasDefaults(environment)
      ? new Set([...library.hiddenParameters(options.work), ...hiddenDefaults])
      : new Set(),
    environment: storedOf(environment),
  };
}

/** The environment of a stack, read once for all stacks nested in it. */
const readAround = new WeakMap<JsonObject, Environment>();

function around({ environment: stored, library, work }: WithWork, mistakes: Mistakes): Environment {
  const known = readAround.get(stored);
  if (known) return known;
  const { parameters: _, ...content } = stored;
  const [wrong, warnings] = [mistakes.count, mistakes.warnings().length];
  const environment = readEnvironments([{ content, file: 'environment' }], {
    mistakes,
    parameterType: (name) => library.parameterType(name, work),
  });
  if (mistakes.count === wrong && mistakes.warnings().length === warnings) readAround.set(stored, environment);
  return environment;
}

/** Environments as they are stored. All stacks with one registry share the object, so that it is written once. */
const storedBy = new WeakMap<TypeRegistry, JsonObject>();

/** Without the parameters, which the plan has. */
function storedOf({ merged, registry }: Environment): JsonObject {
  const known = storedBy.get(registry);
  if (known) return known;
  const { parameters: _, resource_registry: __, ...rest } = merged;
  const written = registry.toJson();
  const stored = { ...rest, ...(Object.keys(written).length > 0 && { resource_registry: written }) };
  storedBy.set(registry, stored);
  return stored;
}

function sourceOf(options: WithWork, mistakes: Mistakes): Source | undefined {
  const { library, resource, type, properties, files } = options;
  const environment = around(options, mistakes);
  const inside = { ...environment, registry: environment.registry.inside(resource, undefined) };
  if (options.members) {
    const { registry } = inside;
    const { template, parameters } = options.members;
    const isInstances = groupKind(type) === 'instances';
    const nested = readNested(template, options.work);
    // The template of the first member may read anything.
    if (!hasMembers(template)) options.used.everything();
    const named = new Set([...Object.keys(parameters), ...(options.unknown?.has(openName) ? [openName] : [])]);
    return {
      template: { ...nested, read: withMemberCalls(nested.read, named) },
      parameters,
      environment: {
        ...inside,
        registry: isInstances ? registry.withAlias(scaledResource, scaledResourceTarget) : registry,
      },
      hidden: new Set(),
    };
  }
  if ((options.kind ?? nestedKind(type, false)) === 'stack') {
    const stack = stackTypeOf(type);
    const named = stack && properties[stack.template.property];
    if (stack?.template.holds === 'file' && typeof named === 'string') options.used.file(named);
    const text = stack?.template.holds === 'file' ? typeof named === 'string' && files[named] : named;
    if (!stack || typeof text !== 'string') {
      return refuseFile(
        stack?.template.holds === 'file' && typeof named === 'string' ? named : type,
        options,
        mistakes,
      );
    }
    const given = stack.parameters;
    const parameters = properties[given];
    const passed = isPlainObject(parameters) ? parameters : {};
    // Secrets are not tracked per key, so a secret hides all of them.
    const hidden = new Set(options.hidden.has(given) ? Object.keys(passed) : []);
    return withoutMistakes(
      { template: readNested(text, options.work), parameters: passed, environment: inside, hidden },
      mistakes,
    );
  }
  const types = new Map(options.types.map((each) => [each.type, each]));
  const found = environment.registry.find({ type, resource, types });
  if (found?.kind === 'template') options.used.file(found.file);
  const template =
    found?.kind === 'template'
      ? library.get(found.file, { defaults: environment.defaults, work: options.work })
      : undefined;
  if (found?.kind !== 'template' || !template) {
    return refuseFile(found?.kind === 'template' ? found.file : type, options, mistakes);
  }
  const given = fitted(options, template, mistakes);
  if (mistakes.any) return undefined;
  const passed = passProperties(given, template.type);
  if ('problem' in passed) {
    const path = join(`resources.${resource}.properties`, passed.property);
    const problem = options.hidden.size > 0 ? 'its value cannot be passed to the nested stack' : passed.problem;
    mistakes.add({ code: 'WrongPropertyType', message: `Property error: ${path}: ${problem}`, path, at: undefined });
    return undefined;
  }
  const registry = environment.registry.inside(resource, found.mapping);
  const { hidden } = options;
  return withoutMistakes(
    { template, parameters: passed.parameters, environment: { ...environment, registry }, hidden },
    mistakes,
  );
}

const hasMembers = ({ resources }: JsonObject): boolean =>
  isPlainObject(resources) && Object.keys(resources).length > 0;

/** Converts the properties to the types of the template's parameters. */
function fitted(
  { resource, type, properties, hidden, unknown = new Set(), work }: WithWork,
  template: NestedTemplate,
  mistakes: Mistakes,
): JsonObject {
  const written = [
    ...Object.entries(properties).map(([name, value]) => [name, { kind: 'literal', value }] as const),
    ...Array.from(unknown, (name) => [name, openExpression] as const),
  ];
  const secret = new Set<Expression>(written.flatMap(([name, expression]) => (hidden.has(name) ? [expression] : [])));
  const resolved = resolveProperties({
    resource: { name: resource, type, properties: toRecord(written), requires: [] },
    type: template.type,
    scope: {
      templateVersion: template.read.version,
      work,
      parameter: () => undefined,
      reference: () => undefined,
      attribute: () => undefined,
      isHidden: (expression) => secret.has(expression),
    },
    isTemplate: true,
  });
  for (const { steps: _, ...mistake } of resolved.mistakes) mistakes.add({ ...mistake, at: undefined });
  return toRecord(Object.entries(resolved.properties).filter(([name]) => Object.hasOwn(properties, name)));
}

function withoutMistakes(source: Source, mistakes: Mistakes): Source | undefined {
  for (const { line, column, file, ...mistake } of source.template.mistakes) {
    const isPlaced = line !== undefined && column !== undefined;
    mistakes.add({ ...mistake, at: isPlaced ? { line, column, ...(file !== undefined && { file }) } : undefined });
  }
  return source.template.mistakes.length === 0 ? source : undefined;
}

/** Keeps the environment, but with only the parameters that are passed. */
function insideOf({ environment, parameters }: Source): Environment {
  return { ...environment, parameters: asEntries(parameters) };
}

function hide(
  schemas: ReadonlyMap<string, ParameterSchema>,
  hidden: ReadonlySet<string>,
): ReadonlyMap<string, ParameterSchema> {
  if (hidden.size === 0) return schemas;
  return new Map(
    Array.from(schemas, ([name, schema]) => [name, hidden.has(name) ? { ...schema, hidden: true } : schema]),
  );
}

function refuseDepth(resource: string, maxDepth: number, mistakes: Mistakes): undefined {
  const path = `resources.${resource}`;
  mistakes.add({ code: 'TooDeep', message: tooDeep(path, maxDepth), path, at: undefined });
}

function refuseFile(file: string, { files, resource }: CompileNested, mistakes: Mistakes): undefined {
  const names = Object.keys(files);
  mistakes.add({
    code: 'MissingFile',
    message: `Failed to retrieve template data: ${file} is not among the files`,
    path: join(`resources.${resource}`, 'type'),
    at: undefined,
    found: file,
    nearest: nearestName(file, names),
    expected: listed(names),
  });
}
