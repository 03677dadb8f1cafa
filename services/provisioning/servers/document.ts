/** The last request for a server and its answer: one document per resource. */
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import { systemOccasion, type Occasion } from '@anneal/contracts/origin.ts';
import type { ResourceRequest } from '@anneal/contracts/resource.ts';
import type { WorkingDocument } from '@anneal/provider/provide.ts';
import type { CollectionDefinition } from '@anneal/store/port.ts';

export interface ServerDocument extends WorkingDocument {
  readonly type: string;
  readonly hostname: string;
  readonly project: string;
  /** The attributes of the last answer. */
  readonly attributes: JsonObject;
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

/** The actor and the cause of the request. */
export const occasionIn = ({ origin }: ResourceRequest): Occasion =>
  origin ? { actor: origin.actor, cause: origin.cause } : systemOccasion();
