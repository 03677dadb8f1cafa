/** An alarm as the properties of its resource define it. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { hostTypes, longestPeriod, mostPeriods } from '@anneal/hot/types/alarm-limits.ts';
import { missingPolicies, type AlarmState, type CompositePart, type Limit, type PointsRule } from './evaluate.ts';
import { comparisons, meterField, parseSearch, type LimitComparison, type LabelFilter } from './filter.ts';
import { AlarmProperties, propertyText, type AlarmSetting } from './properties.ts';
import { cronProblem } from '@anneal/contracts/readers/cron.ts';
import type { TimeWindow } from './window.ts';

export interface ThresholdRule extends PointsRule {
  readonly kind: 'threshold';
  readonly metrics: readonly string[];
  /** `metrics` are ids of series, or names. */
  readonly byId: boolean;
  readonly where: LabelFilter;
  readonly aggregate: string;
  /** In seconds. */
  readonly granularity: number;
  /** Series that are younger than so many seconds do not count. */
  readonly warmUp: number;
}
export interface PrometheusRule extends Limit {
  readonly kind: 'prometheus';
  readonly query: string;
}
export interface AlertsRule {
  readonly kind: 'alerts';
  readonly labels: Readonly<Record<string, string>>;
  readonly valueAnnotation: string;
  /** Seconds; null: a notification counts until the next one. */
  readonly staleAfter: number | null;
}
export interface EventRule {
  readonly kind: 'event';
  readonly event_type: string;
  readonly query: readonly { field: string; type: string; op: LimitComparison; value: string }[];
}
export interface CompositeRule {
  readonly kind: 'composite';
  readonly parts: readonly (ThresholdRule | PrometheusRule)[];
  readonly tree: CompositePart;
}
export type AlarmRule = ThresholdRule | PrometheusRule | EventRule | AlertsRule | CompositeRule;

export interface AlarmDefinition {
  readonly description: string;
  readonly enabled: boolean;
  readonly repeat: boolean;
  readonly severity: string;
  readonly windows: readonly TimeWindow[];
  /** Targets by state. */
  readonly actions: Readonly<Record<AlarmState, readonly string[]>>;
  /** Targets that get the value of every evaluation that has one. */
  readonly values: readonly string[];
  readonly rule: AlarmRule;
}

const amazonComparisons: Readonly<Record<string, LimitComparison>> = {
  GreaterThanOrEqualToThreshold: 'ge',
  GreaterThanThreshold: 'gt',
  LessThanThreshold: 'lt',
  LessThanOrEqualToThreshold: 'le',
};
const none: LabelFilter = { all: [] };

/** The type of an alarm without the prefix of its service, which has had several names. */
const shapeOf = (type: string): string => type.replace(/^OS::(?:Aodh|Ceilometer|Metering)::/, '');
export const isAlarmType = (type: string): boolean => Object.hasOwn(shapes, shapeOf(type));

type Shape = (reader: AlarmProperties) => AlarmRule;

const threshold = (
  reader: AlarmProperties,
  more: Partial<ThresholdRule> & Pick<ThresholdRule, 'metrics'>,
): ThresholdRule => {
  const periods = reader.integer('evaluation_periods', 1, [1, mostPeriods]);
  return {
    kind: 'threshold',
    byId: false,
    where: none,
    comparison: reader.comparison('comparison_operator', 'eq'),
    threshold: reader.number('threshold'),
    aggregate: reader.aggregate('aggregation_method'),
    granularity: reader.granularity('granularity'),
    periods,
    datapoints: periods,
    missing: 'insufficient',
    warmUp: 0,
    ...more,
  };
};

function resourceType(reader: AlarmProperties): void {
  const type = reader.required('resource_type');
  if (type === '' || hostTypes.includes(type)) return;
  reader.mistake('resource_type', `"${type}" is not known; use one of ${hostTypes.join(', ')}`);
}

function search(reader: AlarmProperties): LabelFilter {
  try {
    return parseSearch(reader.required('query') || '{"and": []}');
  } catch (error) {
    if (!(error instanceof AnnealError)) throw error;
    reader.mistake('query', error.message);
    return none;
  }
}

const fieldConditions = (reader: AlarmProperties): EventRule['query'] =>
  reader.maps('query').map(({ field, type, op, value }) => ({
    field: propertyText(field),
    type: propertyText(type) || 'string',
    op: comparisons.find((each) => each === op) ?? 'eq',
    value: propertyText(value),
  }));

const samples = (reader: AlarmProperties): LabelFilter[] =>
  fieldConditions(reader).map(({ field, type, op, value }) => ({ field: meterField(field), type, compare: op, value }));

