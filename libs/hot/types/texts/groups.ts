/** The meaning of groups, nested stacks, policies and deployments on several servers. */
import type { TypeTexts } from './type-texts.ts';

const listOfIds = 'The references of the members, in their order.';
const mapOfIds = 'The references of the members, by name.';

const scaling: TypeTexts = {
  '': 'A group whose size changes by signals to its policies. The oldest members leave first.',
  resource: 'The definition of each member: `type`, `properties` and what else a resource of a template has.',
  max_size: 'The group never has more members.',
  min_size: 'The group never has fewer members.',
  cooldown: 'Seconds after a change of size in which policies change nothing, unless a policy has its own.',
  desired_capacity: 'The first size, and the size after an update that changes this value. The default is `min_size`.',
  rolling_updates: 'How an update changes the members: in batches, with pauses.',
  'rolling_updates.min_in_service': 'The members that stay in service during an update.',
  'rolling_updates.max_batch_size': 'The most members that change at the same time.',
  'rolling_updates.pause_time': 'Seconds between two batches.',
  '@outputs': 'An attribute of all members by name: `{get_attr: [group, outputs, NAME]}`.',
  '@outputs_list': 'An attribute of all members in their order: `{get_attr: [group, outputs_list, NAME]}`.',
  '@current_size': 'The number of members.',
  '@refs': listOfIds,
  '@refs_map': mapOfIds,
};

const tags: TypeTexts = {
  Tags: 'Metadata of each server.',
  'Tags.Key': 'The name of the entry.',
  'Tags.Value': 'The value of the entry.',
};
const instances: TypeTexts = {
  ...tags,
  AvailabilityZones: 'Needed by CloudFormation; Anneal has one zone and ignores it.',
  LaunchConfigurationName: 'The launch configuration of the servers: `{get_resource: NAME}`.',
  LoadBalancerNames: 'Anneal has no load balancers and ignores it.',
  '@InstanceList': 'The addresses of the servers, with commas between them.',
};

const deployments: TypeTexts = {
  '': 'Runs one config on several servers: a deployment for each of them.',
  servers: 'The ids of the servers by name. The group has a deployment for each.',
  config: 'The id of the config.',
  input_values: 'Values of the inputs of the config, the same for each server.',
  actions: 'The actions of the group that run the config.',
  name: 'Name of the deployments on the hosts.',
  signal_transport: "How heat-config-notify answers; Anneal's agent always answers through its queue.",
  input_key: 'The key that marks an input in the config: `{get_input: NAME}`.',
  input_values_validate: 'A missing value becomes null, or with STRICT is refused.',
  '@deploy_stdouts': 'Standard output of the config, by the names of the servers.',
  '@deploy_stderrs': 'Standard error of the config, by the names of the servers.',
  '@deploy_status_codes': 'Exit status of the config, by the names of the servers; 0 is success.',
};

const policyUrls: TypeTexts = {
  '@alarm_url': 'A POST to this URL signals the policy. It needs no login and is a secret.',
  '@signal_url': 'The same for clients that log in.',
};

