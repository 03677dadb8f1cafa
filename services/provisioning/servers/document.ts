/** The last request for a server and its answer: one document per resource. */
import type { Failure } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import type { WorkingDocument } from '@anneal/provider/provide.ts';
import type { CollectionDefinition } from '@anneal/store/port.ts';

/** A node on which a server could not be deployed. */
export interface FailedNode {
  readonly node: string;
  readonly name: string;
  readonly at: string;
  readonly error: Failure;
}

export interface ServerDocument extends WorkingDocument {
  readonly type: string;
  readonly hostname: string;
  readonly project: string;
  /** The attributes of the last answer. */
  readonly attributes: JsonObject;
  /** The nodes on which this request failed before, oldest first. Absent: none. */
  readonly failed_nodes?: readonly FailedNode[];
  /** The id of its server group. Absent: none. */
  readonly group?: string;
  /** The host that an adopted server took. Anneal does not control its machine. Absent for all other servers. */
  readonly adopted_host?: string;
  /** When the request arrived. */
  readonly created_at: string;
}

export const serversDefinition: CollectionDefinition = {
  name: 'provisioning_servers',
  indexes: [{ fields: ['phase', 'created_at'] }],
};

export function textOf(properties: JsonObject, name: string): string {
  const value: Json | undefined = properties[name];
  return typeof value === 'string' ? value : '';
}

export function objectOf(properties: JsonObject, name: string): JsonObject {
  const value = properties[name];
  return isObject(value) ? value : {};
}

/** Whether a change of the property needs a new deployment of the machine. */
export const needsDeployment = (name: string, properties: JsonObject): boolean =>
  name === 'image' ||
  name === 'flavor' ||
  (name === 'user_data' && ['REPLACE', 'REBUILD'].includes(textOf(properties, 'user_data_update_policy')));

/** The actor and the cause of the request. */
export const occasionIn = ({ origin }: ResourceRequest): Occasion =>
  origin ? { actor: origin.actor, cause: origin.cause } : systemOccasion();

/** The host that the request takes over for its server. Undefined for one that takes over no host. */
export function adoptedHostOf({ adopt }: ResourceRequest): string | undefined {
  const host = adopt?.['host'];
  return typeof host === 'string' ? host : undefined;
}
