/** Every type whose schema is known here, for work without a server. A server accepts those that a provider announces. */
import type { ResourceType } from '@anneal/contracts/resource-type.ts';
import { configurationTypes } from './configuration.ts';
import { provisioningTypes } from './provisioning.ts';
import { schedulingTypes } from './scheduling.ts';

export const knownTypes: readonly ResourceType[] = [...schedulingTypes, ...provisioningTypes, ...configurationTypes];
