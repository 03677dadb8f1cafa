/** The types that the providers of Anneal's own services serve. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { configurationTypes } from './configuration.ts';
import { measuringTypes } from './measuring.ts';
import { nestedTypes, scalingTypes } from './nested.ts';
import { keystoneTypes } from './openstack/keystone.ts';
import { workflowTypes } from './openstack/mistral.ts';
import { provisioningTypes } from './provisioning.ts';
import { schedulingTypes } from './scheduling.ts';

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
