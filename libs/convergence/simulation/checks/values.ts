/**
 * The oracle of values: a second evaluator, which reads the plan from its root and knows no incarnation, order or time.
 * After a traversal that reached its plan, every property, attribute and output has the value that it computes.
 */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { Plan, PlanResource } from '@anneal/contracts/plan.ts';
import type { ResourceDocument } from '../../documents.ts';
import type { State } from '../../state.ts';
import { nestedPlan } from '../model.ts';
import { outputOf, outputsOf, readBy } from '../values.ts';
import type { CheckedWorld } from './checked-world.ts';
import { must } from './ledger.ts';

/** A plan, and the resources of the stack that has reached it: they only say which values do not follow from the plan. */
interface Scope {
  readonly plan: Plan;
  readonly resources: readonly ResourceDocument[];
  readonly world: CheckedWorld;
  /** The plan of a nested stack has ids in its literals, unless it was computed from names. */
  readonly nameOf: ((id: string) => string) | undefined;
}

function literalOf({ nameOf }: Scope, planned: PlanResource, name: string): Json {
  const expression = planned.properties[name];
  const value = expression?.kind === 'literal' ? expression.value : null;
  return nameOf ? named(value, nameOf) : value;
}

/** The properties of a plan entry. */
function propertiesOf(scope: Scope, planned: PlanResource): JsonObject {
  const from = readBy(planned.properties['from']).map((name) => outputIn(scope, name));
  const hidden = literalOf(scope, planned, 'hidden');
  const given = { value: literalOf(scope, planned, 'value'), kind: literalOf(scope, planned, 'kind'), from };
  return hidden === null ? given : { ...given, hidden };
}

/** The output of a resource, with its name in place of an id. */
function outputIn(scope: Scope, name: string): Json {
  const planned = scope.plan.resources[name];
  if (!planned || scope.plan.rolling?.temporary?.includes(name)) return null;
  const found = scope.resources.find((resource) => resource.name === name);
  if (found && isLoose(scope.world, found)) return { of: name, loose: true };
  const properties = propertiesOf(scope, planned);
  if (planned.type !== 'Nested') {
    const isDrawn = planned.type === 'Instant' && Number(properties['kind']) % 2 === 1;
    return outputOf(name, properties, isDrawn ? `drawn of ${name}` : undefined)['output'] ?? null;
  }
  const inner = found ? [...scope.world.shellOf(found.id).stored.resources.values()] : [];
  const value = plainOutputs({ ...scope, plan: nestedPlan(properties), resources: inner, nameOf: undefined });
  return { of: name, value, from: null };
}

const plainOutputs = (scope: Scope): JsonObject =>
  Object.fromEntries(
    Object.values(scope.plan.outputs).map(({ name, value }) => [name, readBy(value).map((of) => outputIn(scope, of))]),
  );

/** Whether something besides the plan decides what the resource shows: an operator, its owner, or a signal. */
const isLoose = (
  { unasked }: CheckedWorld,
  { id, external, skipped, nested, physical_id }: ResourceDocument,
): boolean => external || skipped !== null || unasked.has(id) || (nested === null && physical_id !== `physical ${id}`);

/** Names the resources whose ids are in a value. */
function named(value: Json, nameOf: (id: string) => string, key = ''): Json {
  if (key === 'of' && typeof value === 'string') return nameOf(value);
  if (key === 'drawn' && typeof value === 'string') return `drawn of ${nameOf(`drawn ${value}`)}`;
  if (Array.isArray(value)) return value.map((item) => named(item, nameOf));
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, named(item, nameOf, name)]));
}

function agrees(found: Json, wanted: Json): boolean {
  if (isObject(wanted) && wanted['loose'] === true)
    return found === null || (isObject(found) && found['of'] === wanted['of']);
  if (Array.isArray(wanted))
    return (
      Array.isArray(found) &&
      found.length === wanted.length &&
      wanted.every((item, index) => agrees(found[index] ?? null, item))
    );
  if (!isObject(wanted)) return found === wanted;
  return (
    isObject(found) &&
    Object.keys(found).length === Object.keys(wanted).length &&
    Object.entries(wanted).every(([key, item]) => key in found && agrees(found[key] ?? null, item))
  );
}

/** Checks the values of a stack that has reached its plan. @throws Error that names the value */
export function checkValues(world: CheckedWorld, { stack, plan, resources }: State): void {
  const names = namesIn(world, stack.id, [...resources.values()]);
  const nameOf = (id: string): string => names.get(id) ?? `a resource that is gone, ${id}`;
  const scope: Scope = { plan, resources: [...resources.values()], world, nameOf };
  const check = (what: string, found: Json, wanted: Json): void => {
    const plain = named(found, nameOf);
    must(agrees(plain, wanted), `${what} is ${JSON.stringify(plain)}, but the plan says ${JSON.stringify(wanted)}`);
  };
  for (const resource of scope.resources) {
    const planned = plan.resources[resource.name];
    if (!planned || isLoose(world, resource)) continue;
    const { queue: _, ...properties } = resource.properties;
    check(`the properties of ${resource.name}`, properties, propertiesOf(scope, planned));
    check(`the output of ${resource.name}`, resource.attributes['output'] ?? null, outputIn(scope, resource.name));
  }
  check(`the outputs of ${stack.id}`, outputsOf(plan, scope.resources), plainOutputs(scope));
}

/** The names of the resources of all stacks, by id, and by the random value that was drawn for each. */
function namesIn(world: CheckedWorld, id: string, resources: readonly ResourceDocument[]): Map<string, string> {
  const all = [...resources];
  for (const [stack, { stored }] of world.shells) if (stack !== id) all.push(...stored.resources.values());
  return new Map(
    all.flatMap((resource): [string, string][] => [
      [resource.id, resource.name],
      [`drawn ${world.books.drawn.get(resource.id) ?? resource.id}`, resource.name],
    ]),
  );
}
