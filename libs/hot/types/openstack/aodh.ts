/** The alarms of Aodh. */
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, number, oneOf, string } from '../schema.ts';

/** Properties of every alarm: its recipients and its conditions. */
const actionProperties = {
  description: string({ update_allowed: true, description: 'Description of the alarm.' }),
  enabled: boolean({
    default: 'true',
    update_allowed: true,
    description: 'False: the alarm is not evaluated, and its state stays.',
  }),
  alarm_actions: list({
    update_allowed: true,
    description: 'Targets in the state alarm: resources of the stack, or URLs.',
  }),
  ok_actions: list({ update_allowed: true, description: 'Targets in the state ok.' }),
  insufficient_data_actions: list({ update_allowed: true, description: 'Targets in the state insufficient data.' }),
  alarm_queues: listOf(string({ constraints: checked('zaqar.queue') }), {
    default: [],
    update_allowed: true,
    description: 'Queues that get a message in the state alarm.',
  }),
  ok_queues: listOf(string({ constraints: checked('zaqar.queue') }), {
    default: [],
    update_allowed: true,
    description: 'Queues that get a message in the state ok.',
  }),
  insufficient_data_queues: listOf(string({ constraints: checked('zaqar.queue') }), {
    default: [],
    update_allowed: true,
    description: 'Queues that get a message in the state insufficient data.',
  }),
  repeat_actions: boolean({
    default: 'true',
    update_allowed: true,
    description: 'Repeat the actions at every evaluation, and not only when the state changes.',
  }),
  severity: string({
    default: 'low',
    update_allowed: true,
    constraints: oneOf('low', 'moderate', 'critical'),
    description: 'How serious the alarm is. Targets receive it; Anneal does not use it.',
  }),
  time_constraints: listOf(
    mapOf({
      name: string({ required: true, description: 'Name of the time.' }),
      start: string({
        required: true,
        constraints: checked('cron_expression'),
        description: 'When it begins: an expression of cron.',
      }),
      description: string({ description: 'Without effect: a note in the template.' }),
      duration: integer({
        required: true,
        constraints: [{ range: { min: 0 } }],
        description: 'How long it lasts, in seconds.',
      }),
      timezone: string({
        constraints: checked('timezone'),
        description: 'The time zone of the expression. The default is UTC.',
      }),
    }),
    { default: [], description: 'Times in which the alarm is evaluated. Absent: always.' },
  ),
};

const comparisons = oneOf('le', 'ge', 'eq', 'lt', 'gt', 'ne');

const compared = {
  comparison_operator: string({
    update_allowed: true,
    constraints: comparisons,
    description: 'How a value is compared with the threshold to be in alarm.',
  }),
  evaluation_periods: integer({ update_allowed: true, description: 'The number of latest periods that are compared.' }),
};
const threshold = number({
  required: true,
  update_allowed: true,
  description: 'The value that measurements are compared with.',
});
const metric = string({ required: true, update_allowed: true, description: 'Name of the measurements.' });
const resourceType = string({
  required: true,
  update_allowed: true,
  description: 'Without effect: Gnocchi needs it, and every type has the same labels here.',
});

/** Properties of an alarm on a Gnocchi metric. */
const gnocchiProperties = {
  ...compared,
  aggregation_method: string({
    update_allowed: true,
    description: 'Statistic of each period: mean, min, max, sum, count, last, median, rate:mean, …',
  }),
  granularity: integer({ update_allowed: true, description: 'Seconds of a period.' }),
  threshold,
  ...actionProperties,
};

const conditions = (description: string): PropertySchema =>
  listOf(
    mapOf({
      field: string({ description: 'The name of the field.' }),
      type: string({
        default: 'string',
        constraints: oneOf('integer', 'float', 'string', 'boolean', 'datetime'),
        description: 'The type that the values are compared as.',
      }),
      op: string({ constraints: comparisons, description: 'The comparison.' }),
      value: string({ description: 'The value that the field is compared with.' }),
    }),
    { update_allowed: true, description },
  );

/** All of these types. */
export const aodhTypes: ResourceType[] = [
  {
    type: 'OS::Aodh::Alarm',
    description: 'Compares measurements of a meter with a threshold.',
    properties: {
      ...compared,
      meter_name: string({ required: true, description: 'Name of the measurements.' }),
      period: integer({ update_allowed: true, description: 'Seconds of a period.' }),
      statistic: string({
        update_allowed: true,
        constraints: oneOf('count', 'avg', 'sum', 'min', 'max'),
        description: 'Statistic of each period.',
      }),
      threshold,
      matching_metadata: map({ default: {}, update_allowed: true, description: 'Labels that the measurements have.' }),
      query: conditions('Conditions for labels of the measurements; all must hold.'),
      ...actionProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::CompositeAlarm',
    description: 'Combines several rules with `and` or `or`.',
    properties: {
      composite_rule: mapOf(
        {
          operator: string({
            required: true,
            update_allowed: true,
            constraints: oneOf('or', 'and'),
            description: 'Whether all rules must be in alarm, or one.',
          }),
          rules: list({
            required: true,
            update_allowed: true,
            constraints: [{ length: { min: 2 } }],
            description: 'The rules; a rule may be such a combination again.',
          }),
        },
        { required: true, update_allowed: true, description: 'The rules and how they are combined.' },
      ),
      ...actionProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::EventAlarm',
    description: 'Is in alarm after an event, until its state is set again.',
    properties: {
      event_type: string({ default: '*', update_allowed: true, description: 'Type of the event, with `*` and `?`.' }),
      query: conditions('Conditions for fields of the event; all must hold.'),
      ...actionProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::GnocchiAggregationByMetricsAlarm',
    description: 'Compares an aggregate over several series with a threshold.',
    properties: {
      metrics: list({ required: true, update_allowed: true, description: 'Ids or names of the series.' }),
      ...gnocchiProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::GnocchiAggregationByResourcesAlarm',
    description: 'Compares an aggregate over the series that a search finds with a threshold.',
    properties: {
      metric,
      query: string({
        required: true,
        update_allowed: true,
        description: 'The search as JSON, for example `{"=": {"server_group": "STACK ID"}}`.',
      }),
      resource_type: resourceType,
      ...gnocchiProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::GnocchiResourcesAlarm',
    description: 'Compares the measurements of one object with a threshold.',
    properties: {
      metric,
      resource_id: string({ required: true, update_allowed: true, description: 'Id of the host, server or stack.' }),
      resource_type: resourceType,
      ...gnocchiProperties,
    },
    attributes: {},
  },
];
