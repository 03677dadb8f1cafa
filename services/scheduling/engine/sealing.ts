/**
 * Seals values that could show a secret before they leave the evaluation: in documents, requests and nested responses.
 */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { ResourceDocument, Typed } from '@anneal/convergence/documents.ts';
import { holdsOpened, opened } from '@anneal/hot/groups/open.ts';
import { keptReferences, readsHidden } from '@anneal/hot/tree/references.ts';
import { unknown } from '@anneal/hot/evaluate/unknown.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { readsOf } from './reads.ts';

/** Returns the incarnation of a resource by its name. */
export type Peer = (name: string) => ResourceDocument | undefined;

interface Parts {
  readonly plan: Plan;
  readonly peer: Peer;
}

export interface Sealing {
  /**
   * Whether the value could show a secret, because it reads a hidden parameter or a sealed attribute. The reference of
   * a resource is usually its id, which is no secret even if other attributes are.
   */
  readonly readsSecret: (expression: Expression, parts: Parts) => boolean;
  /** Seals the parts of an expression's value that could show a secret. */
  readonly sealParts: (expression: Expression, value: Json, parts: Parts) => Json;
  readonly sealProperties: (resource: PlanResource, resolved: JsonObject, parts: Parts) => JsonObject;
}

export function createSealing(parameters: {
  secrets: Secrets;
  servedBy: (resource: Typed) => ResourceType | undefined;
}): Sealing {
  const { secrets, servedBy } = parameters;
  const isSealed = (value: Json | undefined): boolean => value !== undefined && secrets.open<Json>(value) !== value;

  const readsSecret: Sealing['readsSecret'] = (expression, { plan, peer }) => {
    const references = keptReferences(expression);
    if (readsHidden(references, plan.parameters)) return true;
    for (const name of references.resources) {
      const resource = peer(name);
      const attribute = resource && servedBy(resource)?.reference;
      if (attribute !== undefined && isSealed(resource?.attributes[attribute])) return true;
    }
    for (const [name, read] of references.attributes) {
      const resource = peer(name);
      if (!resource) continue;
      const { attributes, nested } = resource;
      if (read.has('*') && isSealed(attributes)) return true;
      for (const each of read) if (each !== '*' && isSealed(attributes[each])) return true;
      if (
        nested !== null &&
        readsOf(resource).some(
          ({ path: [first], value }) => typeof first === 'string' && read.has(first) && isSealed(value),
        )
      )
        return true;
    }
    return false;
  };

  /** Seals the smallest part that could show a secret. Its neighbours in a map or list stay readable. */
  const sealParts = (expression: Expression, value: Json, parts: { plan: Plan; peer: Peer }): Json => {
    if (expression.kind === 'literal' || !readsSecret(expression, parts)) {
      return secrets.fromOutside(value);
    }
    if (expression.kind === 'map' && isObject(value)) {
      const written = new Map(expression.entries.map((entry) => [entry.key, entry.value]));
      return toRecord(
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
    // In a preview, a value that is not known yet shows no secret. Keep it recognizable as unknown.
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

  return { readsSecret, sealParts, sealProperties };
}
