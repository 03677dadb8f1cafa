/** The last request for a server and its answer: one document per resource. */
import type { Failure } from '@anneal/contracts/errors.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { ResourceAction, ResourceRequest, ResourceResponse } from '@anneal/contracts/resource.ts';
import type { CollectionDefinition, Document } from '@anneal/store/port.ts';

export interface ServerDocument extends Document {
  readonly type: string;
  /** The highest fence seen. A request with a lower one is dropped. */
  readonly fence: number;
  readonly action: ResourceAction;
  /** `working`; `answering`: the answer is decided but perhaps not sent; `done`. */
  readonly phase: 'working' | 'answering' | 'done';
  /** The whole request, from which work continues after a restart. */
  readonly request: JsonObject;
  readonly hostname: string;
  readonly project: string;
  /** The attributes of the last answer. */
  readonly attributes: JsonObject;
  readonly attempts: number;
  readonly created_at: string;
  readonly last_error: Failure | null;
  /** The last progress message to the engine, and the number of messages. */
  readonly said: string;
  readonly said_count: number;
  readonly response: JsonObject | null;
}

export const serversDefinition: CollectionDefinition = {
  name: 'provisioning_servers',
  indexes: [{ fields: ['phase', 'created_at'] }],
};

export const requestOf = (server: ServerDocument): Envelope<ResourceRequest> =>
  server.request as unknown as Envelope<ResourceRequest>;
export const responseOf = (server: ServerDocument): ResourceResponse | null =>
  server.response as unknown as ResourceResponse | null;
export const asObject = (value: object): JsonObject => value as unknown as JsonObject;

export function textOf(properties: JsonObject, name: string): string {
  const value: Json | undefined = properties[name];
  return typeof value === 'string' ? value : '';
}

export function objectOf(properties: JsonObject, name: string): JsonObject {
  const value = properties[name];
  return isObject(value) ? value : {};
}
