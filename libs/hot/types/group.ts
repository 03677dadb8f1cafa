/** Groups of resources and nested stacks: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const groupTypes: ResourceType[] = [
  {
    type: 'OS::Heat::ResourceGroup',
    properties: {
      count: { type: 'Integer', default: 1, update_allowed: true, constraints: [{ range: { min: 0 } }] },
      index_var: { type: 'String', default: '%index%', constraints: [{ length: { min: 3 } }] },
      resource_def: {
        type: 'Map',
        required: true,
        update_allowed: true,
        schema: { type: { type: 'String', required: true }, properties: { type: 'Map' }, metadata: { type: 'Map' } },
      },
      removal_policies: {
        type: 'List',
        default: [],
        update_allowed: true,
        schema: { '*': { type: 'Map', schema: { resource_list: { type: 'List', default: [] } } } },
      },
      removal_policies_mode: {
        type: 'String',
        default: 'append',
        update_allowed: true,
        constraints: [{ allowed_values: ['append', 'update'] }],
      },
    },
    attributes: {
      refs: { type: 'List' },
      refs_map: { type: 'Map' },
      attributes: { type: 'Map' },
      removed_rsrc_list: { type: 'List' },
    },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::ResourceChain',
    properties: {
      resources: { type: 'List', required: true, update_allowed: true },
      concurrent: { type: 'Boolean', default: false },
      resource_properties: { type: 'Map' },
    },
    attributes: { refs: { type: 'List' }, attributes: { type: 'Map' } },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::AutoScalingGroup',
    properties: {
      resource: { type: 'Map', required: true, update_allowed: true },
      max_size: { type: 'Integer', required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] },
      min_size: { type: 'Integer', required: true, update_allowed: true, constraints: [{ range: { min: 0 } }] },
      cooldown: { type: 'Integer', update_allowed: true },
      desired_capacity: { type: 'Integer', update_allowed: true },
      rolling_updates: {
        type: 'Map',
        default: { min_in_service: 0, max_batch_size: 1, pause_time: 0 },
        update_allowed: true,
        schema: {
          min_in_service: { type: 'Integer', default: 0, constraints: [{ range: { min: 0 } }] },
          max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
          pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
        },
      },
    },
    attributes: {
      outputs: { type: 'Map' },
      outputs_list: { type: 'List' },
      current_size: { type: 'Integer' },
      refs: { type: 'List' },
      refs_map: { type: 'Map' },
    },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::ScalingPolicy',
    properties: {
      auto_scaling_group_id: { type: 'String', required: true },
      scaling_adjustment: { type: 'Number', required: true, update_allowed: true },
      adjustment_type: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ allowed_values: ['change_in_capacity', 'exact_capacity', 'percent_change_in_capacity'] }],
      },
      cooldown: { type: 'Number', update_allowed: true },
      min_adjustment_step: { type: 'Integer', update_allowed: true, constraints: [{ range: { min: 0 } }] },
    },
    attributes: { alarm_url: { type: 'String' }, signal_url: { type: 'String' } },
  },
  {
    type: 'OS::Heat::InstanceGroup',
    properties: {
      AvailabilityZones: { type: 'List', required: true },
      LaunchConfigurationName: { type: 'String', required: true, update_allowed: true },
      Size: { type: 'Integer', required: true, update_allowed: true },
      LoadBalancerNames: { type: 'List' },
      Tags: {
        type: 'List',
        schema: {
          '*': {
            type: 'Map',
            schema: { Key: { type: 'String', required: true }, Value: { type: 'String', required: true } },
          },
        },
      },
    },
    attributes: { InstanceList: { type: 'String' } },
  },
  { type: 'OS::Heat::HARestarter', properties: {}, attributes: {}, open_attributes: true },
  {
    type: 'OS::Heat::Stack',
    properties: {
      context: {
        type: 'Map',
        update_allowed: true,
        schema: {
          region_name: { type: 'String' },
          credential_secret_id: { type: 'String', update_allowed: true },
          ca_cert: { type: 'String', update_allowed: true },
          insecure: { type: 'Boolean', default: false, update_allowed: true },
        },
      },
      template: { type: 'String', required: true, update_allowed: true },
      timeout: { type: 'Integer', update_allowed: true },
      parameters: { type: 'Map', default: {}, update_allowed: true },
    },
    attributes: { stack_name: { type: 'String' }, outputs: { type: 'Map' } },
  },
  {
    type: 'OS::Heat::AccessPolicy',
    properties: { AllowedResources: { type: 'List', required: true } },
    attributes: {},
  },
];
