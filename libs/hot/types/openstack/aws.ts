/** Types of AWS for groups, nested stacks and access keys. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { explained } from '../texts/texts.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, oneOf, resourceType, string } from '../schema.ts';

const tags = listOf(mapOf({ Key: string({ required: true }), Value: string({ required: true }) }));
const ebs = mapOf({
  DeleteOnTermination: boolean({ default: true }),
  SnapshotId: string({ constraints: checked('cinder.snapshot') }),
  VolumeSize: string(),
});
const blockDeviceMappings = listOf(mapOf({ DeviceName: string({ required: true }), Ebs: ebs }));

/** All of these types. */
export const awsTypes: ResourceType[] = explained([
  resourceType(
    'AWS::AutoScaling::AutoScalingGroup',
    {
      AvailabilityZones: list({ required: true }),
      LaunchConfigurationName: string({ update_allowed: true }),
      InstanceId: string({ constraints: checked('nova.server') }),
      MaxSize: integer({ required: true, update_allowed: true }),
      MinSize: integer({ required: true, update_allowed: true }),
      Cooldown: integer({ update_allowed: true }),
      DesiredCapacity: integer({ update_allowed: true }),
      LoadBalancerNames: list(),
      VPCZoneIdentifier: listOf(string()),
      Tags: tags,
    },
    { InstanceList: 'String' },
  ),
  resourceType(
    'AWS::AutoScaling::LaunchConfiguration',
    {
      ImageId: string({ constraints: checked('glance.image') }),
      InstanceType: string({ constraints: checked('nova.flavor') }),
      InstanceId: string({ constraints: checked('nova.server') }),
      KeyName: string({ constraints: checked('nova.keypair') }),
      UserData: string(),
      SecurityGroups: list(),
      BlockDeviceMappings: blockDeviceMappings,
      NovaSchedulerHints: tags,
    },
    {},
  ),
  resourceType(
    'AWS::AutoScaling::ScalingPolicy',
    {
      AutoScalingGroupName: string({ required: true }),
      ScalingAdjustment: integer({ required: true, update_allowed: true }),
      AdjustmentType: string({
        required: true,
        update_allowed: true,
        constraints: oneOf('ChangeInCapacity', 'ExactCapacity', 'PercentChangeInCapacity'),
      }),
      Cooldown: integer({ update_allowed: true }),
      MinAdjustmentStep: integer({ update_allowed: true, constraints: [{ range: { min: 0 } }] }),
    },
    { AlarmUrl: 'String' },
  ),
  resourceType(
    'AWS::CloudFormation::Stack',
    {
      TemplateURL: string({ required: true, update_allowed: true }),
      TimeoutInMinutes: integer({ update_allowed: true }),
      Parameters: map({ update_allowed: true }),
    },
    {},
    // Attributes are `Outputs.<name>`, with the names of the template.
    {
      open_attributes: true,
      stack: {
        template: { property: 'TemplateURL', holds: 'file' },
        parameters: 'Parameters',
        timeout: 'TimeoutInMinutes',
        outputs: 'each',
        root: false,
      },
    },
  ),
  resourceType(
    'AWS::IAM::AccessKey',
    { UserName: string({ required: true }) },
    { UserName: 'String', SecretAccessKey: 'String' },
  ),
  resourceType(
    'AWS::IAM::User',
    { Path: string(), Groups: list(), LoginProfile: mapOf({ Password: string() }), Policies: list() },
    {},
  ),
]);