const meter: Shape = (reader) => {
  const periods = reader.integer('evaluation_periods', 1, [1, mostPeriods]);
  const { matching_metadata: matching } = reader.properties;
  const conditions = Object.entries(isObject(matching) ? matching : {}).map(([field, value]): LabelFilter => ({
    field: meterField(field),
    compare: 'eq',
    value: propertyText(value),
  }));
  return {
    ...threshold(reader, { metrics: [reader.required('meter_name')] }),
    where: { all: [...conditions, ...samples(reader)] },
    aggregate: reader.aggregate('statistic', 'avg'),
    granularity: reader.granularity('period'),
    periods,
    datapoints: periods,
  };
};

/** cfn-push-stats names the alarm that a value is for, and its namespace. Values of other posters have neither. */
const givenOr = (field: string, values: readonly string[]): LabelFilter => ({
  any: [
    { not: { field, compare: 'like', value: '%' } },
    ...values.filter((value) => value !== '').map((value): LabelFilter => ({ field, compare: 'eq', value })),
  ],
});

const cloudWatch: Shape = (reader) => {
  const periods = reader.integer('EvaluationPeriods', 1, [1, mostPeriods]);
  const dimensions = reader.maps('Dimensions').map((each): LabelFilter => ({
    field: propertyText(each['Name']),
    compare: 'eq',
    value: propertyText(each['Value']),
  }));
  return {
    kind: 'threshold',
    metrics: [reader.required('MetricName')],
    byId: false,
    where: {
      all: [...dimensions, givenOr('Namespace', [reader.text('Namespace')]), givenOr('AlarmName', reader.self)],
    },
    comparison: reader.comparison('ComparisonOperator', 'gt', amazonComparisons),
    threshold: reader.number('Threshold'),
    aggregate: reader.aggregate('Statistic'),
    granularity: reader.granularity('Period'),
    periods,
    datapoints: periods,
    missing: 'insufficient',
    warmUp: 0,
  };
};

const own: Shape = (reader) => {
  const periods = reader.integer('periods', 1, [1, mostPeriods]);
  const { labels } = reader.properties;
  const where = Object.entries(isObject(labels) ? labels : {}).map(([field, value]): LabelFilter => ({
    field,
    compare: 'eq',
    value: propertyText(value),
  }));
  return {
    kind: 'threshold',
    metrics: [reader.required('metric')],
    byId: false,
    where: { all: where },
    comparison: reader.comparison('comparison', 'gt'),
    threshold: reader.number('threshold'),
    aggregate: reader.aggregate('aggregate'),
    granularity: reader.granularity('period'),
    periods,
    datapoints: reader.integer('datapoints', periods, [1, periods]),
    missing: missingPolicies.find((each) => each === reader.text('missing')) ?? 'keep',
    warmUp: reader.integer('warm_up', 0, [0, longestPeriod]),
  };
};

const prometheus: Shape = (reader) => ({
  kind: 'prometheus',
  query: reader.required('query'),
  threshold: reader.number('threshold'),
  comparison: reader.comparison('comparison_operator', 'eq'),
});

const alerts: Shape = (reader) => {
  const { labels, stale_after: stale } = reader.properties;
  return {
    kind: 'alerts',
    labels: Object.fromEntries(
      Object.entries(isObject(labels) ? labels : {}).map(([name, value]) => [name, propertyText(value)]),
    ),
    valueAnnotation: reader.text('value_annotation', 'value'),
    staleAfter: typeof stale === 'number' ? stale : null,
  };
};

const eventRule: Shape = (reader) => ({
  kind: 'event',
  event_type: reader.text('event_type', '*'),
  query: fieldConditions(reader),
});

const byResources: Shape = (reader) => {
  resourceType(reader);
  return threshold(reader, { metrics: [reader.required('metric')], where: search(reader) });
};
const byResource: Shape = (reader) => {
  resourceType(reader);
  const where: LabelFilter = { field: 'resource_id', compare: 'eq', value: reader.required('resource_id') };
  return threshold(reader, { metrics: [reader.required('metric')], where });
};
const byMetrics: Shape = (reader) => {
  if (reader.texts('metrics').length === 0) reader.mistake('metrics', 'must name at least one series');
  return threshold(reader, { metrics: reader.texts('metrics'), byId: true });
};

const partShapes: Readonly<Record<string, Shape>> = {
  gnocchi_resources_threshold: byResource,
  gnocchi_aggregation_by_metrics_threshold: byMetrics,
  gnocchi_aggregation_by_resources_threshold: byResources,
  prometheus,
};
const mostParts = 50;

