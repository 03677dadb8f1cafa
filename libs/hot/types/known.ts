/** Every type with a built-in schema, for work without a server. A server accepts the types that providers announce. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { defaultPeriod, withAlarmLimits } from './alarm-limits.ts';
import { aodhTypes } from './openstack/aodh.ts';
import { awsTypes } from './openstack/aws.ts';
import { configurationTypes } from './configuration.ts';
import { groupTypes } from './group.ts';
import { keystoneTypes } from './openstack/keystone.ts';
import { moreAlarmTypes } from './measuring.ts';
import { workflowTypes } from './openstack/mistral.ts';
import { provisioningTypes } from './provisioning.ts';
import { schedulingTypes } from './scheduling.ts';
import { softwareConfigTypes } from './software-config.ts';
import { unservedTypes } from './unserved.ts';

/** All types, each once. */
export const knownTypes: readonly ResourceType[] = [
  ...withAlarmLimits([...aodhTypes, ...moreAlarmTypes], defaultPeriod),
  ...awsTypes,
  ...configurationTypes,
  ...groupTypes,
  ...keystoneTypes,
  ...workflowTypes,
  ...provisioningTypes,
  ...schedulingTypes,
  ...softwareConfigTypes,
  ...unservedTypes,
];
