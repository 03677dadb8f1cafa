/**
 * Limits of the alarms here, as constraints of their types: a value that the provider would refuse is refused
 * when the template is validated.
 */
import type { Constraint, PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';

/** The stored period of measurements unless an operator sets another, in seconds. */
export const defaultPeriod = 10;
/** The longest period of an alarm, in seconds. */
export const longestPeriod = 86_400;
/** The largest number of periods that an alarm compares. */
export const mostPeriods = 100;
/** Types of Gnocchi's resources that have a host. */
export const hostTypes: readonly string[] = ['instance', 'host', 'server', 'generic'];
/** Names that Aodh and CloudWatch have for the statistics here. */
export const statisticNames: Readonly<Record<string, string>> = {
  avg: 'mean',
  Average: 'mean',
  SampleCount: 'count',
  Sum: 'sum',
  Minimum: 'min',
  Maximum: 'max',
};
/** The refusal of an unknown aggregate. */
export const aggregateText =
  'must be mean, min, max, sum, count, last, median, 1pct to 99pct, rate, or rate: and one of them';

const within = (min: number, max: number): Constraint => ({
  range: { min, max },
  description: `must be an integer from ${min} to ${max}`,
});
const aggregates: Constraint = {
  allowed_pattern: `(?:rate:)?(?:mean|min|max|sum|count|last|median|[1-9][0-9]?pct)|rate|${Object.keys(statisticNames).join('|')}`,
  description: aggregateText,
};

function limitsOf(period: number): Readonly<Record<string, readonly Constraint[]>> {
  const description = `must be a multiple of the stored period, ${period} s`;
  const lengths = [within(1, longestPeriod), { modulo: { step: period, offset: 0 }, description }];
  const counts = [within(1, mostPeriods)];
  return {
    period: lengths,
    Period: lengths,
    granularity: lengths,
    evaluation_periods: counts,
    EvaluationPeriods: counts,
    periods: counts,
    datapoints: counts,
    warm_up: [within(0, longestPeriod)],
    aggregate: [aggregates],
    aggregation_method: [aggregates],
    resource_type: [{ allowed_values: [...hostTypes] }],
  };
}

/** The types with these constraints, for measurements that are stored with this period. */
export function withAlarmLimits(types: readonly ResourceType[], period: number): ResourceType[] {
  const limits = limitsOf(period);
  const limited = (name: string, schema: PropertySchema): PropertySchema =>
    Object.hasOwn(limits, name)
      ? { ...schema, constraints: [...(schema.constraints ?? []), ...(limits[name] ?? [])] }
      : schema;
  return types.map((type) => ({
    ...type,
    properties: Object.fromEntries(
      Object.entries(type.properties).map(([name, schema]) => [name, limited(name, schema)]),
    ),
  }));
}