const compositeRule: Shape = (reader) => {
  const parts: (ThresholdRule | PrometheusRule)[] = [];
  const walk = (operator: string, rules: Json | undefined, path: string): CompositePart => {
    const known = operator === 'and' || operator === 'or' ? operator : 'and';
    const list = Array.isArray(rules) ? rules.filter(isObject) : [];
    if (list.length < 2) reader.mistake(path, 'must be a list of at least two rules');
    return {
      operator: known,
      parts: list.map((rule, index): CompositePart | number => {
        const at = `${path}.${index}`;
        const nested = (['and', 'or'] as const).find((each) => Object.hasOwn(rule, each));
        if (nested && parts.length < mostParts) return walk(nested, rule[nested], `${at}.${nested}`);
        const type = propertyText(rule['type']);
        const shape = Object.hasOwn(partShapes, type) ? partShapes[type] : undefined;
        if (!shape || parts.length >= mostParts) {
          reader.mistake(
            `${at}.type`,
            `must be one of ${Object.keys(partShapes).join(', ')}, and at most ${mostParts} rules`,
          );
          return -1;
        }
        parts.push(shape(reader.within(rule, at)) as ThresholdRule | PrometheusRule);
        return parts.length - 1;
      }),
    };
  };
  const given = reader.properties['composite_rule'];
  const rule = isObject(given) ? given : {};
  const tree = walk(propertyText(rule['operator']), rule['rules'], 'composite_rule.rules');
  return { kind: 'composite', parts, tree };
};

const shapes: Readonly<Record<string, Shape>> = {
  Alarm: meter,
  GnocchiResourcesAlarm: byResource,
  GnocchiAggregationByMetricsAlarm: byMetrics,
  GnocchiAggregationByResourcesAlarm: byResources,
  PrometheusAlarm: prometheus,
  EventAlarm: eventRule,
  CompositeAlarm: compositeRule,
  'AWS::CloudWatch::Alarm': cloudWatch,
  'OS::Heat::CWLiteAlarm': cloudWatch,
  'Anneal::Alarm': own,
  'Anneal::AlertmanagerAlarm': alerts,
};

const queueAction = (name: string): string => `trust+zaqar://?queue_name=${encodeURIComponent(name)}`;

/**
 * The alarm that the properties define.
 * @throws AnnealError InvalidRequest with every mistake
 */
export function definitionOf(type: string, properties: JsonObject, given: AlarmSetting): AlarmDefinition {
  const reader = new AlarmProperties(properties, given);
  const rule = shapes[shapeOf(type)]?.(reader);
  const isAmazon = type === 'AWS::CloudWatch::Alarm' || type === 'OS::Heat::CWLiteAlarm';
  const actions = (state: string, amazon: string): string[] => [
    ...new Set([
      ...reader.texts(isAmazon ? amazon : `${state}_actions`),
      ...reader.texts(`${state}_queues`).map(queueAction),
    ]),
  ];
  const windows = reader.maps('time_constraints').map((each, index): TimeWindow => {
    const start = propertyText(each['start']);
    const problem = cronProblem(start);
    if (problem) reader.mistake(`time_constraints.${index}.start`, `"${start}" is no schedule: ${problem.message}`);
    const timezone = typeof each['timezone'] === 'string' ? each['timezone'] : null;
    return { name: propertyText(each['name']), start, duration: Number(each['duration'] ?? 0), timezone };
  });
  const names = windows.map(({ name }) => name);
  if (new Set(names).size < names.length) reader.mistake('time_constraints', 'must have names that differ');
  if (!rule || reader.mistakes.length > 0) {
    const text = reader.mistakes.map(({ path, message }) => `${path}: ${message}`).join('; ');
    throw new AnnealError('InvalidRequest', `Cannot create the alarm: ${text || `${type} is not an alarm`}.`, {
      mistakes: reader.mistakes,
    });
  }
  return {
    description: reader.text(isAmazon ? 'AlarmDescription' : 'description'),
    enabled: reader.boolean('enabled', true),
    repeat: type === 'AWS::CloudWatch::Alarm' || (!isAmazon && reader.boolean('repeat_actions', true)),
    severity: reader.text('severity', 'low'),
    windows,
    actions: {
      alarm: actions('alarm', 'AlarmActions'),
      ok: actions('ok', 'OKActions'),
      'insufficient data': actions('insufficient_data', 'InsufficientDataActions'),
    },
    values: reader.texts('value_actions'),
    rule,
  };
}
