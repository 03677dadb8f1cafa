/**
 * The broker as hosts use it: each host has one place to read its requests and one place to write its answers, and
 * credentials that reach nothing else. It is separate from the bus: it may be another server, or another virtual host or
 * account of the same one, so that no host can address a queue of the services.
 *
 * D1 The broker only carries messages. A message to a host may be lost or arrive twice; the caller sends it again.
 * D2 A message from a host is delivered again until `take` has resolved. Its host is known from the place that it was
 *    written to, which the permissions of the credentials decide, and never from its text.
 * D3 Credentials stop working at once when they are revoked or replaced: the broker ends their connections.
 * D4 The door opens and reopens by itself. While the broker is away, calls reject with Unavailable.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { BusLog } from '../bus-log.ts';

/** The facts that a program needs to use the broker as a host. */
export interface BrokerAccess {
  readonly broker: 'rabbitmq' | 'nats';
  /** The address of the broker for hosts, without credentials. */
  readonly url: string;
  readonly user: string;
  /** The queue (RabbitMQ) or subject (NATS) to consume from. */
  readonly requests: string;
  /** The exchange (RabbitMQ) or subject (NATS) to publish to. */
  readonly responses: string;
  /** NATS only: the prefix of the subjects for replies. */
  readonly inbox?: string;
}

/** An open door. Repeated calls are harmless. */
export interface HostDoor {
  /**
   * Gives a host its places and credentials with this password, instead of the earlier ones.
   * @throws AnnealError Unavailable when the broker or its management cannot be reached or refuses
   */
  grant(host: string, password: string): Promise<BrokerAccess>;
  /**
   * Ends credentials, their connections and the places of a host. A host that listens gets the text `last` before, where
   * it is given; a host that does not listen finds its credentials refused.
   * @throws AnnealError Unavailable
   */
  revoke(host: string, last?: string): Promise<void>;
  /** Sends a message to a host. It expires after `ttlMs` where the broker stores it. @throws AnnealError Unavailable */
  push(host: string, text: string, ttlMs: number): Promise<void>;
  /** Stops taking messages. Those that were not handled are delivered again to another process. */
  close(): Promise<void>;
}

/** The settings of the operator, and the program behind the door. */
export interface HostDoorOptions {
  /** The broker, with the credentials of Anneal. */
  readonly url: string;
  /** The management of the broker: the HTTP API of RabbitMQ, or a user of the system account of NATS. */
  readonly adminUrl: string | undefined;
  /** NATS only: the seed of the account key that signs the permissions of hosts. */
  readonly key: string | undefined;
  /** The address for hosts. Default: that of `url`. */
  readonly address: string | undefined;
  /** The name of this process at the broker. */
  readonly name: string;
  readonly log: BusLog;
  /** Handles a message of a host. Resolves with the reply for it; rejects when it has to be delivered again. */
  readonly take: (host: string, bytes: Uint8Array) => Promise<JsonObject>;
  /** True for the current password of a host. Only NATS asks; RabbitMQ keeps the passwords itself. */
  readonly isGranted: (host: string, password: string) => Promise<boolean>;
}

/** The error of a call while the broker is away. */
export const doorAway = (what: string, why: string): AnnealError => new AnnealError('Unavailable', `${what}: ${why}.`);

/** A URL without its user and password. */
export const withoutUser = (url: string): string => url.replace(/\/\/[^@/]*@/, '//').replace(/\?.*$/, '');
