/** Alarms, and the credentials of those who measure. */
import type { Json } from '@anneal/contracts/json.ts';
import type { TypeEntry } from './twins.ts';

const hook = ['http://example.org/@'];
const morning = [{ name: '@', start: '0 8 * * *', duration: 60 }];
const common = { description: '@', enabled: false, alarm_actions: hook, ok_actions: hook, repeat_actions: false };
const actions = { ...common, insufficient_data_actions: hook, severity: 'critical' };
const queues = { alarm_queues: ['@'], ok_queues: ['@'], insufficient_data_queues: ['@'] };
const aodh = { ...actions, ...queues, time_constraints: morning };
const own = { ...actions, value_actions: hook };
const compares = { comparison_operator: 'lt', threshold: 7, evaluation_periods: 3 };
const query = [{ field: 'metadata.user_metadata.a', op: 'eq', value: '@' }];

const meter: TypeEntry = {
  base: { meter_name: 'cpu', threshold: 1 },
  values: {
    ...aodh,
    ...compares,
    meter_name: '@',
    period: 120,
    statistic: 'max',
    matching_metadata: { a: '@' },
    query,
  },
};
const gnocchi = { ...aodh, ...compares, aggregation_method: 'max', granularity: 120 };
const byMetrics: TypeEntry = { base: { metrics: ['cpu'], threshold: 1 }, values: { ...gnocchi, metrics: ['@'] } };
const ofGroup = '{"=": {"server_group": "@"}}';
const byResources: TypeEntry = {
  base: { metric: 'cpu', query: '{"=": {"server_group": "g"}}', resource_type: 'instance', threshold: 1 },
  values: { ...gnocchi, metric: '@', query: ofGroup, resource_type: 'instance' },
};
const ofResource: TypeEntry = {
  base: { metric: 'cpu', resource_id: 'r', resource_type: 'instance', threshold: 1 },
  values: { ...gnocchi, metric: '@', resource_id: '@', resource_type: 'instance' },
};
const watch: TypeEntry = {
  base: {
    ComparisonOperator: 'GreaterThanThreshold',
    EvaluationPeriods: '1',
    MetricName: 'cpu',
    Namespace: 'n',
    Period: '60',
    Statistic: 'Average',
    Threshold: '1',
  },
  values: {
    ComparisonOperator: 'LessThanThreshold',
    EvaluationPeriods: '3',
    MetricName: '@',
    Namespace: '@',
    Period: '120',
    Statistic: 'Maximum',
    Threshold: '7',
    AlarmDescription: '@',
    AlarmActions: hook,
    OKActions: hook,
    InsufficientDataActions: hook,
    Dimensions: [{ a: '@' }] satisfies Json,
    Units: '@',
  },
};

const entries: Readonly<Record<string, TypeEntry>> = {
  'Anneal::Alarm': {
    base: { metric: 'cpu', threshold: 1 },
    values: {
      ...own,
      metric: '@',
      threshold: 7,
      labels: { a: '@' },
      aggregate: 'max',
      period: 120,
      periods: 3,
      datapoints: 1,
      comparison: 'lt',
      missing: 'breaching',
      warm_up: 30,
    },
  },
  'Anneal::AlertmanagerAlarm': {
    base: { labels: { a: 'b' } },
    values: { ...own, labels: { a: '@' }, value_annotation: '@', stale_after: 600 },
  },
  'Anneal::Credential': {
    base: { can: ['metrics.post'] },
    values: { can: ['metrics.post', 'events.read'], group: '@', metrics: ['@'], expires: 600 },
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
  },
  'OS::Aodh::EventAlarm': {
    base: { event_type: 'e' },
    values: { ...aodh, event_type: '@', query: [{ field: 'a', op: 'eq', value: '@' }] },
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
  },
  'AWS::CloudWatch::Alarm': watch,
  'OS::Heat::CWLiteAlarm': watch,
  'AWS::IAM::User': {
    values: { Path: '@', Groups: ['@'], LoginProfile: { Password: '@' }, Policies: ['@'] },
  },
  'AWS::IAM::AccessKey': { values: { UserName: '@' } },
};

/** The service compares measurements with the values, and calls the addresses. */
export const measuringEntries: Readonly<Record<string, TypeEntry>> = Object.fromEntries(
  Object.entries(entries).map(([type, entry]) => [type, { ...entry, opens: true }]),
);
