/** Paths and options that the routes of messages share. */
import type { Ask } from '../../ask.ts';
import type { Dialect } from '../dialect.ts';
import type { QueueRequestLimits } from '../limits.ts';

export const allMessages = '/queues/:queue/messages';
export const oneMessage = `${allMessages}/:message`;
export interface MessagePath {
  Params: { queue: string; message: string };
}
/** Config of a route that hosts may call. */
export const hosts = { config: { hosts: true } } as const;
/** Config of a route that hosts may call, and whose call carries the hash of the token. */
export const checkedHosts = { config: { hosts: true, checksHost: true } } as const;

export interface MessageRouteOptions {
  ask: Ask;
  dialect: Dialect;
  limits: QueueRequestLimits;
}
