/** Alarms, and the credentials of those who measure. */
import type { Json } from '@anneal/contracts/json.ts';
import { seenIn, type TypeEntry } from './entry.ts';

const alarms = 'services/notification/measuring/alarms/alarms.service.test.ts';
const conditions = 'services/notification/measuring/alarms/rules/conditions.test.ts';
const alerts = 'services/notification/measuring/alarms/rules/alerts.test.ts';
const evaluation = 'services/notification/measuring/alarms/rules/evaluate.test.ts';

const targets = 'alarm_actions ok_actions insufficient_data_actions description enabled repeat_actions severity';
/** Keys that must be there, and have no other value that means the same. */
const start = seenIn(conditions, 'time_constraints[].start');
const seenOfAodh = {
  ...seenIn(alarms, `${targets} alarm_queues ok_queues insufficient_data_queues time_constraints`),
  ...seenIn(conditions, 'time_constraints[].name time_constraints[].duration time_constraints[].timezone'),
};
const ofQuery = seenIn(conditions, 'query[].field query[].type query[].op query[].value');
const seenOfGnocchi = {
  ...seenOfAodh,
  ...seenIn(alarms, 'comparison_operator threshold evaluation_periods aggregation_method granularity'),
};

const hook = ['http://example.org/@'];
const morning = [{ name: '@', description: '@', start: '0 8 * * *', duration: 60, timezone: 'Europe/Berlin' }];
const common = { description: '@', enabled: false, alarm_actions: hook, ok_actions: hook, repeat_actions: false };
const actions = { ...common, insufficient_data_actions: hook, severity: 'critical' };
const queues = { alarm_queues: ['@'], ok_queues: ['@'], insufficient_data_queues: ['@'] };
const aodh = { ...actions, ...queues, time_constraints: morning };
const own = { ...actions, value_actions: hook };
const compares = { comparison_operator: 'lt', threshold: 7, evaluation_periods: 3 };
const query = [{ field: 'metadata.user_metadata.a', type: 'integer', op: 'lt', value: '@' }];

/** No alarm is evaluated while its twin is not: the next end of a period is far away. */
const hour = 3600;

const meter: TypeEntry = {
  base: { meter_name: 'cpu', threshold: 1, period: hour },
  values: {
    ...aodh,
    ...compares,
    meter_name: '@',
    period: 2 * hour,
    statistic: 'max',
    matching_metadata: { a: '@' },
    query,
  },
  keeps: {
    ...seenOfAodh,
    ...ofQuery,
    ...seenIn(
      alarms,
      'comparison_operator threshold evaluation_periods meter_name period statistic matching_metadata query',
    ),
  },
};
const gnocchi = { ...aodh, ...compares, aggregation_method: 'max', granularity: 2 * hour };
const hourly = { threshold: 1, granularity: hour };
const byMetrics: TypeEntry = {
  base: { metrics: ['cpu'], ...hourly },
  values: { ...gnocchi, metrics: ['@'] },
  keeps: { ...seenOfGnocchi, ...seenIn(alarms, 'metrics') },
};
const ofGroup = '{"=": {"server_group": "@"}}';
const byResources: TypeEntry = {
  base: { metric: 'cpu', query: '{"=": {"server_group": "g"}}', resource_type: 'instance', ...hourly },
  values: { ...gnocchi, metric: '@', query: ofGroup, resource_type: 'host' },
  keeps: { ...seenOfGnocchi, ...seenIn(alarms, 'metric query') },
};
const ofResource: TypeEntry = {
  base: { metric: 'cpu', resource_id: 'r', resource_type: 'instance', ...hourly },
  values: { ...gnocchi, metric: '@', resource_id: '@', resource_type: 'host' },
  keeps: { ...seenOfGnocchi, ...seenIn(alarms, 'metric resource_id') },
};
const watch: TypeEntry = {
  base: {
    ComparisonOperator: 'GreaterThanThreshold',
    EvaluationPeriods: '1',
    MetricName: 'cpu',
    Namespace: 'n',
    Period: String(hour),
    Statistic: 'Average',
    Threshold: '1',
  },
  values: {
    ComparisonOperator: 'LessThanThreshold',
    EvaluationPeriods: '3',
    MetricName: '@',
    Namespace: '@',
    Period: String(2 * hour),
    Statistic: 'Maximum',
    Threshold: '7',
    AlarmDescription: '@',
    AlarmActions: hook,
    OKActions: hook,
    InsufficientDataActions: hook,
    Dimensions: [{ a: '@' }] satisfies Json,
    Units: '@',
  },
  keeps: seenIn(
    alarms,
    'ComparisonOperator EvaluationPeriods MetricName Namespace Period Statistic Threshold AlarmDescription AlarmActions OKActions InsufficientDataActions Dimensions',
  ),
};

