/**
 * The names that a host uses on the broker, and the rights of its credentials. Pure.
 *
 * R1 A host reads from one place and writes to one place. Both names contain its id.
 * R2 A host creates, changes, binds and deletes nothing.
 * R3 No id of a host can widen a right: the characters of an id have no meaning in a pattern or a subject.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';

const hostId = /^[A-Za-z0-9-]{1,64}$/;
const userPrefix = 'anneal.host.';

/** @throws AnnealError InvalidRequest for an id that has a meaning in patterns or subjects (R3) */
function checked(host: string): string {
  if (hostId.test(host)) return host;
  throw new AnnealError(
    'InvalidRequest',
    `Cannot make credentials for host ${host.slice(0, 100)}: its id must have 1 to 64 letters, digits and "-".`,
  );
}

/** The user of a host at the broker. @throws AnnealError InvalidRequest for an id with other characters */
export const brokerUserOf = (host: string): string => `${userPrefix}${checked(host)}`;

/** The host of a user. Undefined for a user of another kind. */
export function hostOfBrokerUser(user: string): string | undefined {
  const host = user.startsWith(userPrefix) ? user.slice(userPrefix.length) : '';
  return hostId.test(host) ? host : undefined;
}

/** The names on RabbitMQ. `prefix` precedes every name. */
export interface RabbitPlaces {
  /** The queue of the host. */
  readonly requests: string;
  /** The exchange of the host; everything that it gets goes to the queue of answers. */
  readonly responses: string;
}

/** @throws AnnealError InvalidRequest for an id with other characters */
export const rabbitPlaces = (prefix: string, host: string): RabbitPlaces => ({
  requests: `${prefix}host.${checked(host)}.requests`,
  responses: `${prefix}host.${checked(host)}.responses`,
});

/** The queue with the messages of all hosts. */
export const rabbitAnswers = (prefix: string): string => `${prefix}anneal.hosts.responses`;

/** The host that may write to an exchange. Undefined for another exchange. */
export function hostOfExchange(prefix: string, exchange: string): string | undefined {
  const before = `${prefix}host.`;
  const host = exchange.startsWith(before) ? exchange.slice(before.length).replace(/\.responses$/, '') : '';
  return hostId.test(host) && rabbitPlaces(prefix, host).responses === exchange ? host : undefined;
}

/** Patterns of the resources that a user of RabbitMQ may configure, write and read. */
export interface RabbitRights {
  readonly configure: string;
  readonly write: string;
  readonly read: string;
}

const exactly = (name: string): string => `^${name.replaceAll(/[^A-Za-z0-9-]/g, String.raw`\$&`)}$`;

/** The rights of a host on RabbitMQ (R1, R2). An empty pattern would match everything, so `^$` means nothing. */
export const rabbitRights = ({ requests, responses }: RabbitPlaces): RabbitRights => ({
  configure: '^$',
  write: exactly(responses),
  read: exactly(requests),
});

/** The most connections and channels of one host, so that a host cannot use up the broker. */
export const rabbitLimits = { 'max-connections': 4, 'max-channels': 8 } as const;

/** The subjects of a host on NATS. */
export interface NatsPlaces {
  readonly requests: string;
  readonly responses: string;
  /** Replies to the host arrive below it, and no other host can listen there. */
  readonly inbox: string;
}

/** @throws AnnealError InvalidRequest for an id with other characters */
export const natsPlaces = (prefix: string, host: string): NatsPlaces => ({
  requests: `${prefix}.hosts.${checked(host)}.requests`,
  responses: `${prefix}.hosts.${checked(host)}.responses`,
  inbox: `_INBOX.host-${checked(host)}`,
});

/** The subjects of the messages of all hosts. */
export const natsAnswers = (prefix: string): string => `${prefix}.hosts.*.responses`;

/** The host that may publish on a subject. Undefined for another subject. */
export function hostOfSubject(prefix: string, subject: string): string | undefined {
  const host = subject.startsWith(`${prefix}.hosts.`) ? (subject.slice(prefix.length).split('.')[2] ?? '') : '';
  return hostId.test(host) && natsPlaces(prefix, host).responses === subject ? host : undefined;
}

/** The rights of a host on NATS (R1, R2), as the claims of a user have them. */
export const natsRights = ({ requests, responses, inbox }: NatsPlaces) => ({
  pub: { allow: [responses] },
  sub: { allow: [requests, `${inbox}.>`] },
  /** The most subscriptions. */
  subs: 8,
});

/**
 * True for a reply subject that the host itself can read. Anneal may publish everywhere, so it must not send a reply to
 * a subject that a host only names: the request queue of another host, for example.
 */
export const mayReplyTo = ({ inbox }: NatsPlaces, reply: string | undefined): reply is string =>
  reply?.startsWith(`${inbox}.`) === true && !/[*>\s]/.test(reply);
