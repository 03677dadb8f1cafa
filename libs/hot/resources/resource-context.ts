/** Context in which a resource is compiled, and the check that its references exist. */
import type { PlanSource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Build, Reference } from '../expressions/build.ts';
import type { Scope } from '../evaluate.ts';
import { hiddenValue, listed, type Mistakes, nearestName } from '../mistakes.ts';
import type { MapNode } from '@anneal/python/yaml/node.ts';
import type { NestedTemplate } from '../tree/library.ts';
import type { Version } from '../syntax/version.ts';

/** A resource as the template has it. */
export interface WrittenResource {
  readonly name: string;
  readonly node: MapNode;
  readonly at: PlanSource | undefined;
  readonly path: string;
}

/** The parts of the compiler that a resource needs. */
export interface ResourceContext {
  readonly version: Version;
  readonly mistakes: Mistakes;
  readonly build: Build;
  readonly scope: Scope;
  readonly dialect: 'hot' | 'cfn';
  /** All resources of the template; false when the condition of the resource is false. */
  readonly enabled: ReadonlyMap<string, boolean>;
  /** The type of each resource whose type is known, after following aliases. */
  readonly typeOf: ReadonlyMap<string, ResourceType>;
  /** The templates of the resources that are templates. */
  readonly templateOf: ReadonlyMap<string, NestedTemplate>;
}

/** True when the resource exists. `where` names the place as Heat does. */
export function checkReference(
  { resource, attribute, function: name, at, path, isHidden }: Reference,
  where: string,
  {
    enabled,
    typeOf,
    templateOf,
    mistakes,
    scope,
    inOutput = false,
  }: Pick<ResourceContext, 'enabled' | 'typeOf' | 'templateOf' | 'mistakes' | 'scope'> & {
    readonly inOutput?: boolean;
  },
): boolean {
  if (!enabled.get(resource)) {
    const nearest = enabled.has(resource) || isHidden ? undefined : nearestName(resource, enabled.keys());
    const found = isHidden ? hiddenValue : resource;
    const message = `The specified reference "${found}" (in ${where}) is incorrect.`;
    const expected = listed([...enabled].flatMap(([other, exists]) => (exists ? [other] : [])));
    mistakes.add({ code: 'UnknownResource', message, path, at, found, nearest, expected });
    return false;
  }
  const type = typeOf.get(resource);
  if (
    name === 'get_attr' &&
    type &&
    attribute !== undefined &&
    !type.open_attributes &&
    attribute !== 'show' &&
    !(templateOf.has(resource) && attribute.startsWith('resource.')) &&
    !Object.hasOwn(type.attributes, attribute)
  ) {
    const known = Object.keys(type.attributes);
    const message = `The Referenced Attribute (${resource} ${attribute}) is incorrect.`;
    const draft = {
      code: 'UnknownAttribute',
      message,
      path,
      at,
      found: attribute,
      nearest: nearestName(attribute, known),
      expected: known.join(', '),
    };
    // As in Heat: a template may lose an output, and an output of the stack around it must not stop that update.
    if (inOutput && templateOf.has(resource) && !scope.strict)
      mistakes.warn({ ...draft, message: `${message} The output will have no value.` });
    else mistakes.add(draft);
  }
  return true;
}
