/**
 * Evaluates what a plan leaves open, for the core: properties of resources before they are worked on, and outputs when they
 * are read. Secrets are opened here, and what could show one is sealed again before it leaves.
 */
import { toFailure, type Failure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Expression, Plan } from '@anneal/contracts/plan.ts';
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import type { StackView } from '@anneal/contracts/scheduling.ts';
import type { Comparison, Resolution, Tools } from '@anneal/convergence/protocol.ts';
import { representative, type ResourceDocument, type StackDocument } from '@anneal/convergence/state.ts';
import { evaluate, unknown, type Scope } from '@anneal/hot/evaluate.ts';
import { compareProperties, resolveProperties, type Resolved } from '@anneal/hot/properties.ts';
import { referencesOf, type References } from '@anneal/hot/references.ts';
import type { Secrets } from '@anneal/runtime/secrets.ts';
import { derivedId } from './ids.ts';

export interface Evaluation {
  toolsAt(parameters: { now: number; graceMs: number; limit: number }): Tools;
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

  const scopeOf = (plan: Plan, stack: StackDocument, peer: Peer): Scope => ({
    templateVersion: plan.template_version,
    parameter(name) {
      const found = Object.hasOwn(plan.parameters, name) ? plan.parameters[name] : undefined;
      return found ? secrets.open(found.value) : pseudoParameter(name, stack);
    },
    reference(name) {
      const resource = peer(name);
      if (!resource) return undefined;
      const attribute = typeOf(resource.type)?.reference;
      const value = attribute === undefined ? undefined : secrets.open(resource.attributes[attribute] ?? null);
      return value ?? resource.physical_id ?? resource.name;
    },
    attribute(name) {
      const resource = peer(name);
      return resource && (secrets.open<Json>(resource.attributes) as JsonObject);
    },
  });

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
      const attribute = resource && typeOf(resource.type)?.reference;
      if (attribute !== undefined && isSealed(resource?.attributes[attribute])) return true;
    }
    for (const [name, read] of references.attributes) {
      const attributes = peer(name)?.attributes;
      if (!attributes) continue;
      if (read.has('*') ? isSealed(attributes) : [...read].some((each) => isSealed(attributes[each]))) return true;
    }
    return false;
  };

  /** Seals what could show a secret, as small a part as can be told: what stands beside it in a map or list stays readable. */
  const sealParts = (expression: Expression, value: Json, parts: { plan: Plan; peer: Peer }): Json => {
    if (!readsSecret(expression, parts.plan, parts.peer)) return value;
    if (expression.kind === 'map' && typeof value === 'object' && value !== null && !Array.isArray(value)) {
      const written = new Map(expression.entries.map((entry) => [entry.key, entry.value]));
      return Object.fromEntries(
        Object.entries(value).map(([key, item]) => {
          const part = written.get(key);
          return [key, part ? sealParts(part, item, parts) : item];
        }),
      );
    }
    if (expression.kind === 'list' && Array.isArray(value) && value.length === expression.items.length) {
      return value.map((item, index) => {
        const part = expression.items[index];
        return part ? sealParts(part, item, parts) : item;
      });
    }
    return secrets.seal(value);
  };

  const resolve: Tools['resolve'] = ({ plan, resource, stack, peer }): Resolution => {
    try {
      const scope = scopeOf(plan, stack, peer);
      const resolved = resolveProperties({ resource, type: definitionOf(resource.type), scope });
      const refusal = refusalOf(resource.name, resolved);
      if (refusal) return { ok: false, failure: refusal };
      const properties: JsonObject = { ...resolved.properties };
      for (const [name, expression] of Object.entries(resource.properties)) {
        const value = properties[name];
        if (value !== undefined) properties[name] = sealParts(expression, value, { plan, peer });
      }
      if (!resource.metadata) return { ok: true, properties };
      const metadata = evaluate(resource.metadata, scope, `resources.${resource.name}.metadata`);
      if (metadata === unknown) return { ok: true, properties };
      const hidden = readsSecret(resource.metadata, plan, peer);
      return { ok: true, properties, metadata: hidden ? secrets.seal(metadata) : metadata };
    } catch (error) {
      return { ok: false, failure: toFailure(error) };
    }
  };

  /** A type that nobody has described is taken as it comes; its provider may still refuse it. */
  const definitionOf = (type: string): ResourceType =>
    typeOf(type) ?? { type, properties: {}, attributes: {}, open_properties: true, open_attributes: true };

  const compare: Tools['compare'] = ({ type, before, after }): Comparison => {
    const { changed, replace } = compareProperties({ type: definitionOf(type), before, after });
    if (changed.length === 0) return { verdict: 'same' };
    return { verdict: replace.length > 0 ? 'replace' : 'update', changed };
  };

  return {
    toolsAt: ({ now, graceMs, limit }) => ({
      now,
      graceMs,
      limit,
      serves: (type, action) => typeOf(type)?.actions?.includes(action) ?? false,
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
          const found = evaluate(value, scope, `outputs.${name}.value`);
          // What does not exist yet has no value, which is not a mistake.
          return { key: name, description, value: found === unknown ? null : found };
        } catch (error) {
          return { key: name, description, value: null, error: toFailure(error).message };
        }
      });
    },
  };
}

/** Plans are shared and never change, so what an expression reads is worked out once. */
const referencesKept = new WeakMap<Expression, References>();

function pseudoParameter(name: string, stack: StackDocument): Json | undefined {
  const values: Readonly<Record<string, string>> = {
    'OS::stack_id': stack.id,
    'OS::stack_name': stack.name,
    'OS::project_id': stack.project,
  };
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function refusalOf(resource: string, { mistakes, unknown: open }: Resolved): Failure | undefined {
  if (mistakes.length > 0) {
    return {
      code: 'InvalidRequest',
      message: mistakes
        .map(({ message }) => message)
        .join('; ')
        .slice(0, 4096),
      remedy: 'Mend the places that are listed, and update the stack.',
      mistakes: mistakes.map(({ steps: _steps, ...mistake }) => mistake),
    };
  }
  if (open.length === 0) return undefined;
  return {
    code: 'InvalidRequest',
    message: `Properties ${open.join(', ')} of ${resource} read what does not exist.`,
    remedy: 'Let it require, by depends_on or by reference, the resources that it reads.',
  };
}
