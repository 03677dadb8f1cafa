/** Digests of a plan's resources, to see that a resource has not changed without evaluating it. */
import { toRecord } from '@anneal/contracts/ordered-map.ts';
import { hash } from 'node:crypto';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import { referencesOf } from './references.ts';

/**
 * Adds a digest to each resource of the plan: of its whole definition, and of the values of the parameters that it
 * reads. Hidden values must already be encrypted, because the hash of a plain value would confirm a guess.
 */
export function withDigests(plan: Plan): Plan {
  const texts = new Map<string, string>();
  const resources = Object.entries(plan.resources).map(([name, resource]): [string, PlanResource] => [
    name,
    { ...resource, digest: digestOf(resource, plan, texts) },
  ]);
  return { ...plan, resources: toRecord(resources) };
}

/** `texts`: the values of parameters as JSON, which many resources read. */
function digestOf(resource: PlanResource, plan: Plan, texts: Map<string, string>): string {
  const { properties, metadata, update_policy: policy, external_id: external, source: _, ...rest } = resource;
  const named = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
  const others = [metadata, policy, external];
  const expressions = [...named.map(([, value]) => value), ...others.filter((each) => each !== undefined)];
  const read = referencesOf(...expressions).parameters;
  const parameters = [...(read.has('*') ? Object.keys(plan.parameters) : read)].sort().map((name) => {
    const value = Object.hasOwn(plan.parameters, name) ? plan.parameters[name]?.value : undefined;
    const text = texts.get(name) ?? JSON.stringify(value ?? null);
    texts.set(name, text);
    return `[${JSON.stringify(name)},${text}]`;
  });
  const written = [named.map(([name, value]) => [name, bare(value)]), others.map((each) => each && bare(each))];
  const text = `${JSON.stringify([plan.template_version, rest, written]).slice(0, -1)},[${parameters.join(',')}]]`;
  return hash('sha256', text);
}

/** Strips the positions in the template, because they move whenever a line is added above. */
export function bare(expression: Expression): unknown {
  switch (expression.kind) {
    case 'literal':
      return expression;
    case 'list':
      return expression.items.map(bare);
    case 'map':
      return { map: expression.entries.map(({ key, value }) => [key, bare(value)]) };
    case 'call':
      return { call: expression.function, of: bare(expression.arguments) };
  }
}
