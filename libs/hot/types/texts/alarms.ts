/** The meaning of alarms, and of the users of AWS templates. */
import type { TypeTexts } from './type-texts.ts';

const common: TypeTexts = {
  description: 'Description of the alarm.',
  enabled: 'False: the alarm is not evaluated, and its state stays.',
  alarm_actions: 'Targets in the state alarm: resources of the stack, or URLs.',
  ok_actions: 'Targets in the state ok.',
  insufficient_data_actions: 'Targets in the state insufficient data.',
  alarm_queues: 'Queues that get a message in the state alarm.',
  ok_queues: 'Queues that get a message in the state ok.',
  insufficient_data_queues: 'Queues that get a message in the state insufficient data.',
  repeat_actions: 'Repeat the actions at every evaluation, and not only when the state changes.',
  severity: 'How serious the alarm is. Targets receive it; Anneal does not use it.',
  time_constraints: 'Times in which the alarm is evaluated. Absent: always.',
  'time_constraints.name': 'Name of the time.',
  'time_constraints.start': 'When it begins: an expression of cron.',
  'time_constraints.description': 'Description of the time.',
  'time_constraints.duration': 'How long it lasts, in seconds.',
  'time_constraints.timezone': 'The time zone of the expression. The default is UTC.',
  comparison_operator: 'How a value is compared with the threshold to be in alarm.',
  comparison: 'How a value is compared with the threshold to be in alarm.',
  threshold: 'The value that measurements are compared with.',
  evaluation_periods: 'The number of latest periods that are compared.',
  aggregation_method: 'Statistic of each period: mean, min, max, sum, count, last, median, rate:mean, …',
  granularity: 'Seconds of a period.',
  resource_type: 'Type of the measured object, as in Gnocchi.',
  metric: 'Name of the measurements.',
  '@show': 'All data of the alarm.',
};
const samples: TypeTexts = {
  'query.field': 'The name of the field.',
  'query.type': 'The type that the values are compared as.',
  'query.op': 'The comparison.',
  'query.value': 'The value that the field is compared with.',
};

const byLastPart: Readonly<Record<string, TypeTexts>> = {
  Alarm: {
    ...samples,
    '': 'Compares measurements of a meter with a threshold.',
    meter_name: 'Name of the measurements.',
    period: 'Seconds of a period.',
    statistic: 'Statistic of each period.',
    matching_metadata: 'Labels that the measurements have.',
    query: 'Conditions for labels of the measurements; all must hold.',
  },
  CompositeAlarm: {
    '': 'Combines several rules with `and` or `or`.',
    composite_rule: 'The rules and how they are combined.',
    'composite_rule.operator': 'Whether all rules must be in alarm, or one.',
    'composite_rule.rules': 'The rules; a rule may be such a combination again.',
  },
  EventAlarm: {
    ...samples,
    '': 'Is in alarm after an event, until its state is set again.',
    event_type: 'Type of the event, with `*` and `?`.',
    query: 'Conditions for fields of the event; all must hold.',
  },
  GnocchiAggregationByMetricsAlarm: {
    '': 'Compares an aggregate over several series with a threshold.',
    metrics: 'Ids or names of the series.',
  },
  GnocchiAggregationByResourcesAlarm: {
    '': 'Compares an aggregate over the series that a search finds with a threshold.',
    query: 'The search as JSON, for example `{"=": {"server_group": "STACK ID"}}`.',
  },
  GnocchiResourcesAlarm: {
    '': 'Compares the measurements of one object with a threshold.',
    resource_id: 'Id of the host, server or stack.',
  },
  PrometheusAlarm: {
    '': 'Compares the elements of a query to Prometheus with a threshold.',
    query: 'The instant query.',
  },
};

const cloudWatch: TypeTexts = {
  '': 'Compares measurements with a threshold, as CloudWatch does.',
  ComparisonOperator: 'How a value is compared with the threshold to be in alarm.',
  EvaluationPeriods: 'The number of latest periods that are compared.',
  MetricName: 'Name of the measurements.',
  Namespace: 'Measurements with another label `Namespace` do not count.',
  Period: 'Seconds of a period.',
  Statistic: 'Statistic of each period.',
  Threshold: 'The value that measurements are compared with.',
  AlarmDescription: 'Description of the alarm.',
  AlarmActions: 'Targets in the state alarm: resources of the stack, or URLs.',
  OKActions: 'Targets in the state ok.',
  InsufficientDataActions: 'Targets in the state insufficient data.',
  Dimensions: 'Labels that the measurements have: `{Name: …, Value: …}`.',
  Units: 'Unit of the measurements; without effect.',
};

const others: Readonly<Record<string, TypeTexts>> = {
  'AWS::CloudWatch::Alarm': cloudWatch,
  'OS::Heat::CWLiteAlarm': { ...cloudWatch, '': 'As AWS::CloudWatch::Alarm; acts only when its state changes.' },
  'AWS::IAM::User': {
    '': 'The owner of access keys of a template. It has no rights of its own.',
    Path: 'Without effect.',
    Groups: 'Without effect.',
    LoginProfile: 'Without effect: the user cannot log in.',
    'LoginProfile.Password': 'Without effect.',
    Policies: 'Without effect.',
  },
  'AWS::IAM::AccessKey': {
    '': 'An access key and a secret key, with which a program may post measurements.',
    UserName: 'The user: `{get_resource: NAME}`.',
    '@UserName': 'The user of the key.',
    '@SecretAccessKey': 'The secret key.',
  },
  'Anneal::AlertmanagerAlarm': {
    '@alert_url': 'The URL to which Alertmanager posts. It needs no login and is a secret.',
  },
  'Anneal::Credential': {
    '@token': 'The token: the header `X-Auth-Token` of requests.',
    '@access_key': 'The access key for requests that are signed as for AWS.',
    '@secret_key': 'The secret key to it.',
  },
};

/** The meaning of a type; empty for types that are no alarms. */
export function alarmTexts(type: string): TypeTexts {
  const isAlarm = /^(OS::(Aodh|Ceilometer|Metering)|Anneal)::\w*Alarm$/.test(type);
  const last = type.startsWith('OS::') ? byLastPart[type.split('::')[2] ?? ''] : undefined;
  return { ...(isAlarm && { ...common, ...last }), ...others[type] };
}
