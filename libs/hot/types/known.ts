/** Every type whose schema is known here, for work without a server. A server accepts those that a provider announces. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { aodhTypes } from './aodh.ts';
import { awsTypes } from './aws.ts';
import { configurationTypes } from './configuration.ts';
import { groupTypes } from './group.ts';
import { ironicTypes } from './ironic.ts';
import { keystoneTypes } from './keystone.ts';
import { mistralTypes } from './mistral.ts';
import { provisioningTypes } from './provisioning.ts';
import { schedulingTypes } from './scheduling.ts';
import { softwareConfigTypes } from './software-config.ts';
import { swiftSignalTypes } from './wait-condition.ts';
import { zaqarTypes } from './zaqar.ts';

export const knownTypes: readonly ResourceType[] = [
  ...aodhTypes,
  ...awsTypes,
  ...configurationTypes,
  ...groupTypes,
  ...ironicTypes,
  ...keystoneTypes,
  ...mistralTypes,
  ...provisioningTypes,
  ...schedulingTypes,
  ...softwareConfigTypes,
  ...swiftSignalTypes,
  ...zaqarTypes,
];
