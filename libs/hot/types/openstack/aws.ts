/** Types of AWS for groups, nested stacks and access keys. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, oneOf, string } from '../schema.ts';

const ebs = mapOf(
  {
    DeleteOnTermination: boolean({ default: true, description: 'Whether the volume is deleted with the server.' }),
    SnapshotId: string({
      constraints: checked('cinder.snapshot'),
      description: 'The snapshot from which the volume is made.',
    }),
    VolumeSize: string({ description: 'The size of the volume in GiB.' }),
  },
  { description: 'The volume behind the device.' },
);
const blockDeviceMappings = listOf(
  mapOf({ DeviceName: string({ required: true, description: 'The name of the device on the server.' }), Ebs: ebs }),
  { description: 'Disks of the servers.' },
);

/** All of these types. */
export const awsTypes: ResourceType[] = [
  {
    type: 'AWS::AutoScaling::AutoScalingGroup',
    description: 'Servers with the same launch configuration, as many as policies ask for.',
    properties: {
      AvailabilityZones: list({
        required: true,
        description: 'Without effect: CloudFormation needs it..',
      }),
      LaunchConfigurationName: string({
        update_allowed: true,
        description: 'The launch configuration of the servers: `{get_resource: NAME}`.',
      }),
      InstanceId: string({
        constraints: checked('nova.server'),
        description: 'A server like which the members are made, in place of a launch configuration.',
      }),
      MaxSize: integer({ required: true, update_allowed: true, description: 'The group never has more servers.' }),
      MinSize: integer({ required: true, update_allowed: true, description: 'The group never has fewer servers.' }),
      Cooldown: integer({
        update_allowed: true,
        description: 'Seconds after a change of size in which policies change nothing, unless a policy has its own.',
      }),
      DesiredCapacity: integer({
        update_allowed: true,
        description: 'The first size, and the size after an update that changes this value. The default is `MinSize`.',
      }),
      LoadBalancerNames: list({ description: 'Without effect: Anneal has no load balancers.' }),
      VPCZoneIdentifier: listOf(string(), { description: 'Subnets; the servers use the first one.' }),
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
  {
    type: 'AWS::AutoScaling::LaunchConfiguration',
    description: 'The properties of the servers of a group.',
    properties: {
      ImageId: string({ constraints: checked('glance.image'), description: 'The image of the servers.' }),
      InstanceType: string({ constraints: checked('nova.flavor'), description: 'The flavor of the servers.' }),
      InstanceId: string({
        constraints: checked('nova.server'),
        description: 'A server whose properties are used where this configuration gives none.',
      }),
      KeyName: string({ constraints: checked('nova.keypair'), description: 'The key pair of the servers.' }),
      UserData: string({ description: 'The user data of the servers.' }),
      SecurityGroups: list({ description: 'The security groups of the servers.' }),
      BlockDeviceMappings: blockDeviceMappings,
      NovaSchedulerHints: listOf(
        mapOf({
          Key: string({ required: true, description: 'The name of the hint.' }),
          Value: string({ required: true, description: 'The value of the hint.' }),
        }),
        { description: 'Scheduler hints of the servers, which choose their nodes.' },
      ),
    },
    attributes: {},
  },
  {
    type: 'AWS::AutoScaling::ScalingPolicy',
    description: 'Changes the size of a group at each signal. Its reference is the URL that signals it.',
    properties: {
      AutoScalingGroupName: string({ required: true, description: 'The group: `{get_resource: NAME}`.' }),
      ScalingAdjustment: integer({
        required: true,
        update_allowed: true,
        description: 'The change of the size, or the size, as `AdjustmentType` says. Negative values shrink.',
      }),
      AdjustmentType: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('ChangeInCapacity', 'ExactCapacity', 'PercentChangeInCapacity'),
        description: 'Whether the adjustment is a number of servers to add, the size itself, or a percentage to add.',
      }),
      Cooldown: integer({
        update_allowed: true,
        description:
          'Seconds after a change of size in which the policy changes nothing. The default is that of the group.',
      }),
      MinAdjustmentStep: integer({
        update_allowed: true,
        constraints: [{ range: { min: 0 } }],
        description: 'With a percentage: the least number of servers to add or to remove.',
      }),
    },
    attributes: {
      AlarmUrl: {
        type: 'String',
        description: 'A POST to this URL signals the policy. It needs no login and is a secret.',
      },
    },
  },
  {
    type: 'AWS::CloudFormation::Stack',
    description: 'A stack from a template in a file. Its attributes are `Outputs.NAME`.',
    properties: {
      TemplateURL: string({ required: true, update_allowed: true, description: 'The file or URL of the template.' }),
      TimeoutInMinutes: integer({ update_allowed: true, description: 'Minutes for each action.' }),
      Parameters: map({ update_allowed: true, description: 'Values of the parameters of the template.' }),
    },
    attributes: {},
    // Attributes are `Outputs.<name>`, with the names of the template.
    open_attributes: true,
    stack: {
      template: { property: 'TemplateURL', holds: 'file' },
      parameters: 'Parameters',
      timeout: 'TimeoutInMinutes',
      outputs: 'each',
      root: false,
    },
  },
  {
    type: 'AWS::IAM::AccessKey',
    description: 'An access key and a secret key, with which a program may post measurements.',
    properties: { UserName: string({ required: true, description: 'The user: `{get_resource: NAME}`.' }) },
    attributes: {
      UserName: { type: 'String', description: 'The user of the key.' },
      SecretAccessKey: { type: 'String', description: 'The secret key.' },
    },
  },
  {
    type: 'AWS::IAM::User',
    description: 'The owner of access keys of a template. It has no rights of its own.',
    properties: {
      Path: string({ description: 'Without effect.' }),
      Groups: list({ description: 'Without effect.' }),
      LoginProfile: mapOf(
        { Password: string({ description: 'Without effect.' }) },
        { description: 'Without effect: the user cannot log in.' },
      ),
      Policies: list({ description: 'Without effect.' }),
    },
    attributes: {},
  },
];
