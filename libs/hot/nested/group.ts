/** Compiles a group as a nested stack: its members, as far as their definitions are known. */
import type { Mistake } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { PlanResource, PlanSource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { readGroup } from '../groups/attribute.ts';
import { firstCount, firstMembers, payForMembers } from '../groups/group.ts';
import { withMemberCalls } from '../groups/calls.ts';
import { groupKind } from '../groups/kind.ts';
import { memberTemplate } from '../groups/member.ts';
import { isUndecided, opened, openName } from '../groups/open.ts';
import { scaledResource, scaledResourceTarget } from '../groups/scaling.ts';
import { bySetting } from '../limits.ts';
import { join, type Mistakes } from '../mistakes.ts';
import { isPlainObject, type YamlNode, toRecord } from '@anneal/python/yaml/node.ts';
import { resolveProperties } from '../resources/properties.ts';
import { pseudoParameters } from '../parameters/pseudo.ts';
import { referencesOf } from '../tree/references.ts';
import type { NestedScope } from '../tree/stack-scope.ts';
import { readTemplate } from '../syntax/template.ts';
import type { Body, CompileInput } from '../tree/tree.ts';
import { type PartialValue, unknown } from '../evaluate/unknown.ts';
import { type Child, childIdentity } from './child.ts';

/** Heat's name for a template that is in no file. */
const file = 'nested_stack';

interface GroupResource {
  readonly resource: PlanResource;
  readonly type: ResourceType;
  /** All resources of the stack, because a launch configuration is one of them. */
  readonly resources: readonly PlanResource[];
  readonly typeOf: ReadonlyMap<string, ResourceType>;
  readonly stack: CompileInput;
  readonly inner: Mistakes;
}

/** Returns undefined while the number or the types of the members are unknown. */
export function groupChild(group: GroupResource): Child | undefined {
  const { resource, type, stack, inner } = group;
  const { name } = resource;
  const { all, mistakes } = resolveProperties({ resource, type, scope: stack.scope });
  const configuration = configurationOf(group);
  const properties = toRecord(Object.entries(all).map(([key, value]) => [key, opened(value)]));
  if (mistakes.length > 0 || configuration === 'unknown' || isUndecided(type.type, properties)) return undefined;
  const count = firstCount({ type: type.type, properties });
  if (!isWithinLimit(count, group)) return undefined;
  payForMembers(stack.tree.work, { count, properties });
  const members = firstMembers({
    type: type.type,
    properties,
    newName: String,
    configuration,
    reference: stack.scope.reference(name) ?? opened(unknown),
  });
  if (members.some(({ definition }) => isPlainObject(definition['type']))) return undefined;
  const template = readTemplate({ content: memberTemplate({ type: type.type, members }), mistakes: inner });
  if (!template) return undefined;
  const read = withMemberCalls(template, new Set([openName]));
  const { environment } = stack;
  const registry = environment.registry.inside(name, undefined);
  const identity = childIdentity(stack, name);
  return {
    file,
    read,
    schemas: new Map(),
    parameters: {},
    values: toRecord(
      Object.entries(pseudoParameters(read.dialect, identity)).map(([key, value]) => [
        key,
        { type: 'string', value, hidden: false },
      ]),
    ),
    environment: {
      ...environment,
      registry:
        groupKind(type.type) === 'instances' ? registry.withAlias(scaledResource, scaledResourceTarget) : registry,
      parameters: new Map(),
    },
    identity,
    open: openName,
    report: (found) => oncePerDefinition(found).map((mistake) => placed(mistake, group)),
    show: (body) => membersOf(body, { group: name, type: type.type, names: members.map((member) => member.name) }),
  };
}

/** Checks the limit before members are created. */
function isWithinLimit(count: number, { resource, stack: { tree, mistakes } }: GroupResource): boolean {
  const { maxResources } = tree;
  if (maxResources < 0 || tree.count.resources + count <= maxResources) return true;
  const found = String(tree.count.resources + count);
  const message = `You have reached the maximum resources per stack, ${maxResources} ${bySetting('maxResources')}: with the ${count} members of ${resource.name} it has ${found}.`;
  const [path, expected] = [join('resources', resource.name), `at most ${maxResources}`];
  mistakes.add({ code: 'TooManyResources', message, path, at: resource.source, expected, found });
  return false;
}

function membersOf(
  body: Body,
  { group, type, names }: { group: string; type: string; names: readonly string[] },
): NestedScope {
  const members = {
    names,
    reference: (name: string): PartialValue => body.scope.reference(name) ?? unknown,
    attribute: (name: string, attribute: string, path: readonly Json[]): PartialValue =>
      body.scope.readInside(name, attribute, path),
  };
  return {
    read(attribute, path) {
      const read = readGroup({ group, type, members, attribute, path });
      // A later update may add the member; until then it reads as null.
      return 'value' in read ? read.value : null;
    },
  };
}

/** The launch configuration of an instance group, which the group must name by a reference. */
function configurationOf({
  resource,
  type,
  resources,
  typeOf,
  stack,
}: GroupResource): { properties: JsonObject; metadata?: JsonObject } | 'unknown' | undefined {
  if (groupKind(type.type) !== 'instances') return undefined;
  const expression = resource.properties['LaunchConfigurationName'];
  const [name] = expression ? referencesOf(expression).resources : [];
  const found = resources.find((other) => other.name === name);
  const foundType = found && typeOf.get(found.name);
  // Properties copied from an existing server are known only when the group is created.
  if (!found || !foundType || found.properties['InstanceId']) return 'unknown';
  const { all } = resolveProperties({ resource: found, type: foundType, scope: stack.scope });
  const given = Object.entries(all).filter(([key]) => Object.hasOwn(found.properties, key));
  return { properties: toRecord(given.map(([key, value]) => [key, opened(value)])) };
}

/** Reports a mistake once, because all members share the definition that has it. */
function oncePerDefinition(mistakes: readonly Mistake[]): Mistake[] {
  const said = new Set<string>();
  return mistakes.filter(({ code, path, message }) => {
    const [first = ''] = /^resources\.[^.]*/.exec(path) ?? [];
    const key = `${code} ${path.slice(first.length)} ${first === '' ? message : message.replaceAll(first, '')}`;
    return !said.has(key) && said.add(key);
  });
}

/**
 * Gives a mistake without a position that of the definition in the group, as far as the definition is literal, because
 * members have no text. A mistake with a position is in a file that a member uses as its type; that position is kept.
 */
function placed(mistake: Mistake, { resource, type, stack }: GroupResource): Mistake {
  if (mistake.line !== undefined) return mistake;
  const definition = { numbered: 'resource_def', scaling: 'resource', chain: '', deployments: '', instances: '' };
  const [, , ...below] = mistake.path.split('.');
  let at: PlanSource | undefined = resource.source;
  let node: YamlNode | undefined = stack.read.root.entries.get('resources')?.value;
  for (const step of [resource.name, 'properties', definition[groupKind(type.type) ?? 'chain'], ...below]) {
    const entry: YamlNode | undefined =
      node?.kind === 'map'
        ? node.entries.get(step)?.value
        : node?.kind === 'list'
          ? node.items[Number(step)]
          : undefined;
    if (!entry) break;
    at = entry.at ?? at;
    node = entry;
  }
  return { ...mistake, ...at };
}
