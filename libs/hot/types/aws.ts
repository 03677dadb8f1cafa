/** CloudFormation's own types: schemas, so that templates that name them can be checked offline. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';

export const awsTypes: ResourceType[] = [
  {
    type: 'AWS::AutoScaling::AutoScalingGroup',
    properties: {
      AvailabilityZones: { type: 'List', required: true },
      LaunchConfigurationName: { type: 'String', update_allowed: true },
      InstanceId: { type: 'String', constraints: [{ custom_constraint: 'nova.server' }] },
      MaxSize: { type: 'Integer', required: true, update_allowed: true },
      MinSize: { type: 'Integer', required: true, update_allowed: true },
      Cooldown: { type: 'Integer', update_allowed: true },
      DesiredCapacity: { type: 'Integer', update_allowed: true },
      LoadBalancerNames: { type: 'List' },
      VPCZoneIdentifier: { type: 'List', schema: { '*': { type: 'String' } } },
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
  {
    type: 'AWS::AutoScaling::LaunchConfiguration',
    properties: {
      ImageId: { type: 'String', constraints: [{ custom_constraint: 'glance.image' }] },
      InstanceType: { type: 'String', constraints: [{ custom_constraint: 'nova.flavor' }] },
      InstanceId: { type: 'String', constraints: [{ custom_constraint: 'nova.server' }] },
      KeyName: { type: 'String', constraints: [{ custom_constraint: 'nova.keypair' }] },
      UserData: { type: 'String' },
      SecurityGroups: { type: 'List' },
      BlockDeviceMappings: {
        type: 'List',
        schema: {
          '*': {
            type: 'Map',
            schema: {
              DeviceName: { type: 'String', required: true },
              Ebs: {
                type: 'Map',
                schema: {
                  DeleteOnTermination: { type: 'Boolean', default: true },
                  Iops: { type: 'Number' },
                  SnapshotId: { type: 'String', constraints: [{ custom_constraint: 'cinder.snapshot' }] },
                  VolumeSize: { type: 'String' },
                  VolumeType: { type: 'String' },
                },
              },
              NoDevice: { type: 'Map' },
              VirtualName: { type: 'String' },
            },
          },
        },
      },
      NovaSchedulerHints: {
        type: 'List',
        schema: {
          '*': {
            type: 'Map',
            schema: { Key: { type: 'String', required: true }, Value: { type: 'String', required: true } },
          },
        },
      },
    },
    attributes: {},
  },
  {
    type: 'AWS::AutoScaling::ScalingPolicy',
    properties: {
      AutoScalingGroupName: { type: 'String', required: true },
      ScalingAdjustment: { type: 'Integer', required: true, update_allowed: true },
      AdjustmentType: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ allowed_values: ['ChangeInCapacity', 'ExactCapacity', 'PercentChangeInCapacity'] }],
      },
      Cooldown: { type: 'Integer', update_allowed: true },
      MinAdjustmentStep: { type: 'Integer', update_allowed: true, constraints: [{ range: { min: 0 } }] },
    },
    attributes: { AlarmUrl: { type: 'String' } },
  },
  {
    type: 'AWS::CloudFormation::Stack',
    properties: {
      TemplateURL: { type: 'String', required: true, update_allowed: true },
      TimeoutInMinutes: { type: 'Integer', update_allowed: true },
      Parameters: { type: 'Map', update_allowed: true },
    },
    attributes: {},
    open_attributes: true,
  },
  {
    type: 'AWS::EC2::EIP',
    properties: {
      Domain: { type: 'String', constraints: [{ allowed_values: ['vpc'] }] },
      InstanceId: { type: 'String', update_allowed: true, constraints: [{ custom_constraint: 'nova.server' }] },
    },
    attributes: { AllocationId: { type: 'String' } },
  },
  {
    type: 'AWS::EC2::EIPAssociation',
    properties: {
      InstanceId: { type: 'String', update_allowed: true, constraints: [{ custom_constraint: 'nova.server' }] },
      EIP: { type: 'String', update_allowed: true, constraints: [{ custom_constraint: 'ip_addr' }] },
      AllocationId: { type: 'String', update_allowed: true },
      NetworkInterfaceId: { type: 'String', update_allowed: true },
    },
    attributes: {},
  },
  {
    type: 'AWS::EC2::Instance',
    properties: {
      ImageId: { type: 'String', required: true, constraints: [{ custom_constraint: 'glance.image' }] },
      InstanceType: {
        type: 'String',
        required: true,
        update_allowed: true,
        constraints: [{ custom_constraint: 'nova.flavor' }],
      },
      KeyName: { type: 'String', constraints: [{ custom_constraint: 'nova.keypair' }] },
      AvailabilityZone: { type: 'String' },
      SecurityGroups: { type: 'List' },
      SecurityGroupIds: { type: 'List' },
      NetworkInterfaces: { type: 'List', update_allowed: true },
      SubnetId: { type: 'String', update_allowed: true },
      Tags: {
        type: 'List',
        update_allowed: true,
        schema: {
          '*': {
            type: 'Map',
            schema: { Key: { type: 'String', required: true }, Value: { type: 'String', required: true } },
          },
        },
      },
      NovaSchedulerHints: {
        type: 'List',
        schema: {
          '*': {
            type: 'Map',
            schema: { Key: { type: 'String', required: true }, Value: { type: 'String', required: true } },
          },
        },
      },
      UserData: { type: 'String' },
      Volumes: {
        type: 'List',
        default: [],
        schema: {
          '*': {
            type: 'Map',
            schema: {
              Device: { type: 'String', required: true },
              VolumeId: { type: 'String', required: true, constraints: [{ custom_constraint: 'cinder.volume' }] },
            },
          },
        },
      },
      BlockDeviceMappings: {
        type: 'List',
        schema: {
          '*': {
            type: 'Map',
            schema: {
              DeviceName: { type: 'String', required: true },
              Ebs: {
                type: 'Map',
                schema: {
                  DeleteOnTermination: { type: 'Boolean', default: true },
                  Iops: { type: 'Number' },
                  SnapshotId: { type: 'String', constraints: [{ custom_constraint: 'cinder.snapshot' }] },
                  VolumeSize: { type: 'String' },
                  VolumeType: { type: 'String' },
                },
              },
              NoDevice: { type: 'Map' },
              VirtualName: { type: 'String' },
            },
          },
        },
      },
    },
    attributes: {
      AvailabilityZone: { type: 'String' },
      PrivateDnsName: { type: 'String' },
      PublicDnsName: { type: 'String' },
      PrivateIp: { type: 'String' },
      PublicIp: { type: 'String' },
    },
  },
  {
    type: 'AWS::EC2::InternetGateway',
    properties: {
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
    attributes: {},
  },
  {
    type: 'AWS::EC2::NetworkInterface',
    properties: {
      Description: { type: 'String' },
      GroupSet: { type: 'List', update_allowed: true },
      PrivateIpAddress: { type: 'String' },
      SubnetId: { type: 'String', required: true, constraints: [{ custom_constraint: 'neutron.subnet' }] },
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
    attributes: { PrivateIpAddress: { type: 'String' } },
  },
  {
    type: 'AWS::EC2::RouteTable',
    properties: {
      VpcId: { type: 'String', required: true },
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
    attributes: {},
  },
  {
    type: 'AWS::EC2::SecurityGroup',
    properties: {
      GroupDescription: { type: 'String', required: true },
      VpcId: { type: 'String' },
      SecurityGroupIngress: {
        type: 'List',
        update_allowed: true,
        schema: {
          '*': {
            type: 'Map',
            schema: {
              CidrIp: { type: 'String' },
              FromPort: { type: 'String' },
              ToPort: { type: 'String' },
              IpProtocol: { type: 'String' },
              SourceSecurityGroupId: { type: 'String' },
              SourceSecurityGroupName: { type: 'String' },
              SourceSecurityGroupOwnerId: { type: 'String' },
            },
          },
        },
      },
      SecurityGroupEgress: {
        type: 'List',
        update_allowed: true,
        schema: {
          '*': {
            type: 'Map',
            schema: {
              CidrIp: { type: 'String' },
              FromPort: { type: 'String' },
              ToPort: { type: 'String' },
              IpProtocol: { type: 'String' },
              SourceSecurityGroupId: { type: 'String' },
              SourceSecurityGroupName: { type: 'String' },
              SourceSecurityGroupOwnerId: { type: 'String' },
            },
          },
        },
      },
    },
    attributes: {},
  },
  {
    type: 'AWS::EC2::Subnet',
    properties: {
      AvailabilityZone: { type: 'String' },
      CidrBlock: { type: 'String', required: true },
      VpcId: { type: 'String', required: true },
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
    attributes: { AvailabilityZone: { type: 'String' } },
  },
  {
    type: 'AWS::EC2::SubnetRouteTableAssociation',
    properties: {
      RouteTableId: { type: 'String', required: true },
      SubnetId: { type: 'String', required: true, constraints: [{ custom_constraint: 'neutron.subnet' }] },
    },
    attributes: {},
  },
  {
    type: 'AWS::EC2::VPC',
    properties: {
      CidrBlock: { type: 'String' },
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
    attributes: {},
  },
  {
    type: 'AWS::EC2::VPCGatewayAttachment',
    properties: { VpcId: { type: 'String', required: true }, InternetGatewayId: { type: 'String' } },
    attributes: {},
  },
  {
    type: 'AWS::EC2::Volume',
    properties: {
      AvailabilityZone: { type: 'String', required: true, immutable: true },
      Size: { type: 'Integer', immutable: true, constraints: [{ range: { min: 1 } }] },
      SnapshotId: { type: 'String', immutable: true, constraints: [{ custom_constraint: 'cinder.backup' }] },
      Tags: {
        type: 'List',
        immutable: true,
        schema: {
          '*': {
            type: 'Map',
            schema: { Key: { type: 'String', required: true }, Value: { type: 'String', required: true } },
          },
        },
      },
    },
    attributes: {},
  },
  {
    type: 'AWS::EC2::VolumeAttachment',
    properties: {
      InstanceId: {
        type: 'String',
        required: true,
        immutable: true,
        constraints: [{ custom_constraint: 'nova.server' }],
      },
      VolumeId: {
        type: 'String',
        required: true,
        immutable: true,
        constraints: [{ custom_constraint: 'cinder.volume' }],
      },
      Device: { type: 'String', required: true, immutable: true, constraints: [{ allowed_pattern: '/dev/vd[b-z]' }] },
    },
    attributes: {},
  },
  {
    type: 'AWS::ElasticLoadBalancing::LoadBalancer',
    properties: {
      AvailabilityZones: { type: 'List', required: true },
      HealthCheck: {
        type: 'Map',
        schema: {
          HealthyThreshold: { type: 'Integer', required: true },
          Interval: { type: 'Integer', required: true },
          Target: { type: 'String', required: true },
          Timeout: { type: 'Integer', required: true },
          UnhealthyThreshold: { type: 'Integer', required: true },
        },
      },
      Instances: { type: 'List', update_allowed: true },
      Listeners: {
        type: 'List',
        required: true,
        schema: {
          '*': {
            type: 'Map',
            schema: {
              InstancePort: { type: 'Integer', required: true },
              LoadBalancerPort: { type: 'Integer', required: true },
              Protocol: { type: 'String', required: true, constraints: [{ allowed_values: ['TCP', 'HTTP'] }] },
              SSLCertificateId: { type: 'String' },
              PolicyNames: { type: 'List' },
            },
          },
        },
      },
      SecurityGroups: { type: 'List', update_allowed: true },
    },
    attributes: {
      CanonicalHostedZoneName: { type: 'String' },
      CanonicalHostedZoneNameID: { type: 'String' },
      DNSName: { type: 'String' },
      'SourceSecurityGroup.GroupName': { type: 'String' },
      'SourceSecurityGroup.OwnerAlias': { type: 'String' },
    },
  },
  {
    type: 'AWS::IAM::AccessKey',
    properties: { UserName: { type: 'String', required: true } },
    attributes: { UserName: { type: 'String' }, SecretAccessKey: { type: 'String' } },
  },
  {
    type: 'AWS::IAM::User',
    properties: {
      Path: { type: 'String' },
      Groups: { type: 'List' },
      LoginProfile: { type: 'Map', schema: { Password: { type: 'String' } } },
      Policies: { type: 'List' },
    },
    attributes: {},
  },
  {
    type: 'AWS::S3::Bucket',
    properties: {
      AccessControl: {
        type: 'String',
        constraints: [
          {
            allowed_values: [
              'Private',
              'PublicRead',
              'PublicReadWrite',
              'AuthenticatedRead',
              'BucketOwnerRead',
              'BucketOwnerFullControl',
            ],
          },
        ],
      },
      WebsiteConfiguration: {
        type: 'Map',
        schema: { IndexDocument: { type: 'String' }, ErrorDocument: { type: 'String' } },
      },
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
    attributes: { DomainName: { type: 'String' }, WebsiteURL: { type: 'String' } },
  },
];
