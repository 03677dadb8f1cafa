/** The types of AWS: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { explained } from '../texts/texts.ts';
import { boolean, checked, integer, list, listOf, map, mapOf, oneOf, resourceType, string } from '../schema.ts';

const tags = listOf(mapOf({ Key: string({ required: true }), Value: string({ required: true }) }));
const tagsList = listOf(mapOf({ Key: string({ required: true }), Value: string({ required: true }) }));
const ebs = mapOf({
  DeleteOnTermination: boolean({ default: true }),
  SnapshotId: string({ constraints: checked('cinder.snapshot') }),
  VolumeSize: string(),
});
const securityGroupIngress = listOf(
  mapOf({
    CidrIp: string(),
    FromPort: string(),
    ToPort: string(),
    IpProtocol: string(),
    SourceSecurityGroupId: string(),
    SourceSecurityGroupName: string(),
  }),
  { update_allowed: true },
);
const blockDeviceMappings = listOf(mapOf({ DeviceName: string({ required: true }), Ebs: ebs }));

/** Their schemas, which an offline check uses. */
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
    'AWS::EC2::EIP',
    {
      Domain: string({ constraints: oneOf('vpc') }),
      InstanceId: string({ update_allowed: true, constraints: checked('nova.server') }),
    },
    { AllocationId: 'String' },
  ),
  resourceType(
    'AWS::EC2::EIPAssociation',
    {
      InstanceId: string({ update_allowed: true, constraints: checked('nova.server') }),
      EIP: string({ update_allowed: true, constraints: checked('ip_addr') }),
      AllocationId: string({ update_allowed: true }),
      NetworkInterfaceId: string({ update_allowed: true }),
    },
    {},
  ),
  resourceType(
    'AWS::EC2::Instance',
    {
      ImageId: string({ required: true, constraints: checked('glance.image') }),
      InstanceType: string({ required: true, update_allowed: true, constraints: checked('nova.flavor') }),
      KeyName: string({ constraints: checked('nova.keypair') }),
      AvailabilityZone: string(),
      SecurityGroups: list(),
      SecurityGroupIds: list(),
      NetworkInterfaces: list({ update_allowed: true }),
      SubnetId: string({ update_allowed: true }),
      Tags: listOf(mapOf({ Key: string({ required: true }), Value: string({ required: true }) }), {
        update_allowed: true,
      }),
      NovaSchedulerHints: tags,
      UserData: string(),
      Volumes: listOf(
        mapOf({
          Device: string({ required: true }),
          VolumeId: string({ required: true, constraints: checked('cinder.volume') }),
        }),
        { default: [] },
      ),
      BlockDeviceMappings: blockDeviceMappings,
    },
    {
      AvailabilityZone: 'String',
      PrivateDnsName: 'String',
      PublicDnsName: 'String',
      PrivateIp: 'String',
      PublicIp: 'String',
    },
  ),
  resourceType('AWS::EC2::InternetGateway', { Tags: tagsList }, {}),
  resourceType(
    'AWS::EC2::NetworkInterface',
    {
      Description: string(),
      GroupSet: list({ update_allowed: true }),
      PrivateIpAddress: string(),
      SubnetId: string({ required: true, constraints: checked('neutron.subnet') }),
      Tags: tagsList,
    },
    { PrivateIpAddress: 'String' },
  ),
  resourceType('AWS::EC2::RouteTable', { VpcId: string({ required: true }), Tags: tagsList }, {}),
  resourceType(
    'AWS::EC2::SecurityGroup',
    {
      GroupDescription: string({ required: true }),
      VpcId: string(),
      SecurityGroupIngress: securityGroupIngress,
      SecurityGroupEgress: securityGroupIngress,
    },
    {},
  ),
  resourceType(
    'AWS::EC2::Subnet',
    {
      AvailabilityZone: string(),
      CidrBlock: string({ required: true }),
      VpcId: string({ required: true }),
      Tags: tagsList,
    },
    { AvailabilityZone: 'String' },
  ),
  resourceType(
    'AWS::EC2::SubnetRouteTableAssociation',
    {
      RouteTableId: string({ required: true }),
      SubnetId: string({ required: true, constraints: checked('neutron.subnet') }),
    },
    {},
  ),
  resourceType('AWS::EC2::VPC', { CidrBlock: string(), Tags: tagsList }, {}),
  resourceType(
    'AWS::EC2::VPCGatewayAttachment',
    { VpcId: string({ required: true }), InternetGatewayId: string() },
    {},
  ),
  resourceType(
    'AWS::EC2::Volume',
    {
      AvailabilityZone: string({ required: true, immutable: true }),
      Size: integer({ immutable: true, constraints: [{ range: { min: 1 } }] }),
      SnapshotId: string({ immutable: true, constraints: checked('cinder.backup') }),
      Tags: listOf(mapOf({ Key: string({ required: true }), Value: string({ required: true }) }), { immutable: true }),
    },
    {},
    { actions: ['snapshot'] },
  ),
  resourceType(
    'AWS::EC2::VolumeAttachment',
    {
      InstanceId: string({ required: true, immutable: true, constraints: checked('nova.server') }),
      VolumeId: string({ required: true, immutable: true, constraints: checked('cinder.volume') }),
      Device: string({ required: true, immutable: true, constraints: [{ allowed_pattern: '/dev/vd[b-z]' }] }),
    },
    {},
  ),
  resourceType(
    'AWS::ElasticLoadBalancing::LoadBalancer',
    {
      AvailabilityZones: list({ required: true }),
      HealthCheck: mapOf({
        HealthyThreshold: integer({ required: true }),
        Interval: integer({ required: true }),
        Target: string({ required: true }),
        Timeout: integer({ required: true }),
        UnhealthyThreshold: integer({ required: true }),
      }),
      Instances: list({ update_allowed: true }),
      Listeners: listOf(
        mapOf({
          InstancePort: integer({ required: true }),
          LoadBalancerPort: integer({ required: true }),
          Protocol: string({ required: true, constraints: oneOf('TCP', 'HTTP') }),
        }),
        { required: true },
      ),
      SecurityGroups: list({ update_allowed: true }),
    },
    {
      CanonicalHostedZoneName: 'String',
      CanonicalHostedZoneNameID: 'String',
      DNSName: 'String',
      'SourceSecurityGroup.GroupName': 'String',
      'SourceSecurityGroup.OwnerAlias': 'String',
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
  resourceType(
    'AWS::S3::Bucket',
    {
      AccessControl: string({
        constraints: oneOf(
          'Private',
          'PublicRead',
          'PublicReadWrite',
          'AuthenticatedRead',
          'BucketOwnerRead',
          'BucketOwnerFullControl',
        ),
      }),
      WebsiteConfiguration: mapOf({ IndexDocument: string(), ErrorDocument: string() }),
      Tags: tags,
    },
    { DomainName: 'String', WebsiteURL: 'String' },
  ),
]);
