/**
 * AutoScalingGroup, InstanceGroup and the group of AWS: members keep a generated name, in order of age. Each is a
 * resource written in the group, or an instance of a launch configuration.
 */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { isPlainObject, toRecord } from '@anneal/python/yaml/node.ts';
import type { GroupKind } from './kind.ts';

/** Type of the members of instance groups. The registry of the group maps it to an AWS server. */
export const scaledResource = 'OS::Heat::ScaledResource';
/** Type to which the registry of an instance group maps its members. */
export const scaledResourceTarget = 'AWS::EC2::Instance';

/** Returns the size of a new group. A desired capacity of 0 counts as not given. */
export function firstSize(kind: GroupKind, properties: JsonObject): number {
  const number = (name: string): number => Number(properties[name] ?? 0);
  if (kind === 'scaling') return number('desired_capacity') || number('min_size');
  return number('Size') || number('DesiredCapacity') || number('MinSize');
}

/** Returns Heat's message when the sizes of a scaling group are invalid. */
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

/** Converts the resource of an AutoScalingGroup to the definition of its members. */
export function scalingDefinition(properties: JsonObject): JsonObject {
  const { resource } = properties;
  return toRecord(
    isPlainObject(resource)
      ? Object.entries(resource).filter(([key, value]) => keys.includes(key) && value !== null)
      : [],
  );
}

/** Defines an instance of a launch configuration. A tag names the group, so that metrics can be attributed to it. */
export function instanceDefinition({
  properties,
  configuration,
  group,
}: {
  /** Properties of the group. */
  properties: JsonObject;
  configuration: { readonly properties: JsonObject; readonly metadata?: JsonObject | undefined };
  /** Reference of the group. */
  group: Json;
}): JsonObject {
  const { InstanceId: _, ...given } = configuration.properties;
  const written = Array.isArray(properties['Tags']) ? properties['Tags'] : [];
  const isMetered = written.some(
    (tag) => isPlainObject(tag) && typeof tag['Key'] === 'string' && tag['Key'].startsWith('metering.'),
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
