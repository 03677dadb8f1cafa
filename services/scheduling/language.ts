/** What the scheduling service uses of the template language. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { Comparison } from '@anneal/convergence/protocol.ts';
import type { StackDocument } from '@anneal/convergence/state.ts';

export interface Scope {
  readonly plan: Plan;
  readonly stack: StackDocument;
  readonly parameter: (name: string) => Json | undefined;
  readonly resource: (name: string) => {
    readonly exists: boolean;
    readonly definition: ResourceType | undefined;
    readonly physicalId: string | null;
    readonly attributes: JsonObject;
  };
}

export function evaluateExpression(expression: Expression, scope: Scope): Json {
  switch (expression.kind) {
    case 'literal':
      return expression.value;
    case 'list':
      return expression.items.map((item) => evaluateExpression(item, scope));
    case 'map':
      return Object.fromEntries(expression.entries.map(({ key, value }) => [key, evaluateExpression(value, scope)]));
    case 'call': {
      const value = evaluateExpression(expression.arguments, scope);
      const [name, ...path] = Array.isArray(value) ? value : [value];
      if (expression.function === 'get_param') return scope.parameter(String(name)) ?? null;
      const resource = scope.resource(String(name));
      if (expression.function === 'get_resource') return resource.physicalId;
      if (expression.function === 'get_attr') {
        let found: Json = resource.attributes;
        for (const part of path) {
          found = (typeof found === 'object' && found !== null && !Array.isArray(found) && found[String(part)]) || null;
        }
        return found;
      }
      throw new AnnealError('InvalidTemplate', `There is no function ${expression.function}.`);
    }
  }
}

export function resolveProperties(parameters: {
  resource: PlanResource;
  scope: Scope;
  definition: ResourceType | undefined;
}): JsonObject {
  const { resource, scope, definition } = parameters;
  const defaults = Object.entries(definition?.properties ?? {}).flatMap(([name, schema]) =>
    schema.default === undefined ? [] : [[name, schema.default] as const],
  );
  const given = Object.entries(resource.properties).map(
    ([name, expression]) => [name, evaluateExpression(expression, scope)] as const,
  );
  return Object.fromEntries([...defaults, ...given]);
}

export function compareProperties(parameters: {
  definition: ResourceType | undefined;
  before: JsonObject;
  after: JsonObject;
}): Comparison {
  const { definition, before, after } = parameters;
  const changed = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]),
  );
  if (changed.length === 0) return { verdict: 'same' };
  const inPlace = changed.every((name) => definition?.properties[name]?.update_allowed === true);
  return { verdict: inPlace ? 'update' : 'replace', changed };
}
