/** Groups of resources and nested stacks. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { explained } from './texts/texts.ts';
import { ownScalingTypes, scalingAttributes, scalingProperties } from './scaling.ts';
import { boolean, integer, list, listOf, map, mapOf, number, oneOf, resourceType, string } from './schema.ts';

/** The groups that the engine itself makes. */
export const groupTypes: ResourceType[] = explained([
  resourceType(
    'OS::Heat::ResourceGroup',
    {
      count: integer({ default: 1, update_allowed: true, constraints: [{ range: { min: 0 } }] }),
      index_var: string({ default: '%index%', constraints: [{ length: { min: 3 } }] }),
      resource_def: mapOf(
        { type: string({ required: true }), properties: map(), metadata: map() },
        { required: true, update_allowed: true },
      ),
      removal_policies: listOf(mapOf({ resource_list: list({ default: [] }) }), { default: [], update_allowed: true }),
      removal_policies_mode: string({
        default: 'append',
        update_allowed: true,
        constraints: oneOf('append', 'update'),
      }),
    },
    { refs: 'List', refs_map: 'Map', attributes: 'Map', removed_rsrc_list: 'List' },
    { open_attributes: true },
  ),
  resourceType(
    'OS::Heat::ResourceChain',
    {
      resources: list({ required: true, update_allowed: true }),
      concurrent: boolean({ default: false }),
      resource_properties: map(),
    },
    { refs: 'List', attributes: 'Map' },
    { open_attributes: true },
  ),
  resourceType('OS::Heat::AutoScalingGroup', scalingProperties, scalingAttributes, { open_attributes: true }),
  resourceType(
    'OS::Heat::ScalingPolicy',
    {
      auto_scaling_group_id: string({ required: true }),
      scaling_adjustment: number({ required: true, update_allowed: true }),
      adjustment_type: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('change_in_capacity', 'exact_capacity', 'percent_change_in_capacity'),
      }),
      cooldown: number({ update_allowed: true }),
      min_adjustment_step: integer({ update_allowed: true, constraints: [{ range: { min: 0 } }] }),
    },
    { alarm_url: 'String', signal_url: 'String' },
  ),
  resourceType(
    'OS::Heat::InstanceGroup',
    {
      AvailabilityZones: list({ required: true }),
      LaunchConfigurationName: string({ required: true, update_allowed: true }),
      Size: integer({ required: true, update_allowed: true }),
      LoadBalancerNames: list(),
      Tags: listOf(mapOf({ Key: string({ required: true }), Value: string({ required: true }) })),
    },
    { InstanceList: 'String' },
  ),
  ...ownScalingTypes,
  resourceType(
    'OS::Heat::Stack',
    {
      context: mapOf(
        {
          region_name: string(),
          credential_secret_id: string({ update_allowed: true }),
          ca_cert: string({ update_allowed: true }),
          insecure: boolean({ default: false, update_allowed: true }),
        },
        { update_allowed: true },
      ),
      template: string({ required: true, update_allowed: true }),
      timeout: integer({ update_allowed: true }),
      parameters: map({ default: {}, update_allowed: true }),
    },
    { stack_name: 'String', outputs: 'Map' },
    {
      stack: {
        template: { property: 'template', holds: 'text' },
        parameters: 'parameters',
        timeout: 'timeout',
        outputs: 'map',
        root: true,
      },
    },
  ),
]);