/** The meaning by type. */
export const groupTexts: Readonly<Record<string, TypeTexts>> = {
  'OS::Heat::ResourceGroup': {
    '': 'A number of members with the same definition.',
    count: 'The number of members.',
    index_var: 'This text in the properties of the definition becomes the number of the member.',
    resource_def: 'The definition of each member.',
    'resource_def.type': 'The type of the members: a resource type or a template.',
    'resource_def.properties': 'Properties of each member. The text of `index_var` is replaced in all values.',
    'resource_def.metadata': 'Metadata of each member.',
    removal_policies: 'Members that are removed first, and whose numbers are not used again.',
    'removal_policies.resource_list': 'Numbers or references of members.',
    removal_policies_mode: '`append` keeps the removed numbers of earlier updates; `update` forgets them.',
    '@refs': listOfIds,
    '@refs_map': mapOfIds,
    '@attributes': 'An attribute of all members by name: `{get_attr: [group, attributes, NAME]}`.',
    '@removed_rsrc_list': 'The numbers that are not used again.',
  },
  'OS::Heat::ResourceChain': {
    '': 'One member of each type in a list, all with the same properties.',
    resources: 'The types of the members, in order.',
    concurrent: 'False: each member begins after the one before it is complete.',
    resource_properties: 'Properties of each member.',
    '@refs': listOfIds,
    '@attributes': 'An attribute of all members by name: `{get_attr: [chain, attributes, NAME]}`.',
  },
  'OS::Heat::AutoScalingGroup': scaling,
  'Anneal::Scaling::Group': scaling,
  'OS::Heat::InstanceGroup': {
    ...instances,
    '': 'A number of servers with the same launch configuration.',
    Size: 'The number of servers.',
  },
  'AWS::AutoScaling::AutoScalingGroup': {
    ...instances,
    '': 'Servers with the same launch configuration, as many as policies ask for.',
    InstanceId: 'A server like which the members are made, in place of a launch configuration.',
    MaxSize: 'The group never has more servers.',
    MinSize: 'The group never has fewer servers.',
    Cooldown: 'Seconds after a change of size in which policies change nothing, unless a policy has its own.',
    DesiredCapacity: 'The first size, and the size after an update that changes this value. The default is `MinSize`.',
    VPCZoneIdentifier: 'Subnets; the servers use the first one.',
  },
  'AWS::AutoScaling::LaunchConfiguration': {
    '': 'The properties of the servers of a group.',
    ImageId: 'The image of the servers.',
    InstanceType: 'The flavor of the servers.',
    InstanceId: 'A server whose properties are used where this configuration gives none.',
    KeyName: 'The key pair of the servers.',
    UserData: 'The user data of the servers.',
    SecurityGroups: 'The security groups of the servers.',
    BlockDeviceMappings: 'Disks of the servers.',
    'BlockDeviceMappings.DeviceName': 'The name of the device on the server.',
    'BlockDeviceMappings.Ebs': 'The volume behind the device.',
    'BlockDeviceMappings.Ebs.DeleteOnTermination': 'Whether the volume is deleted with the server.',
    'BlockDeviceMappings.Ebs.SnapshotId': 'The snapshot from which the volume is made.',
    'BlockDeviceMappings.Ebs.VolumeSize': 'The size of the volume in GiB.',
    NovaSchedulerHints: 'Scheduler hints of the servers, which choose their nodes.',
    'NovaSchedulerHints.Key': 'The name of the hint.',
    'NovaSchedulerHints.Value': 'The value of the hint.',
  },
  'OS::Heat::Stack': {
    '': 'A stack from a template in a property, with its own outputs.',
    context: 'Where the stack is made. Anneal makes it itself and refuses another region or cloud.',
    'context.region_name': 'The region; only that of this installation.',
    'context.credential_secret_id': 'Credentials for another cloud; refused.',
    'context.ca_cert': 'The certificate of another cloud; without effect.',
    'context.insecure': 'Whether the certificate of another cloud is not verified; without effect.',
    template: 'The text of the template.',
    timeout: 'Minutes for each action.',
    parameters: 'Values of the parameters of the template.',
    '@stack_name': 'The name of the stack.',
    '@outputs': 'The outputs of the stack, by name.',
  },
  'AWS::CloudFormation::Stack': {
    '': 'A stack from a template in a file. Its attributes are `Outputs.NAME`.',
    TemplateURL: 'The file or URL of the template.',
    TimeoutInMinutes: 'Minutes for each action.',
    Parameters: 'Values of the parameters of the template.',
  },
  'OS::Heat::SoftwareDeploymentGroup': deployments,
  'OS::Heat::SoftwareDeployments': deployments,
  'OS::Heat::StructuredDeploymentGroup': deployments,
  'OS::Heat::StructuredDeployments': deployments,
  'OS::Heat::ScalingPolicy': {
    ...policyUrls,
    '': 'Changes the size of a group at each signal.',
    auto_scaling_group_id: 'The group: `{get_resource: NAME}`.',
    scaling_adjustment: 'The change of the size, or the size, as `adjustment_type` says. Negative values shrink.',
    adjustment_type: 'Whether the adjustment is a number of members to add, the size itself, or a percentage to add.',
    cooldown: 'Seconds after a change of size in which the policy changes nothing. The default is that of the group.',
    min_adjustment_step: 'With a percentage: the least number of members to add or to remove.',
  },
  'Anneal::Scaling::StepPolicy': {
    ...policyUrls,
    adjustment_type: 'Whether an adjustment is a number of members to add, the size itself, or a percentage to add.',
    min_adjustment_step: 'With a percentage: the least number of members to add or to remove.',
    'steps.adjustment': 'The change of the size when the value lies in this step.',
  },
  'Anneal::Scaling::TargetPolicy': policyUrls,
  'Anneal::Scaling::Schedule': { time_zone: 'The time zone of the expression, for example Europe/Berlin.' },
  'AWS::AutoScaling::ScalingPolicy': {
    '': 'Changes the size of a group at each signal. Its reference is the URL that signals it.',
    AutoScalingGroupName: 'The group: `{get_resource: NAME}`.',
    ScalingAdjustment: 'The change of the size, or the size, as `AdjustmentType` says. Negative values shrink.',
    AdjustmentType: 'Whether the adjustment is a number of servers to add, the size itself, or a percentage to add.',
    Cooldown: 'Seconds after a change of size in which the policy changes nothing. The default is that of the group.',
    MinAdjustmentStep: 'With a percentage: the least number of servers to add or to remove.',
    '@AlarmUrl': 'A POST to this URL signals the policy. It needs no login and is a secret.',
  },
};
