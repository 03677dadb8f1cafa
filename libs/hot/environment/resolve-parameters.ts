/** Computes the value of every parameter from the template's schemas and the given values. */
import type { Json } from '@anneal/contracts/json.ts';
import type { PlanParameter, PlanSource } from '@anneal/contracts/plan.ts';
import type { Environment } from './environment.ts';
import { join, listed, type Mistakes, nearestName } from '../mistakes.ts';
import { isNull, type YamlNode, shown, toExact, toRecord } from '@anneal/python/yaml/node.ts';
import type { ParameterSchema } from '../parameters/parameter-schema.ts';
import { type Reason, why } from '../evaluate/reason.ts';
import { breaches, convertNode } from '../parameters/parameter-value.ts';
import { parameterText } from '../parameters/parameter-text.ts';
import { plain } from '@anneal/python/values/exact.ts';
import { pythonEqual } from '@anneal/python/values/compare.ts';
import type { EvaluationWork } from '../evaluate/work.ts';

/** The values by name. */
export interface ParameterValues {
  readonly values: Record<string, PlanParameter>;
}

/** The schemas, and every source of values. */
export interface ResolveParameters {
  readonly schemas: ReadonlyMap<string, ParameterSchema>;
  readonly environment: Environment;
  readonly pseudo: Readonly<Record<string, string>>;
  readonly previous: Readonly<Record<string, PlanParameter>> | undefined;
  /** True when a template is validated by itself: values may be missing. */
  readonly missingAllowed: boolean;
  /** The time of the request. Without it, a date that has passed is accepted. */
  readonly now?: Date | undefined;
  readonly mistakes: Mistakes;
  readonly work: EvaluationWork;
}

/** The values. A given value wins over a default, and an immutable one must not change. Mistakes are added. */
export function resolveParameters(options: ResolveParameters): ParameterValues {
  const { schemas, environment, pseudo, previous, mistakes } = options;
  refuseUnknown(options);
  const values = new Map<string, PlanParameter>(
    Object.entries(pseudo).map(([name, value]) => [name, { type: 'string', value, hidden: false }]),
  );
  const changed: string[] = [];
  for (const [name, schema] of schemas) {
    if (Object.hasOwn(pseudo, name)) continue;
    const value = valueOf(schema, options);
    if (value === undefined) continue;
    values.set(name, {
      type: schema.type,
      value,
      ...(!schema.hidden && plain(value) !== value && { text: parameterText(schema.type, value) }),
      hidden: schema.hidden,
      ...(schema.immutable && { immutable: true }),
      ...(schema.description !== undefined && { description: schema.description }),
    });
    const before = previous && Object.hasOwn(previous, name) ? previous[name] : undefined;
    if (schema.immutable && before && !pythonEqual(before.value, value)) changed.push(name);
  }
  if (changed.length > 0) {
    const message = `The following parameters are immutable and may not be updated: ${changed.sort().join(', ')}`;
    const [first = ''] = changed;
    const at = environment.parameters.get(first)?.at ?? schemas.get(first)?.at;
    mistakes.add({ code: 'ImmutableParameter', message, path: join('parameters', first), at });
  }
  return { values: toRecord(values) };
}

function refuseUnknown({ schemas, environment, mistakes }: ResolveParameters): void {
  for (const [name, entry] of environment.parameters) {
    if (schemas.has(name)) continue;
    const nearest = nearestName(name, schemas.keys());
    const message = `The Parameter (${name}) was not defined in template.`;
    const expected = listed(schemas.keys());
    mistakes.add({
      code: 'UnknownParameter',
      message,
      path: join('parameters', name),
      at: entry.at,
      expected,
      found: name,
      nearest,
    });
  }
}

interface Refusal {
  /** The default value of the template that breaks the rule. */
  readonly fallback?: Json;
  /** The type that the value does not have. */
  readonly expected?: string;
}

function valueOf(schema: ParameterSchema, options: ResolveParameters): Json | undefined {
  const { environment, mistakes, now, work } = options;
  const { name, type, constraints } = schema;
  const path = join('parameters', name);
  const usable = (node: YamlNode | undefined): node is YamlNode => node !== undefined && !isNull(node);
  const given = [environment.parameters.get(name)?.value, environment.defaults.get(name)?.value].find(usable);

  const refuse = (problem: Reason, at: PlanSource | undefined, { fallback, expected }: Refusal = {}): void => {
    const fits = fallback === undefined ? problem : why`Invalid default ${shown(fallback)} (${problem})`;
    mistakes.add({
      code: 'InvalidParameter',
      message: `Parameter '${name}' is invalid: ${schema.hidden ? fits.masked : fits.full}`,
      path: fallback === undefined ? path : join(path, 'default'),
      at,
      ...(expected !== undefined && { expected }),
    });
  };
  const check = (node: YamlNode, at: PlanSource | undefined): Json | undefined => {
    const converted = convertNode(type, node);
    if ('problem' in converted) refuse(converted.problem, at, { expected: type });
    else {
      const value = type === 'string' ? toExact(node) : converted.value;
      for (const problem of breaches({ type, value, constraints, now, work })) refuse(problem, at);
    }
    return 'value' in converted ? converted.value : undefined;
  };
  const count = mistakes.count;
  if (schema.default) {
    // Use the default as written, even when another value is given.
    const list = type === 'comma_delimited_list' ? convertNode(type, schema.default) : undefined;
    const written = toExact(schema.default);
    const value = list && 'value' in list ? (written === '' ? [''] : list.value) : written;
    const at = schema.default.at ?? schema.at;
    if (list && 'problem' in list) refuse(list.problem, at, { fallback: value, expected: type });
    for (const problem of breaches({ type, value, constraints, skipCustom: true, work }))
      refuse(problem, at, { fallback: value });
  }
  // A value of a request has no place: it is not at the line of the template that declares the parameter.
  if (given) return check(given, given.at);
  if (schema.default) return mistakes.count > count ? undefined : check(schema.default, schema.default.at ?? schema.at);
  if (!options.missingAllowed) {
    const message = `The Parameter (${name}) was not provided.`;
    mistakes.add({ code: 'MissingParameter', message, path, at: schema.at, expected: `a value of type ${type}` });
  }
  return undefined;
}
