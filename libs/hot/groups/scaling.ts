/**
 * AutoScalingGroup, InstanceGroup and the group of AWS: members under names that are given to them once, in order of age.
 * What each is: a resource written out in the group, or an instance after a launch configuration.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isObject, toRecord } from '../node.ts';
import type { GroupKind } from './kind.ts';

/** The type of the members of instance groups; the registry of the group maps it to a server of AWS. */
export const scaledResource = 'OS::Heat::ScaledResource';
export const scaledResourceTarget = 'AWS::EC2::Instance';

/** How many members a new group has. A desired capacity of 0 counts as none given. */
export function firstSize(kind: GroupKind, properties: JsonObject): number {
  const number = (name: string): number => Number(properties[name] ?? 0);
  if (kind === 'scaling') return number('desired_capacity') || number('min_size');
  return number('Size') || number('DesiredCapacity') || number('MinSize');
}

/** What is wrong with the sizes of a scaling group, in Heat's words. */
export function wrongSizes(properties: JsonObject): string | undefined {
  const own = (native: string, aws: string): Json | undefined => properties[native] ?? properties[aws];
  const [least, most] = [own('min_size', 'MinSize'), own('max_size', 'MaxSize')];
  const desired = own('desired_capacity', 'DesiredCapacity');
  if (typeof least !== 'number' || typeof most !== 'number') return undefined;
  if (least > most) return 'MinSize can not be greater than MaxSize';
  const isOutside = typeof desired === 'number' && (desired < least || desired > most);
  return isOutside ? 'DesiredCapacity must be between MinSize and MaxSize' : undefined;
}

const keys = ['type', 'properties', 'metadata', 'depends_on', 'deletion_policy', 'update_policy'];

/** The resource that an AutoScalingGroup holds, as its members have it. */
export function scalingDefinition(properties: JsonObject): JsonObject {
  const { resource } = properties;
  return toRecord(
    isObject(resource) ? Object.entries(resource).filter(([key, value]) => keys.includes(key) && value !== null) : [],
  );
}

/** An instance after a launch configuration. It is tagged with the group, so that what it measures can be told apart. */
export function instanceDefinition({
  properties,
  configuration,
  group,
}: {
  /** Of the group. */
  properties: JsonObject;
  configuration: { readonly properties: JsonObject; readonly metadata?: JsonObject | undefined };
  /** What the group is referred to by. */
  group: Json;
}): JsonObject {
  const { InstanceId: _, ...given } = configuration.properties;
  const written = Array.isArray(properties['Tags']) ? properties['Tags'] : [];
  const isMetered = written.some(
    (tag) => isObject(tag) && typeof tag['Key'] === 'string' && tag['Key'].startsWith('metering.'),
  );
  const tags = isMetered ? written : [...written, { Key: 'metering.groupname', Value: group }];
  const [subnet] = Array.isArray(properties['VPCZoneIdentifier']) ? properties['VPCZoneIdentifier'] : [];
  const { metadata } = configuration;
  return {
    type: scaledResource,
    properties: { ...given, Tags: tags, ...(subnet !== undefined && { SubnetId: subnet }) },
    ...(metadata && Object.keys(metadata).length > 0 && { metadata }),
  };
}
