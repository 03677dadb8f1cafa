/** Groups of resources and nested stacks. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { ownScalingTypes, scalingAttributes, scalingProperties } from './scaling.ts';
import { boolean, integer, list, listOf, map, mapOf, number, oneOf, string } from './schema.ts';

/** The groups that the engine itself makes. */
export const groupTypes: ResourceType[] = [
  {
    type: 'OS::Heat::ResourceGroup',
    description: 'A number of members with the same definition.',
    properties: {
      count: integer({
        default: 1,
        update_allowed: true,
        constraints: [{ range: { min: 0 } }],
        description: 'The number of members.',
      }),
      index_var: string({
        default: '%index%',
        constraints: [{ length: { min: 3 } }],
        description: 'This text in the properties of the definition becomes the number of the member.',
      }),
      resource_def: mapOf(
        {
          type: string({ required: true, description: 'The type of the members: a resource type or a template.' }),
          properties: map({
            description: 'Properties of each member. The text of `index_var` is replaced in all values.',
          }),
          metadata: map({ description: 'Metadata of each member.' }),
        },
        { required: true, update_allowed: true, description: 'The definition of each member.' },
      ),
      removal_policies: listOf(
        mapOf({ resource_list: list({ default: [], description: 'Numbers or references of members.' }) }),
        {
          default: [],
          update_allowed: true,
          description: 'Members that are removed first, and whose numbers are not used again.',
        },
      ),
      removal_policies_mode: string({
        default: 'append',
        update_allowed: true,
        constraints: oneOf('append', 'update'),
        description: '`append` keeps the removed numbers of earlier updates; `update` forgets them.',
      }),
    },
    attributes: {
      refs: { type: 'List', description: 'The references of the members, in their order.' },
      refs_map: { type: 'Map', description: 'The references of the members, by name.' },
      attributes: {
        type: 'Map',
        description: 'An attribute of all members by name: `{get_attr: [group, attributes, NAME]}`.',
      },
      removed_rsrc_list: { type: 'List', description: 'The numbers that are not used again.' },
    },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::ResourceChain',
    description: 'One member of each type in a list, all with the same properties.',
    properties: {
      resources: list({ required: true, update_allowed: true, description: 'The types of the members, in order.' }),
      concurrent: boolean({
        default: false,
        description: 'False: each member begins after the one before it is complete.',
      }),
      resource_properties: map({ description: 'Properties of each member.' }),
    },
    attributes: {
      refs: { type: 'List', description: 'The references of the members, in their order.' },
      attributes: {
        type: 'Map',
        description: 'An attribute of all members by name: `{get_attr: [chain, attributes, NAME]}`.',
      },
    },
    open_attributes: true,
  },
  {
    type: 'OS::Heat::AutoScalingGroup',
    description: 'A group whose size changes by signals to its policies. The oldest members leave first.',
    properties: scalingProperties,
    attributes: scalingAttributes,
    open_attributes: true,
  },
  {
    type: 'OS::Heat::ScalingPolicy',
    description: 'Changes the size of a group at each signal.',
    properties: {
      auto_scaling_group_id: string({ required: true, description: 'The group: `{get_resource: NAME}`.' }),
      scaling_adjustment: number({
        required: true,
        update_allowed: true,
        description: 'The change of the size, or the size, as `adjustment_type` says. Negative values shrink.',
      }),
      adjustment_type: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('change_in_capacity', 'exact_capacity', 'percent_change_in_capacity'),
        description: 'Whether the adjustment is a number of members to add, the size itself, or a percentage to add.',
      }),
      cooldown: number({
        update_allowed: true,
        description:
          'Seconds after a change of size in which the policy changes nothing. The default is that of the group.',
      }),
      min_adjustment_step: integer({
        update_allowed: true,
        constraints: [{ range: { min: 0 } }],
        description: 'With a percentage: the least number of members to add or to remove.',
      }),
    },
    attributes: {
      alarm_url: {
        type: 'String',
        description: 'A POST to this URL signals the policy. It needs no login and is a secret.',
      },
      signal_url: { type: 'String', description: 'The same for clients that log in.' },
    },
  },
  {
    type: 'OS::Heat::InstanceGroup',
    description: 'A number of servers with the same launch configuration.',
    properties: {
      AvailabilityZones: list({
        required: true,
        description: 'Without effect: CloudFormation needs it..',
      }),
      LaunchConfigurationName: string({
        required: true,
        update_allowed: true,
        description: 'The launch configuration of the servers: `{get_resource: NAME}`.',
      }),
      Size: integer({ required: true, update_allowed: true, description: 'The number of servers.' }),
      LoadBalancerNames: list({ description: 'Without effect: Anneal has no load balancers.' }),
      Tags: listOf(
        mapOf({
          Key: string({ required: true, description: 'The name of the entry.' }),
          Value: string({ required: true, description: 'The value of the entry.' }),
        }),
        { description: 'Metadata of each server.' },
      ),
    },
    attributes: {
      InstanceList: { type: 'String', description: 'The addresses of the servers, with commas between them.' },
    },
  },
  ...ownScalingTypes,
  {
    type: 'OS::Heat::Stack',
    description: 'A stack from a template in a property, with its own outputs.',
    properties: {
      context: mapOf(
        {
          region_name: string({ description: 'The region; only that of this installation.' }),
          credential_secret_id: string({
            update_allowed: true,
            description: 'Credentials for another cloud; refused.',
          }),
          ca_cert: string({ update_allowed: true, description: 'Without effect: no stack is made in another cloud.' }),
          insecure: boolean({
            default: false,
            update_allowed: true,
            description: 'Without effect: no stack is made in another cloud.',
          }),
        },
        {
          update_allowed: true,
          description: 'Where the stack is made. Anneal makes it itself and refuses another region or cloud.',
        },
      ),
      template: string({ required: true, update_allowed: true, description: 'The text of the template.' }),
      timeout: integer({ update_allowed: true, description: 'Minutes for each action.' }),
      parameters: map({ default: {}, update_allowed: true, description: 'Values of the parameters of the template.' }),
    },
    attributes: {
      stack_name: { type: 'String', description: 'The name of the stack.' },
      outputs: { type: 'Map', description: 'The outputs of the stack, by name.' },
    },
    stack: {
      template: { property: 'template', holds: 'text' },
      parameters: 'parameters',
      timeout: 'timeout',
      outputs: 'map',
      root: true,
    },
  },
];
