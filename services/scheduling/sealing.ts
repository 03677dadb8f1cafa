/** What could show a secret is sealed before it leaves the evaluation: in documents, in requests, in answers between stacks. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { ResourceDocument, Typed } from '@anneal/convergence/documents.ts';
import { holdsOpened, opened } from '@anneal/hot/groups/open.ts';
import { referencesOf, type References } from '@anneal/hot/references.ts';
import { unknown } from '@anneal/hot/unknown.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { readsOf } from './nested/reads.ts';

/** What stands for a resource by its name. */
export type Peer = (name: string) => ResourceDocument | undefined;

interface Parts {
  readonly plan: Plan;
  readonly peer: Peer;
}

export interface Sealing {
  /** The value of an expression, with what could show a secret sealed. */
  readonly sealParts: (expression: Expression, value: Json, parts: Parts) => Json;
  readonly sealProperties: (resource: PlanResource, resolved: JsonObject, parts: Parts) => JsonObject;
}

/** Plans are shared and never change, so what an expression reads is worked out once. */
const referencesKept = new WeakMap<Expression, References>();

export function createSealing(parameters: {
  secrets: Secrets;
  servedBy: (resource: Typed) => ResourceType | undefined;
}): Sealing {
  const { secrets, servedBy } = parameters;
  const isSealed = (value: Json | undefined): boolean => value !== undefined && secrets.open<Json>(value) !== value;

  /**
   * Whether the value could show a secret: it reads a hidden parameter, or an attribute that holds one. The reference of a
   * resource is its id, whatever else the resource keeps to itself.
   */
  const readsSecret = (expression: Expression, plan: Plan, peer: Peer): boolean => {
    let references = referencesKept.get(expression);
    if (!references) referencesKept.set(expression, (references = referencesOf(expression)));
    for (const name of references.parameters) {
      if (Object.hasOwn(plan.parameters, name) && plan.parameters[name]?.hidden === true) return true;
    }
    for (const name of references.resources) {
      const resource = peer(name);
      const attribute = resource && servedBy(resource)?.reference;
      if (attribute !== undefined && isSealed(resource?.attributes[attribute])) return true;
    }
    for (const [name, read] of references.attributes) {
      const resource = peer(name);
      if (!resource) continue;
      const { attributes } = resource;
      if (read.has('*') ? isSealed(attributes) : [...read].some((each) => isSealed(attributes[each]))) return true;
      if (
        readsOf(resource).some(
          ({ path: [first], value }) => typeof first === 'string' && read.has(first) && isSealed(value),
        )
      )
        return true;
    }
    return false;
  };

  /** Seals what could show a secret, as small a part as can be told: what stands beside it in a map or list stays readable. */
  const sealParts = (expression: Expression, value: Json, parts: { plan: Plan; peer: Peer }): Json => {
    if (expression.kind === 'literal' || !readsSecret(expression, parts.plan, parts.peer)) {
      return secrets.fromOutside(value);
    }
    if (expression.kind === 'map' && isObject(value)) {
      const written = new Map(expression.entries.map((entry) => [entry.key, entry.value]));
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => {
          const part = written.get(key);
          return [key, part ? sealParts(part, item, parts) : secrets.fromOutside(item)];
        }),
      );
    }
    if (expression.kind === 'list' && Array.isArray(value) && value.length === expression.items.length) {
      return value.map((item, index) => {
        const part = expression.items[index];
        return part ? sealParts(part, item, parts) : secrets.fromOutside(item);
      });
    }
    // Of a preview: what is not known yet shows nothing, and must not be taken for a value.
    return holdsOpened(value) ? opened(unknown) : secrets.seal(value);
  };

  const sealProperties = (
    resource: PlanResource,
    resolved: JsonObject,
    parts: { plan: Plan; peer: Peer },
  ): JsonObject => {
    const properties: JsonObject = { ...resolved };
    for (const [name, expression] of Object.entries(resource.properties)) {
      const value = properties[name];
      if (value !== undefined) properties[name] = sealParts(expression, value, parts);
    }
    return properties;
  };

  return { sealParts, sealProperties };
}
