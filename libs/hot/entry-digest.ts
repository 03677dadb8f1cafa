/** Tells, without working a resource out, that nothing has changed in what a plan says of it. */
import { createHash } from 'node:crypto';
import type { Expression, Plan, PlanResource } from '@anneal/contracts/plan.ts';
import { referencesOf } from './references.ts';

/**
 * The plan with a digest in each resource: of all that is said of it, and of the values of the parameters that it reads.
 * Hidden values must be sealed by now; a hash of one in the clear would tell who guesses that the guess is right.
 */
export function withDigests(plan: Plan): Plan {
  const resources = Object.entries(plan.resources).map(([name, resource]): [string, PlanResource] => [
    name,
    { ...resource, digest: digestOf(resource, plan) },
  ]);
  return { ...plan, resources: Object.fromEntries(resources) };
}

function digestOf(resource: PlanResource, plan: Plan): string {
  const { properties, metadata, update_policy: policy, external_id: external, source: _, ...rest } = resource;
  const named = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1));
  const others = [metadata, policy, external];
  const expressions = [...named.map(([, value]) => value), ...others.filter((each) => each !== undefined)];
  const parameters = [...referencesOf(...expressions).parameters].sort().map((name) => {
    const value = Object.hasOwn(plan.parameters, name) ? plan.parameters[name]?.value : undefined;
    return [name, value ?? null];
  });
  const written = [named.map(([name, value]) => [name, bare(value)]), others.map((each) => each && bare(each))];
  const text = JSON.stringify([plan.template_version, rest, written, parameters]);
  return createHash('sha256').update(text).digest('hex');
}

/** Without the places in the template, which move whenever a line is added above. */
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
