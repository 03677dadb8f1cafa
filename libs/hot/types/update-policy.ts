/** What `update_policy` may say, by type. All other types take none. */
import type { PropertySchema } from '@anneal/contracts/resource-type.ts';

export const updatePolicies: Readonly<Record<string, Readonly<Record<string, PropertySchema>>>> = {
  'OS::Heat::ResourceGroup': {
    rolling_update: {
      type: 'Map',
      schema: {
        min_in_service: { type: 'Integer', default: 0, constraints: [{ range: { min: 0 } }] },
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
    batch_create: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
  },
  'OS::Heat::InstanceGroup': {
    RollingUpdate: {
      type: 'Map',
      schema: {
        MinInstancesInService: { type: 'Integer', default: 0 },
        MaxBatchSize: { type: 'Integer', default: 1 },
        PauseTime: { type: 'String', default: 'PT0S' },
      },
    },
  },
  'OS::Heat::SoftwareDeploymentGroup': {
    rolling_update: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
    batch_create: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
  },
  'OS::Heat::StructuredDeploymentGroup': {
    rolling_update: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
    batch_create: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
  },
  'OS::Heat::SoftwareDeployments': {
    rolling_update: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
    batch_create: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
  },
  'OS::Heat::StructuredDeployments': {
    rolling_update: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
    batch_create: {
      type: 'Map',
      schema: {
        max_batch_size: { type: 'Integer', default: 1, constraints: [{ range: { min: 1 } }] },
        pause_time: { type: 'Number', default: 0, constraints: [{ range: { min: 0 } }] },
      },
    },
  },
  'AWS::AutoScaling::AutoScalingGroup': {
    AutoScalingRollingUpdate: {
      type: 'Map',
      schema: {
        MinInstancesInService: { type: 'Integer', default: 0 },
        MaxBatchSize: { type: 'Integer', default: 1 },
        PauseTime: { type: 'String', default: 'PT0S' },
      },
    },
  },
};
