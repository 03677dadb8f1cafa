/** Compiles one stack of the tree: conditions, resources and outputs of a template whose parameters have values. */
import type { Json } from '@anneal/contracts/json.ts';
import type { Plan, PlanParameter, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { Build } from '../expressions/build.ts';
import { findCycles } from './cycle.ts';
import { bySetting } from '../limits.ts';
import { join, type Mistakes } from '../mistakes.ts';
import { describeResources, refuseWrongPolicies, withReads } from '../nested/describe.ts';
import { expandNested } from '../nested/expand.ts';
import type { NestedTemplate } from '../tree/library.ts';
import { type MappingEntry, toRecord } from '@anneal/python/yaml/node.ts';
import { withTextKeys } from '@anneal/python/values/exact.ts';
import { compileOutput } from './output.ts';
import type { Found } from '../environment/registry.ts';
import { withDeclaredOutputs } from '../resources/declared-outputs.ts';
import { compileResource, isEnabled } from '../resources/resource.ts';
import type { ResourceContext } from '../resources/resource-context.ts';
import { findType, type TypeContext } from '../resources/resource-type.ts';
import { sectionEntries, sectionNode } from '../syntax/template.ts';
import type { Body, NestedStack, ResolvedTypes, CompileInput } from '../tree/tree.ts';

/** Work charged for compiling one resource, in values. */
const workAResource = 50;
const sectionSize = (read: CompileInput['read']): number => {
  const section = sectionNode(read, 'resources');
  return section.kind === 'map' ? section.entries.size : 0;
};

/** The plan of one stack. Undefined after a mistake that leaves no plan; all mistakes are added. */
export function compileStack(input: CompileInput): Body | undefined {
  const { read, environment, schemas, values, mistakes, scope, tree } = input;
  const { version, dialect } = read;
  scope.work.spend(workAResource * sectionSize(read));
  const hasConditions = dialect === 'cfn' || version >= '2016-10-14';
  const conditions = hasConditions ? sectionEntries(read, 'conditions', mistakes) : new Map<string, MappingEntry>();
  const build = new Build({
    version,
    dialect,
    calls: read.calls,
    scope,
    parameters: new Set([...schemas.keys(), ...Object.keys(values)]),
    files: tree.files,
    used: tree.used,
    conditions,
    mappings: sectionEntries(read, 'mappings', mistakes),
    mistakes,
  });
  build.conditions.checkAll();
  const entries = sectionEntries(read, 'resources', mistakes);
  checkNames(entries, input);
  const verdictOf = new Map(
    Array.from(entries, ([name, { value }]) => [name, isEnabled(name, value, { build, hasConditions })]),
  );
  const enabled = new Map(Array.from(verdictOf, ([name, verdict]) => [name, verdict !== false]));
  const types = resolveTypes(entries, enabled, { environment, tree, mistakes });
  const context: ResourceContext = { ...types, version, dialect, mistakes, build, scope, enabled };
  const compiled = Array.from(entries)
    .filter(([name]) => enabled.get(name))
    .flatMap(([name, entry]) => compileResource(name, entry, context) ?? []);
  const writtenTypes = writtenTypesOf(entries);
  const isAcyclic = refuseCycles(compiled, entries, mistakes);
  const nested =
    isAcyclic && tree.nestedStacks === 'compiled'
      ? expandNested({ ...types, resources: compiled, stack: input, compile: compileStack })
      : new Map<string, NestedStack>();
  const outputs = Array.from(sectionEntries(read, 'outputs', mistakes)).flatMap(
    ([name, entry]) => compileOutput(name, entry, context) ?? [],
  );
  build.conditions.warnOfUnused();
  refuseWrongPolicies(types, input);
  if (mistakes.any) return undefined;
  const resources = describeResources(compiled, { ...types, writtenTypes, stack: input }).map((resource) =>
    verdictOf.get(resource.name) === undefined ? { ...resource, undecided: true as const } : resource,
  );
  if (tree.nestedStacks === 'described') refuseTooMany(0, input);
  const plan: Plan = {
    format: 1,
    template_version: version,
    description: read.description,
    parameters: plainValues(values),
    resources: toRecord(resources.map((resource) => [resource.name, resource])),
    outputs: toRecord(outputs.map((output) => [output.name, output])),
  };
  const verdicts = Array.from(conditions.keys(), (name): [string, Json] => {
    const use = { kind: 'scalar', value: name, at: undefined } as const;
    return [name, build.conditions.use(use, `conditions.${name}`) ?? null];
  });
  return {
    plan: withReads(plan, scope),
    conditions: toRecord(verdicts),
    writtenTypes,
    types: types.typeOf,
    nested,
    scope,
    schemas,
  };
}

function resolveTypes(
  entries: ReadonlyMap<string, MappingEntry>,
  enabled: ReadonlyMap<string, boolean>,
  context: TypeContext,
): ResolvedTypes {
  const typeOf = new Map<string, ResourceType>();
  const templateOf = new Map<string, NestedTemplate>();
  const foundOf = new Map<string, Found>();
  for (const [name, entry] of entries) {
    if (!enabled.get(name)) continue;
    const resolved = findType(name, entry, context);
    if (!resolved) continue;
    typeOf.set(name, resolved.type);
    foundOf.set(name, resolved.found);
    if (resolved.template) templateOf.set(name, resolved.template);
  }
  return { typeOf: withDeclaredOutputs(entries, typeOf), templateOf, foundOf };
}

function writtenTypesOf(entries: ReadonlyMap<string, MappingEntry>): Map<string, string> {
  const types = new Map<string, string>();
  for (const [name, { value }] of entries) {
    const type = value.kind === 'map' ? value.entries.get('type')?.value : undefined;
    if (type?.kind === 'scalar' && typeof type.value === 'string') types.set(name, type.value);
  }
  return types;
}

/** Adds `more` resources to the count of the whole tree and refuses too many. */
function refuseTooMany(more: number, { tree, depth, mistakes }: CompileInput): void {
  const { count, maxResources } = tree;
  count.resources += more;
  if (maxResources < 0 || count.resources <= maxResources) return;
  const isAlone = depth === 0 && count.resources === more;
  const here = isAlone ? `the template has ${more}` : `with its nested stacks it has ${count.resources}`;
  const message = `You have reached the maximum resources per stack, ${maxResources} ${bySetting('maxResources')}: ${here}.`;
  const expected = `at most ${maxResources}`;
  const found = String(count.resources);
  mistakes.add({ code: 'TooManyResources', message, path: 'resources', at: undefined, expected, found });
}

function checkNames(entries: ReadonlyMap<string, MappingEntry>, input: CompileInput): void {
  const { schemas, mistakes } = input;
  refuseTooMany(entries.size, input);
  for (const [name, { at }] of entries) {
    const path = join('resources', name);
    if (name.includes('/'))
      mistakes.add({ code: 'InvalidName', message: `Resource name ${name} may not contain "/"`, path, at });
    if (name === '') mistakes.add({ code: 'InvalidName', message: 'A resource needs a name', path, at });
    if (schemas.has(name)) mistakes.add({ code: 'DuplicateName', message: `Duplicate names {'${name}'}`, path, at });
  }
}

/** Returns true when there are no cycles. */
function refuseCycles(
  resources: readonly PlanResource[],
  entries: ReadonlyMap<string, MappingEntry>,
  mistakes: Mistakes,
): boolean {
  const requires = new Map(resources.map((resource) => [resource.name, resource.requires]));
  const cycles = findCycles(requires);
  for (const cycle of cycles) {
    const [first = ''] = cycle;
    const way = shortened(cycle).join(' → ');
    const message = `Circular Dependency Found: ${way}`;
    mistakes.add({ code: 'Cycle', message, path: join('resources', first), at: entries.get(first)?.at, found: way });
  }
  return cycles.length === 0;
}

/** Shortens a long path to both of its ends. */
function shortened(way: readonly string[]): string[] {
  if (way.length <= 20) return [...way];
  return [...way.slice(0, 10), `${way.length - 20} more`, ...way.slice(-10)];
}

/** Converts values to JSON. */
function plainValues(values: Record<string, PlanParameter>): Record<string, PlanParameter> {
  return toRecord(
    Object.entries(values).map(([name, item]) => [name, { ...item, value: withTextKeys(item.value) }] as const),
  );
}
