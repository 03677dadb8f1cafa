/**
 * Evaluates what a plan leaves open, for the core: properties of resources before they are worked on, and outputs when they
 * are read. Secrets are opened here, and a property that could show one is sealed as a whole before it leaves.
 */
import { toFailure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { StackView } from '@anneal/contracts/scheduling.ts';
import type { Comparison, Resolution, Tools } from '@anneal/convergence/protocol.ts';
import { representative, type ResourceDocument, type StackDocument } from '@anneal/convergence/state.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { derivedId } from './ids.ts';
import { compareProperties, evaluateExpression, resolveProperties, type Scope } from './language.ts';

export interface Evaluation {
  toolsAt(parameters: { now: number; graceMs: number }): Tools;
  outputs(parameters: {
    plan: Plan;
    stack: StackDocument;
    resources: readonly ResourceDocument[];
  }): NonNullable<StackView['outputs']>;
}

type Peer = (name: string) => ResourceDocument | undefined;

/** Types whose failed update is tried again in place: making a machine anew is for a person to decide. */
const keptAfterFailure = new Set(['OS::Nova::Server', 'OS::Heat::DeployedServer', 'OS::Marconi::QueueServer']);

export function createEvaluation(parameters: {
  secrets: Secrets;
  typeOf: (type: string) => ResourceType | undefined;
}): Evaluation {
  const { secrets, typeOf } = parameters;

  const scopeOf = (plan: Plan, stack: StackDocument, peer: Peer): Scope => {
    const opened = new Map<string, JsonObject>();
    return {
      plan,
      stack,
      parameter: (name) => {
        const found = Object.hasOwn(plan.parameters, name) ? plan.parameters[name] : undefined;
        return found && secrets.open(found.value);
      },
      resource: (name) => {
        const resource = peer(name);
        const planned = Object.hasOwn(plan.resources, name) ? plan.resources[name] : undefined;
        const type = resource?.type ?? planned?.type;
        const definition = type === undefined ? undefined : typeOf(type);
        if (!resource) return { exists: false, definition, physicalId: null, attributes: {} };
        let attributes = opened.get(name);
        if (!attributes) opened.set(name, (attributes = secrets.open<Json>(resource.attributes) as JsonObject));
        return { exists: true, definition, physicalId: resource.physical_id, attributes };
      },
    };
  };

  const readsSecret = (expression: Expression, plan: Plan, peer: Peer): boolean =>
    sourcesOf(expression).some(({ function: name, source }) =>
      name === 'get_param'
        ? Object.hasOwn(plan.parameters, source) && plan.parameters[source]?.hidden === true
        : isSecret(peer(source)),
    );
  const isSecret = (resource: ResourceDocument | undefined): boolean =>
    resource !== undefined && secrets.open<Json>(resource.attributes) !== resource.attributes;

  const resolve: Tools['resolve'] = ({ plan, resource, stack, peer }): Resolution => {
    try {
      const scope = scopeOf(plan, stack, peer);
      const properties = resolveProperties({ resource, scope, definition: typeOf(resource.type) });
      const sealed = Object.entries(properties).map(([name, value]) => {
        const expression = resource.properties[name];
        return [name, expression && readsSecret(expression, plan, peer) ? secrets.seal(value) : value] as const;
      });
      const metadata = resource.metadata && evaluateExpression(resource.metadata, scope);
      const hidden = resource.metadata && readsSecret(resource.metadata, plan, peer);
      return {
        ok: true,
        properties: Object.fromEntries(sealed),
        ...(metadata !== undefined && { metadata: hidden ? secrets.seal(metadata) : metadata }),
      };
    } catch (error) {
      return { ok: false, failure: toFailure(error) };
    }
  };

  const compare: Tools['compare'] = ({ type, before, after }): Comparison =>
    compareProperties({ definition: typeOf(type), before, after });

  return {
    toolsAt: ({ now, graceMs }) => ({
      now,
      graceMs,
      newId: derivedId,
      resolve,
      compare,
      replaceFailed: (type) => !keptAfterFailure.has(type),
    }),
    outputs({ plan, stack, resources }) {
      const byName = new Map<string, ResourceDocument[]>();
      for (const resource of resources) {
        // What is not there yet has nothing to show; the original, while it is being replaced, has.
        if (resource.action === 'CREATE' && resource.status !== 'COMPLETE') continue;
        const list = byName.get(resource.name);
        if (list) list.push(resource);
        else byName.set(resource.name, [resource]);
      }
      const scope = scopeOf(plan, stack, (name) => representative(byName.get(name) ?? []));
      return Object.values(plan.outputs).map(({ name, value, description = '' }) => {
        try {
          return { key: name, description, value: evaluateExpression(value, scope) };
        } catch (error) {
          return { key: name, description, value: null, error: toFailure(error).message };
        }
      });
    },
  };
}

/** The parameters and resources that an expression reads, as far as its text says so. */
function sourcesOf(expression: Expression): { function: string; source: string }[] {
  switch (expression.kind) {
    case 'literal':
      return [];
    case 'list':
      return expression.items.flatMap(sourcesOf);
    case 'map':
      return expression.entries.flatMap(({ value }) => sourcesOf(value));
    case 'call': {
      const first = expression.arguments.kind === 'list' ? expression.arguments.items[0] : expression.arguments;
      const head = first?.kind === 'literal' ? first.value : null;
      const source = Array.isArray(head) ? head[0] : head;
      const own =
        ['get_param', 'get_attr', 'get_resource', 'Ref', 'Fn::GetAtt'].includes(expression.function) &&
        typeof source === 'string'
          ? [{ function: expression.function, source }]
          : [];
      return [...own, ...sourcesOf(expression.arguments)];
    }
  }
}
