/** The types that the providers of Anneal's own services serve. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { configurationTypes } from './types/configuration.ts';
import { measuringTypes } from './types/measuring.ts';
import { nestedTypes, scalingTypes } from './nested/nested-types.ts';
import { keystoneTypes } from './types/openstack/keystone.ts';
import { workflowTypes } from './types/openstack/mistral.ts';
import { provisioningTypes } from './types/provisioning.ts';
import { schedulingTypes } from './types/scheduling.ts';

/** The types by provider. */
export const servedTypes = {
  'anneal.scheduling': [...schedulingTypes, ...nestedTypes, ...scalingTypes, ...workflowTypes],
  'anneal.provisioning': provisioningTypes,
  'anneal.configuration': configurationTypes,
  'anneal.notification': measuringTypes,
  'anneal.gateway': keystoneTypes,
} as const satisfies Readonly<Record<string, readonly ResourceType[]>>;

/** The types of all these providers. */
export const builtInTypes: readonly ResourceType[] = Object.values(servedTypes).flat();
