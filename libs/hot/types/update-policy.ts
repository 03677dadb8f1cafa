/** Schemas of `update_policy`, by type. All other types have none. */
import type { PropertySchema } from '@anneal/contracts/resource-type.ts';
import { integer, mapOf, number, secondsFrom, string } from './schema.ts';

type Policy = Readonly<Record<string, PropertySchema>>;

const batch = {
  max_batch_size: integer({ default: 1, constraints: [{ range: { min: 1 } }] }),
  pause_time: number({ default: 0, constraints: secondsFrom(0) }),
};
const inService = { min_in_service: integer({ default: 0, constraints: [{ range: { min: 0 } }] }) };
const ofDeployments: Policy = { rolling_update: mapOf(batch), batch_create: mapOf(batch) };
const ofInstances = mapOf({
  MinInstancesInService: integer({ default: 0 }),
  MaxBatchSize: integer({ default: 1 }),
  PauseTime: string({
    default: 'PT0S',
    constraints: [
      {
        allowed_pattern: '^PT(\\d+H)?(\\d+M)?(\\d+S)?$',
        description: 'an ISO 8601 duration of the form PT#H#M#S',
      },
    ],
  }),
});

/** The schemas by type. */
export const updatePolicies: Readonly<Record<string, Policy>> = {
  'OS::Heat::ResourceGroup': { rolling_update: mapOf({ ...inService, ...batch }), batch_create: mapOf(batch) },
  'OS::Heat::SoftwareDeploymentGroup': ofDeployments,
  'OS::Heat::SoftwareDeployments': ofDeployments,
  'OS::Heat::StructuredDeploymentGroup': ofDeployments,
  'OS::Heat::StructuredDeployments': ofDeployments,
  'OS::Heat::InstanceGroup': { RollingUpdate: ofInstances },
  'AWS::AutoScaling::AutoScalingGroup': { AutoScalingRollingUpdate: ofInstances },
};
