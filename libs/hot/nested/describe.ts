/** Describes in a plan the resources that are stacks of their own, and the environment's settings for each resource. */
import { isExact } from '@anneal/contracts/exact-number.ts';
import { createHash } from 'node:crypto';
import type { Json } from '@anneal/contracts/json.ts';
import type { Expression, Plan, PlanNested, PlanResource } from '@anneal/contracts/plan.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { evaluate, type Scope, unknown } from '../evaluate.ts';
import { lookupArguments } from '../evaluate/attribute-path.ts';
import { bare } from '../tree/entry-digest.ts';
import { groupKind, scalingGroupTypes } from '../groups/kind.ts';
import { toRecord } from '@anneal/python/yaml/node.ts';
import { stackTypeOf } from '../types/stack-types.ts';
import { countInFile, countInValues } from './count.ts';
import { resolveProperties } from '../resources/properties.ts';
import type { ResolvedTypes, CompileInput } from '../tree/tree.ts';
import { holdsUnknown, type PartialValue } from '../evaluate/unknown.ts';

/** How the stack of such a resource is made. Undefined for a type that a provider serves. */
export function nestedKind(type: string, isTemplate: boolean): PlanNested['kind'] | undefined {
  if (isTemplate) return 'template';
  if (groupKind(type)) return 'group';
  return stackTypeOf(type) && 'stack';
}

/** Refuses a policy of the environment for a resource that cannot follow it. A pattern may fit other resources, too. */
export function refuseWrongPolicies(
  { typeOf, templateOf }: ResolvedTypes,
  { environment: { registry }, mistakes }: CompileInput,
): void {
  for (const [name, { type }] of typeOf) {
    const isTemplate = templateOf.has(name);
    if (!registry.says(name, 'replace_lost') || replacesLost(type, isTemplate)) continue;
    const path = `resource_registry.resources.${name}.replace_lost`;
    const mistake = { code: 'InvalidRegistry', path, at: undefined, found: type } as const;
    if (!isServer(type, isTemplate)) {
      const message = `The environment says replace_lost for ${name}, which is of type ${type}; only a server (${serverType}) or a group that scales is replaced or replaces its members: ${scalingGroupTypes.join(', ')}`;
      mistakes.add({ ...mistake, message });
    } else if (registry.replaceLost(name)?.min_in_service !== 0) {
      const message = `The environment says min_in_service for ${name}, which is one server; only a group keeps members in service`;
      mistakes.add({ ...mistake, message });
    }
  }
}

const replacesLost = (type: string, isTemplate: boolean): boolean => !isTemplate && scalingGroupTypes.includes(type);

/** The type of a resource that is one machine, of which Anneal can choose another. */
const serverType = 'OS::Nova::Server';
const isServer = (type: string, isTemplate: boolean): boolean => !isTemplate && type === serverType;

interface Described extends ResolvedTypes {
  readonly stack: CompileInput;
  /** By resource: the type as written in the template, before the registry maps it. */
  readonly writtenTypes: ReadonlyMap<string, string>;
}

/**
 * Adds to each resource the settings of its registry and its nested stack. Counts nested resources unless they are
 * compiled.
 */
export function describeResources(resources: readonly PlanResource[], described: Described): PlanResource[] {
  const { stack, templateOf, typeOf } = described;
  const { registry } = stack.environment;
  return resources.map((resource) => {
    const hooks = registry.hooks(resource.name);
    const restricted = registry.restrictedActions(resource.name);
    const lifecycle = registry.lifecycleHooks(resource.name);
    const replacement = registry.replacement(resource.name) ?? typeOf.get(resource.name)?.replacement;
    const kind = nestedKind(typeOf.get(resource.name)?.type ?? '', templateOf.has(resource.name));
    const written = described.writtenTypes.get(resource.name);
    const renewed = !kind && typeOf.get(resource.name)?.renewed;
    const server = isServer(typeOf.get(resource.name)?.type ?? '', templateOf.has(resource.name));
    const lost = server ? registry.replaceLost(resource.name) : undefined;
    return {
      ...resource,
      ...(hooks.length > 0 && { hooks }),
      ...(restricted.length > 0 && { restricted_actions: restricted }),
      ...(lifecycle.length > 0 && { lifecycle_hooks: lifecycle }),
      ...(lost && { replace_lost: lost }),
      ...(replacement === 'delete_first' && { replacement }),
      ...(renewed && { renewed }),
      ...(kind && nestedPart(resource, kind, described)),
      ...(written !== undefined && written !== resource.type && kind !== 'template' && { written_type: written }),
    };
  });
}

