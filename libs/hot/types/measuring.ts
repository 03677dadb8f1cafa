/** Types that the notification service provides: alarms on measurements and events, and credentials of programs. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { aodhTypes } from './openstack/aodh.ts';
import { awsTypes } from './openstack/aws.ts';
import { defaultPeriod, withAlarmLimits } from './alarm-limits.ts';
import { boolean, integer, list, listOf, map, number, oneOf, string } from './schema.ts';

const updated = { update_allowed: true } as const;

/** Alarms of CloudWatch, as Heat knows them. */
const cloudWatch = (type: string, description: string): ResourceType => ({
  type,
  description,
  properties: {
    ComparisonOperator: string({
      required: true,
      ...updated,
      constraints: oneOf(
        'GreaterThanOrEqualToThreshold',
        'GreaterThanThreshold',
        'LessThanThreshold',
        'LessThanOrEqualToThreshold',
      ),
      description: 'How a value is compared with the threshold to be in alarm.',
    }),
    EvaluationPeriods: string({
      required: true,
      ...updated,
      description: 'The number of latest periods that are compared.',
    }),
    MetricName: string({ required: true, description: 'Name of the measurements.' }),
    Namespace: string({
      ...(type === 'AWS::CloudWatch::Alarm' ? { default: 'system/linux' } : { required: true }),
      description: 'Measurements with another label `Namespace` do not count.',
    }),
    Period: string({ required: true, ...updated, description: 'Seconds of a period.' }),
    Statistic: string({
      required: true,
      ...updated,
      constraints: oneOf('SampleCount', 'Average', 'Sum', 'Minimum', 'Maximum'),
      description: 'Statistic of each period.',
    }),
    Threshold: string({ required: true, ...updated, description: 'The value that measurements are compared with.' }),
    AlarmDescription: string({ ...updated, description: 'Description of the alarm.' }),
    AlarmActions: list({ ...updated, description: 'Targets in the state alarm: resources of the stack, or URLs.' }),
    OKActions: list({ ...updated, description: 'Targets in the state ok.' }),
    InsufficientDataActions: list({ ...updated, description: 'Targets in the state insufficient data.' }),
    Dimensions: list({ description: 'Labels that the measurements have: `{Name: …, Value: …}`.' }),
    Units: string({ ...updated, description: 'Without effect: the unit of the measurements.' }),
  },
  attributes: {},
});

/** The targets of Anneal's own alarms. */
const ownActions = {
  alarm_actions: list({ ...updated, description: 'Targets in the state alarm: resources of the stack, or URLs.' }),
  ok_actions: list({ ...updated, description: 'Targets in the state ok.' }),
  insufficient_data_actions: list({ ...updated, description: 'Targets in the state insufficient data.' }),
  value_actions: list({
    ...updated,
    description: 'Targets that get the latest value of every period as `value`, for target tracking.',
  }),
  repeat_actions: boolean({ default: true, ...updated, description: 'Repeat the actions at every evaluation.' }),
  enabled: boolean({
    default: true,
    ...updated,
    description: 'False: the alarm is not evaluated, and its state stays.',
  }),
  severity: string({
    default: 'low',
    ...updated,
    constraints: oneOf('low', 'moderate', 'critical'),
    description: 'How serious the alarm is. Targets receive it; Anneal does not use it.',
  }),
  description: string({ ...updated, description: 'Description of the alarm.' }),
};

/** Its alerts come as signals to `alert_url`. */
const alertmanager: ResourceType = {
  type: 'Anneal::AlertmanagerAlarm',
  description: 'Has the state of alerts that Alertmanager posts to its `alert_url`.',
  properties: {
    labels: map({
      default: {},
      ...updated,
      description: 'Labels that an alert must have. Default: every alert counts.',
    }),
    value_annotation: string({
      default: 'value',
      ...updated,
      description: 'Annotation of an alert with a number, which `value_actions` get; the largest of all firing alerts.',
    }),
    stale_after: integer({
      ...updated,
      constraints: [{ range: { min: 1, max: 31_536_000 } }],
      description:
        'Seconds without a notification after which the state is insufficient data. Longer than the `repeat_interval` of Alertmanager. Default: never.',
    }),
    ...ownActions,
  },
  attributes: {
    show: { type: 'Map', description: 'All data of the alarm.' },
    alert_url: {
      type: 'String',
      description: 'The URL to which Alertmanager posts. It needs no login and is a secret.',
    },
  },
};

