/** The alarms of Aodh. */
import { explained } from '../texts/texts.ts';
import type { PropertySchema, ResourceType } from '@anneal/contracts/resource-type.ts';

/** Properties of every alarm: its recipients and its conditions. */
const actionProperties: ResourceType['properties'] = {
  description: { type: 'String', update_allowed: true },
  enabled: { type: 'Boolean', default: 'true', update_allowed: true },
  alarm_actions: { type: 'List', update_allowed: true },
  ok_actions: { type: 'List', update_allowed: true },
  insufficient_data_actions: { type: 'List', update_allowed: true },
  alarm_queues: {
    type: 'List',
    default: [],
    update_allowed: true,
    schema: { '*': { type: 'String', constraints: [{ custom_constraint: 'zaqar.queue' }] } },
  },
  ok_queues: {
    type: 'List',
    default: [],
    update_allowed: true,
    schema: { '*': { type: 'String', constraints: [{ custom_constraint: 'zaqar.queue' }] } },
  },
  insufficient_data_queues: {
    type: 'List',
    default: [],
    update_allowed: true,
    schema: { '*': { type: 'String', constraints: [{ custom_constraint: 'zaqar.queue' }] } },
  },
  repeat_actions: { type: 'Boolean', default: 'true', update_allowed: true },
  severity: {
    type: 'String',
    default: 'low',
    update_allowed: true,
    constraints: [{ allowed_values: ['low', 'moderate', 'critical'] }],
  },
  time_constraints: {
    type: 'List',
    default: [],
    schema: {
      '*': {
        type: 'Map',
        schema: {
          name: { type: 'String', required: true },
          start: { type: 'String', required: true, constraints: [{ custom_constraint: 'cron_expression' }] },
          description: { type: 'String' },
          duration: { type: 'Integer', required: true, constraints: [{ range: { min: 0 } }] },
          timezone: { type: 'String', constraints: [{ custom_constraint: 'timezone' }] },
        },
      },
    },
  },
};

const comparisons = [{ allowed_values: ['le', 'ge', 'eq', 'lt', 'gt', 'ne'] }];

/** Properties of an alarm on a Gnocchi metric. */
const gnocchiProperties: ResourceType['properties'] = {
  comparison_operator: {
    type: 'String',
    update_allowed: true,
    constraints: comparisons,
  },
  evaluation_periods: { type: 'Integer', update_allowed: true },
  aggregation_method: { type: 'String', update_allowed: true },
  granularity: { type: 'Integer', update_allowed: true },
  threshold: { type: 'Number', required: true, update_allowed: true },
  ...actionProperties,
};

const samplesQuery: PropertySchema = {
  type: 'List',
  update_allowed: true,
  schema: {
    '*': {
      type: 'Map',
      schema: {
        field: { type: 'String' },
        type: {
          type: 'String',
          default: 'string',
          constraints: [{ allowed_values: ['integer', 'float', 'string', 'boolean', 'datetime'] }],
        },
        op: { type: 'String', constraints: comparisons },
        value: { type: 'String' },
      },
    },
  },
};

/** All of these types. */
export const aodhTypes: ResourceType[] = explained([
  {
    type: 'OS::Aodh::Alarm',
    properties: {
      comparison_operator: {
        type: 'String',
        update_allowed: true,
        constraints: comparisons,
      },
      evaluation_periods: { type: 'Integer', update_allowed: true },
      meter_name: { type: 'String', required: true },
      period: { type: 'Integer', update_allowed: true },
      statistic: {
        type: 'String',
        update_allowed: true,
        constraints: [{ allowed_values: ['count', 'avg', 'sum', 'min', 'max'] }],
      },
      threshold: { type: 'Number', required: true, update_allowed: true },
      matching_metadata: { type: 'Map', default: {}, update_allowed: true },
      query: samplesQuery,
      ...actionProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::CompositeAlarm',
    properties: {
      composite_rule: {
        type: 'Map',
        required: true,
        update_allowed: true,
        schema: {
          operator: {
            type: 'String',
            required: true,
            update_allowed: true,
            constraints: [{ allowed_values: ['or', 'and'] }],
          },
          rules: { type: 'List', required: true, update_allowed: true, constraints: [{ length: { min: 2 } }] },
        },
      },
      ...actionProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::EventAlarm',
    properties: {
      event_type: { type: 'String', default: '*', update_allowed: true },
      query: samplesQuery,
      ...actionProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::GnocchiAggregationByMetricsAlarm',
    properties: {
      metrics: { type: 'List', required: true, update_allowed: true },
      ...gnocchiProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::GnocchiAggregationByResourcesAlarm',
    properties: {
      metric: { type: 'String', required: true, update_allowed: true },
      query: { type: 'String', required: true, update_allowed: true },
      resource_type: { type: 'String', required: true, update_allowed: true },
      ...gnocchiProperties,
    },
    attributes: {},
  },
  {
    type: 'OS::Aodh::GnocchiResourcesAlarm',
    properties: {
      metric: { type: 'String', required: true, update_allowed: true },
      resource_id: { type: 'String', required: true, update_allowed: true },
      resource_type: { type: 'String', required: true, update_allowed: true },
      ...gnocchiProperties,
    },
    attributes: {},
  },
]);