function nestedPart(
  resource: PlanResource,
  kind: PlanNested['kind'],
  { stack, templateOf, typeOf, foundOf, writtenTypes }: Described,
): Pick<PlanResource, 'nested' | 'type'> {
  const { name } = resource;
  const { tree, environment } = stack;
  const found = foundOf.get(name);
  const template = templateOf.get(name);
  const type = template ? (writtenTypes.get(name) ?? resource.type) : resource.type;
  const registry = environment.registry.inside(name, found?.kind === 'template' ? found.mapping : undefined);
  if (tree.nestedStacks === 'described') {
    const context = { ...tree, defaults: environment.defaults };
    tree.count.resources += template
      ? countInFile(template.file, registry, context)
      : countInValues(valuesOf(resource, stack, typeOf.get(name)), registry, context);
  }
  const lost = environment.registry.replaceLost(name);
  const replaces = replacesLost(typeOf.get(name)?.type ?? '', template !== undefined) && lost;
  const digest = JSON.stringify([template?.file ?? null, registry.special()]);
  const nested = { kind, type, digest, reads: [], ...(replaces && { replace_lost: replaces }) };
  return { type, nested };
}

function valuesOf(
  resource: PlanResource,
  { scope }: CompileInput,
  type: ReturnType<ResolvedTypes['typeOf']['get']>,
): Json[] {
  if (!type) return [];
  return Object.values(resolveProperties({ resource, type, scope }).all).map(known);
}

const known = (value: PartialValue): Json => {
  if (value === unknown) return null;
  if (Array.isArray(value)) return value.map(known);
  if (typeof value !== 'object' || value === null) return value;
  if (isExact(value)) return value as unknown as Json;
  return toRecord(Object.entries(value).map(([key, item]) => [key, known(item)]));
};

/** Adds to every nested stack of the plan the attributes that the plan reads of it. */
export function withReads(plan: Plan, scope: Scope): Plan {
  const nested = Object.values(plan.resources).filter((resource) => resource.nested);
  if (nested.length === 0) return plan;
  const reads = new Map(nested.map(({ name }) => [name, new Map<string, Json[]>()]));
  const visit = (expression: Expression): void => {
    if (expression.kind === 'list') for (const item of expression.items) visit(item);
    else if (expression.kind === 'map') for (const { value } of expression.entries) visit(value);
    else if (expression.kind === 'call') {
      if (expression.function === 'get_attr') {
        const [name, ...path] = writtenOut(expression.arguments, scope);
        if (typeof name === 'string') reads.get(name)?.set(JSON.stringify(path), path);
      }
      visit(expression.arguments);
    }
  };
  for (const { properties, metadata, update_policy: policy } of Object.values(plan.resources)) {
    for (const property of Object.values(properties)) visit(property);
    if (metadata) visit(metadata);
    if (policy) visit(policy);
  }
  for (const { value } of Object.values(plan.outputs)) visit(value);
  const resources = Object.entries(plan.resources).map(([name, resource]): [string, PlanResource] => [
    name,
    resource.nested
      ? { ...resource, nested: readBy(resource.nested, resource, [...(reads.get(name)?.values() ?? [])]) }
      : resource,
  ]);
  return { ...plan, resources: toRecord(resources) };
}

/** The digest also covers these, because reads, metadata and policies change the stack. */
function readBy(nested: PlanNested, { metadata, update_policy: policy }: PlanResource, reads: Json[][]): PlanNested {
  const texts: unknown[] = [nested.digest, reads, metadata && bare(metadata), policy && bare(policy)];
  // Absent in most plans: their digests stay those of earlier versions.
  if (nested.replace_lost) texts.push(nested.replace_lost);
  return { ...nested, reads, digest: createHash('sha256').update(JSON.stringify(texts)).digest('hex') };
}

/** The arguments up to the first that is unknown before creation. */
function writtenOut(argument: Expression, scope: Scope): Json[] {
  const found = lookupArguments(argument, (item) => {
    const value = tryEvaluate(item, scope);
    return holdsUnknown(value) ? undefined : (value as Json);
  });
  const end = found.indexOf(undefined);
  return (end === -1 ? found : found.slice(0, end)) as Json[];
}

function tryEvaluate(expression: Expression, scope: Scope): PartialValue {
  try {
    return evaluate(expression, scope);
  } catch (error) {
    // Compiling the expression reports the mistake.
    if (error instanceof AnnealError) return unknown;
    throw error;
  }
}