const alarm: ResourceType = {
  type: 'Anneal::Alarm',
  description: 'Compares measurements with a threshold, and notifies policies, webhooks and workflows.',
  properties: {
    metric: string({ required: true, ...updated, description: 'Name of the measurements.' }),
    labels: map({ default: {}, ...updated, description: 'Values of labels that the measurements have.' }),
    aggregate: string({
      default: 'mean',
      ...updated,
      description: 'Statistic of each period: mean, min, max, sum, count, last, median, 95pct, rate, rate:mean, …',
    }),
    period: integer({ default: 60, ...updated, description: 'Seconds of a period.' }),
    periods: integer({ default: 1, ...updated, description: 'The number of latest periods that are compared.' }),
    datapoints: integer({
      ...updated,
      description: 'So many of the periods must be outside the threshold for an alarm. Default: all.',
    }),
    comparison: string({
      default: 'gt',
      ...updated,
      constraints: oneOf('le', 'ge', 'eq', 'lt', 'gt', 'ne'),
      description: 'How a value is compared with the threshold to be in alarm.',
    }),
    threshold: number({ required: true, ...updated, description: 'The value that measurements are compared with.' }),
    missing: string({
      default: 'keep',
      ...updated,
      constraints: oneOf('keep', 'insufficient', 'breaching', 'not_breaching'),
      description:
        'Treatment of periods without a measurement: keep the state, insufficient data, or a value outside or inside.',
    }),
    warm_up: integer({
      default: 0,
      ...updated,
      description: 'Seconds in which a new series, as of a new member of a group, does not count.',
    }),
    ...ownActions,
  },
  attributes: { show: { type: 'Map', description: 'All data of the alarm.' } },
};

const aliases: Readonly<Record<string, string>> = {
  'OS::Metering::Alarm': 'OS::Aodh::Alarm',
  'OS::Ceilometer::Alarm': 'OS::Aodh::Alarm',
  'OS::Ceilometer::GnocchiResourcesAlarm': 'OS::Aodh::GnocchiResourcesAlarm',
  'OS::Ceilometer::GnocchiAggregationByMetricsAlarm': 'OS::Aodh::GnocchiAggregationByMetricsAlarm',
  'OS::Ceilometer::GnocchiAggregationByResourcesAlarm': 'OS::Aodh::GnocchiAggregationByResourcesAlarm',
};

const prometheus: ResourceType = {
  type: 'OS::Aodh::PrometheusAlarm',
  description: 'Compares the elements of a query to Prometheus with a threshold.',
  properties: {
    ...aodhTypes.find(({ type }) => type === 'OS::Aodh::EventAlarm')?.properties,
    query: string({ required: true, ...updated, description: 'The instant query.' }),
    threshold: number({ required: true, ...updated, description: 'The value that measurements are compared with.' }),
    comparison_operator: string({
      ...updated,
      constraints: oneOf('le', 'ge', 'eq', 'lt', 'gt', 'ne'),
      description: 'How a value is compared with the threshold to be in alarm.',
    }),
  },
  attributes: {},
};
delete prometheus.properties['event_type'];

const credential: ResourceType = {
  type: 'Anneal::Credential',
  description: 'A credential for a program: a token and keys with few rights in the stack.',
  properties: {
    can: listOf(string({ constraints: oneOf('metrics.post', 'events.read', 'hooks.complete') }), {
      required: true,
      description: 'Rights: post measurements, read events, complete lifecycle hooks; all within the root stack.',
    }),
    group: string({ ...updated, description: 'Path of a group, which its measurements get as the label `group`.' }),
    metrics: listOf(string(), { default: [], ...updated, description: 'Names that it may post; empty for all.' }),
    expires: integer({ description: 'Seconds after which it expires. Default: never.' }),
  },
  attributes: {
    token: { type: 'String', description: 'The token: the header `X-Auth-Token` of requests.' },
    access_key: { type: 'String', description: 'The access key for requests that are signed as for AWS.' },
    secret_key: { type: 'String', description: 'The secret key to it.' },
  },
};

/** Types besides those of `aodh.ts` and `aws.ts`. */
export const moreAlarmTypes: readonly ResourceType[] = [
  alarm,
  alertmanager,
  credential,
  cloudWatch('AWS::CloudWatch::Alarm', 'Compares measurements with a threshold, as CloudWatch does.'),
  cloudWatch('OS::Heat::CWLiteAlarm', 'As AWS::CloudWatch::Alarm; acts only when its state changes.'),
  prometheus,
  ...Object.entries(aliases).flatMap(([type, of]) => {
    const found = aodhTypes.find((each) => each.type === of);
    return found ? [{ ...found, type }] : [];
  }),
];

/**
 * The types that the notification service serves when it stores measurements with this period, in seconds. A failed
 * update of an alarm is repaired by the next one.
 */
export const measuringTypesFor = (period: number): ResourceType[] =>
  withAlarmLimits(
    [...aodhTypes, ...awsTypes.filter(({ type }) => type.startsWith('AWS::IAM::')), ...moreAlarmTypes],
    period,
  ).map((type) => ({
    ...type,
    actions: ['check', 'suspend', 'resume', ...(type.type === alertmanager.type ? (['signal'] as const) : [])],
    failed_update: 'repair',
  }));

/** The types that the notification service serves with its default settings. */
export const measuringTypes: readonly ResourceType[] = measuringTypesFor(defaultPeriod);