const entries: Readonly<Record<string, TypeEntry>> = {
  'Anneal::Alarm': {
    base: { metric: 'cpu', threshold: 1, period: hour },
    values: {
      ...own,
      metric: '@',
      threshold: 7,
      labels: { a: '@' },
      aggregate: 'max',
      period: 2 * hour,
      periods: 3,
      datapoints: 1,
      comparison: 'lt',
      missing: 'breaching',
      warm_up: 30,
    },
    with: { datapoints: { periods: 3 } },
    keeps: {
      ...seenIn(
        alarms,
        `${targets} value_actions metric threshold labels aggregate period periods comparison missing warm_up`,
      ),
      ...seenIn(evaluation, 'datapoints'),
    },
  },
  'Anneal::AlertmanagerAlarm': {
    base: { labels: { a: 'b' } },
    values: { ...own, labels: { a: '@' }, value_annotation: '@', stale_after: 600 },
    keeps: { ...seenIn(alarms, `${targets} value_actions`), ...seenIn(alerts, 'labels value_annotation stale_after') },
  },
  'Anneal::Credential': {
    base: { can: ['metrics.post'] },
    values: { can: ['metrics.post', 'events.read'], group: '@', metrics: ['@'], expires: 600 },
    keeps: seenIn('test/system/credentials.test.ts', 'can group metrics expires'),
  },
  'OS::Aodh::Alarm': meter,
  'OS::Metering::Alarm': meter,
  'OS::Ceilometer::Alarm': meter,
  'OS::Aodh::CompositeAlarm': {
    base: {
      composite_rule: {
        operator: 'or',
        rules: [
          { type: 'prometheus', query: 'a', threshold: 1 },
          { type: 'prometheus', query: 'b', threshold: 1 },
        ],
      },
    },
    values: {
      ...aodh,
      composite_rule: {
        operator: 'or',
        rules: [
          { type: 'prometheus', query: '@', threshold: 1 },
          { type: 'prometheus', query: 'b', threshold: 1 },
        ],
      },
    },
    keeps: { ...seenOfAodh, ...seenIn(alarms, 'composite_rule') },
    seen: seenIn(alarms, 'composite_rule.operator composite_rule.rules'),
  },
  'OS::Aodh::EventAlarm': {
    base: { event_type: 'e' },
    values: { ...aodh, event_type: '@', query: [{ field: 'a', type: 'integer', op: 'lt', value: '@' }] },
    keeps: { ...seenOfAodh, ...ofQuery, ...seenIn(alarms, 'event_type query') },
  },
  'OS::Aodh::GnocchiAggregationByMetricsAlarm': byMetrics,
  'OS::Ceilometer::GnocchiAggregationByMetricsAlarm': byMetrics,
  'OS::Aodh::GnocchiAggregationByResourcesAlarm': byResources,
  'OS::Ceilometer::GnocchiAggregationByResourcesAlarm': byResources,
  'OS::Aodh::GnocchiResourcesAlarm': ofResource,
  'OS::Ceilometer::GnocchiResourcesAlarm': ofResource,
  'OS::Aodh::PrometheusAlarm': {
    base: { query: 'cpu', threshold: 1 },
    values: { ...aodh, query: '@', threshold: 7, comparison_operator: 'lt' },
    keeps: { ...seenOfAodh, ...seenIn(alarms, 'query threshold comparison_operator') },
  },
  'AWS::CloudWatch::Alarm': watch,
  'OS::Heat::CWLiteAlarm': watch,
  'AWS::IAM::User': {
    values: { Path: '@', Groups: ['@'], LoginProfile: { Password: '@' }, Policies: ['@'] },
  },
  'AWS::IAM::AccessKey': {
    values: { UserName: '@' },
    seen: seenIn('test/programs/collectors/push-stats.test.ts', 'UserName'),
  },
};

/** The service compares measurements with the values, and calls the addresses. */
export const measuringEntries: Readonly<Record<string, TypeEntry>> = Object.fromEntries(
  Object.entries(entries).map(([type, entry]) => {
    const seen = { ...(Object.hasOwn(entry.values, 'time_constraints') && start), ...entry.seen };
    return [type, { ...entry, seen, opens: true }];
  }),
);
