/** A value for each property of each type that the services serve. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import { engineEntries, others } from './engine.ts';
import { configs, hostEntries } from './hosts.ts';
import { identityEntries } from './identity.ts';
import { measuringEntries } from './measuring.ts';
import type { TypeEntry } from './entry.ts';

export const entries: Readonly<Record<string, TypeEntry>> = {
  ...engineEntries,
  ...hostEntries,
  ...measuringEntries,
  ...identityEntries,
};

const first = { type: 'OS::Heat::OrderedConfig', properties: { hosted_on: { get_param: 'host' }, script: 'first' } };

/** The resources beside the twins: what their properties refer to. */
export const surroundings: JsonObject = { ...configs, ...others, first };
