/**
 * The addresses of sinks. Pure.
 *
 * | address | sink |
 * | --- | --- |
 * | `http://…`, `https://…` | a webhook |
 * | `queue:NAME?ttl=3600` | a queue of the project |
 * | `amqp://…/VHOST?exchange=NAME&key={type}`, `amqps://…` | an exchange of a RabbitMQ |
 * | `nats://…?subject=NAME.{type}&ack=stream`, `tls://…` | a subject of a NATS server |
 * | `mailto:ops@example.org,…` | mail |
 * | `config:ID?host=NAME&host=…`, `config:ID?where=EXPRESSION` | a config that runs on hosts |
 */
import { isUuid } from '@anneal/contracts/readers/uuid.ts';
import { isIpAddress } from '@anneal/contracts/readers/ip.ts';
import type { BrokerSinkAddress } from '@anneal/bus/sinks/broker-sink.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isPublic } from '@anneal/runtime/network/public-address.ts';
import { notPublic } from './public-address.ts';

/** A stored config and the hosts that run it: either by name or id, or by an expression over their facts. */
export interface ConfigPlace {
  readonly config: string;
  readonly hosts: readonly string[];
  readonly where: string | undefined;
  /** Time limit of each run; undefined: one day. */
  readonly seconds: number | undefined;
}

export type SinkAddress =
  | { readonly kind: 'mail'; readonly recipients: readonly string[] }
  | { readonly kind: 'config'; readonly place: ConfigPlace }
  | { readonly kind: 'webhook'; readonly host: string }
  /** `ttl`: seconds. */
  | { readonly kind: 'queue'; readonly queue: string; readonly ttl: number }
  | {
      readonly kind: 'amqp';
      readonly broker: BrokerSinkAddress;
      readonly vhost: string;
      readonly exchange: string;
      readonly routingKey: string;
    }
  | {
      readonly kind: 'nats';
      readonly broker: BrokerSinkAddress;
      readonly subject: string;
      readonly confirmation: 'stream' | 'none';
    };

const defaultTtl = 3600;
const longestTtl = 14 * 86_400;
const longestRun = 30 * 86_400;
const mostHosts = 100;
const mostRecipients = 20;
/** The form of a mail address. */
export const mailPattern = /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})*$/;
const queuePattern = /^[A-Za-z0-9_.-]{1,64}$/;
const subjectPattern = /^(?:[A-Za-z0-9_-]|\{type\})+(?:\.(?:[A-Za-z0-9_-]|\{type\})+)*$/;

interface Reading {
  readonly url: URL;
  readonly mistakes: string[];
  readonly credentials: string | undefined;
}

/**
 * Reads the address of a sink.
 * @param credentials `user:password`, encoded as in a URL; the address itself must not contain them
 * @throws AnnealError InvalidRequest that names every mistake
 */
export function readSinkAddress(
  text: string,
  { allowPrivate, credentials }: { allowPrivate: boolean; credentials?: string | undefined },
): SinkAddress {
  const url = new URL(text);
  const reading: Reading = { url, mistakes: [], credentials };
  const address = addressOf(reading);
  const host = address.kind === 'webhook' ? address.host : 'broker' in address ? address.broker.host : '';
  if (!allowPrivate && ((isIpAddress(host) && !isPublic(host)) || host === 'localhost')) {
    reading.mistakes.push(notPublic(host, host));
  }
  if (reading.mistakes.length === 0) return address;
  throw new AnnealError(
    'InvalidRequest',
    `Cannot send events to ${shownAddress(text)}: ${reading.mistakes.join('; ')}`,
  );
}

/** The path and query of a subscriber by trust, `trust+http://…`: an address of the gateway. Undefined for other addresses. */
export function trustedPath(text: string): string | undefined {
  const url = /^trust\+https?:/.test(text) ? new URL(text.slice('trust+'.length)) : undefined;
  return url && `${url.pathname}${url.search}`;
}

/** Protocols of addresses without a host. */
const opaque = new Set(['queue:', 'mailto:', 'config:']);

/** The address in messages: without user, password and parameters. */
export function shownAddress(text: string): string {
  const { protocol, host, pathname } = new URL(text);
  return opaque.has(protocol) ? `${protocol}${pathname}` : `${protocol}//${host}`;
}

function addressOf(reading: Reading): SinkAddress {
  const { url, mistakes, credentials } = reading;
  if (url.username !== '' || url.password !== '') {
    mistakes.push(
      'the address must not contain a user or password; a webhook has a signature, a broker `credentials`.',
    );
  }
  if (credentials !== undefined && (opaque.has(url.protocol) || url.protocol.startsWith('http'))) {
    mistakes.push('only a broker takes credentials.');
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  switch (url.protocol) {
    case 'http:':
    case 'https:':
      return { kind: 'webhook', host };
    case 'queue:':
      return queueOf(reading);
    case 'mailto:':
      return mailOf(reading);
    case 'config:':
      return { kind: 'config', place: configOf(reading) };
    case 'amqp:':
    case 'amqps:': {
      const parameters = parametersOf(reading, ['exchange', 'key']);
      const exchange = parameters.get('exchange') ?? '';
      if (exchange === '') mistakes.push('`exchange` is missing: amqp://broker/vhost?exchange=NAME.');
      const vhost = decoded(url.pathname.replace(/^\//, ''), mistakes);
      return {
        kind: 'amqp',
        broker: brokerOf(reading, { host, isSecure: url.protocol === 'amqps:', ports: [5672, 5671] }),
        vhost: vhost === '' ? '/' : vhost,
        exchange,
        routingKey: parameters.get('key') ?? '{type}',
      };
    }
    case 'nats:':
    case 'tls:': {
      const parameters = parametersOf(reading, ['subject', 'ack']);
      const subject = parameters.get('subject') ?? '';
      const confirmation = parameters.get('ack') ?? 'stream';
      if (!subjectPattern.test(subject))
        mistakes.push(
          '`subject` must be words of letters, digits, - and _ between dots; {type} is the type of the event.',
        );
      if (confirmation !== 'stream' && confirmation !== 'none') mistakes.push('`ack` must be stream or none.');
      return {
        kind: 'nats',
        broker: brokerOf(reading, { host, isSecure: url.protocol === 'tls:', ports: [4222, 4222] }),
        subject,
        confirmation: confirmation === 'none' ? 'none' : 'stream',
      };
    }
    default:
      mistakes.push(
        `the address must begin with http:, https:, queue:, amqp:, amqps:, nats:, tls:, mailto: or config:, not with ${url.protocol}`,
      );
      return { kind: 'webhook', host };
  }
}

function queueOf(reading: Reading): SinkAddress {
  const { url, mistakes } = reading;
  const parameters = parametersOf(reading, ['ttl']);
  const queue = url.pathname;
  if (!queuePattern.test(queue)) {
    mistakes.push('the name of a queue must have 1 to 64 letters, digits, "_", "-" and ".": queue:NAME.');
  }
  const ttl = Number(parameters.get('ttl') ?? defaultTtl);
  if (!Number.isInteger(ttl) || ttl < 1 || ttl > longestTtl) {
    mistakes.push(`\`ttl\` must be a whole number of seconds from 1 to ${longestTtl}.`);
  }
  return { kind: 'queue', queue, ttl };
}

function mailOf(reading: Reading): SinkAddress {
  const { url, mistakes } = reading;
  parametersOf(reading, []);
  const recipients = decoded(url.pathname, mistakes).split(',');
  const wrong = recipients.filter((each) => !mailPattern.test(each));
  if (wrong.length > 0) mistakes.push(`${JSON.stringify(wrong[0])} is not a mail address: mailto:NAME@DOMAIN.`);
  if (recipients.length > mostRecipients) mistakes.push(`a subscription has at most ${mostRecipients} recipients.`);
  return { kind: 'mail', recipients };
}

function configOf(reading: Reading): ConfigPlace {
  const { url, mistakes } = reading;
  const parameters = parametersOf(reading, ['host', 'where', 'seconds']);
  const hosts = parameters.getAll('host');
  const where = parameters.get('where') ?? undefined;
  if (!isUuid(url.pathname.toLowerCase())) {
    mistakes.push('the id of a stored config must follow: config:ID?host=NAME.');
  }
  if (hosts.length > 0 === (where !== undefined) || hosts.some((each) => each === '') || where === '') {
    mistakes.push(
      'name hosts (`host=NAME`, repeated for several) or an expression (`where=facts.rack == "a"`), not both.',
    );
  }
  if (hosts.length > mostHosts) mistakes.push(`at most ${mostHosts} hosts can be named; use \`where\` for more.`);
  const given = parameters.get('seconds');
  const seconds = given === null ? undefined : Number(given);
  if (seconds !== undefined && !(Number.isInteger(seconds) && seconds >= 1 && seconds <= longestRun)) {
    mistakes.push(`\`seconds\` must be a whole number from 1 to ${longestRun}.`);
  }
  return { config: url.pathname, hosts, where, seconds };
}

function parametersOf({ url, mistakes }: Reading, known: readonly string[]): URLSearchParams {
  for (const name of new Set(url.searchParams.keys())) {
    if (!known.includes(name))
      mistakes.push(
        `\`${name}\` is not a parameter${known.length > 0 ? `; the parameters are ${known.join(', ')}` : ' here'}.`,
      );
  }
  return url.searchParams;
}

function brokerOf(
  { url, mistakes, credentials }: Reading,
  { host, isSecure, ports: [plain, secure] }: { host: string; isSecure: boolean; ports: readonly [number, number] },
): BrokerSinkAddress {
  if (host === '') mistakes.push('the host is missing.');
  const [user = '', ...rest] = (credentials ?? '').split(':');
  return {
    host,
    port: url.port === '' ? (isSecure ? secure : plain) : Number(url.port),
    isSecure,
    credentials:
      credentials === undefined
        ? undefined
        : { user: decoded(user, mistakes), password: decoded(rest.join(':'), mistakes) },
  };
}

function decoded(text: string, mistakes: string[]): string {
  try {
    return decodeURIComponent(text);
  } catch {
    mistakes.push('a % does not begin an escape; write %25.');
    return '';
  }
}
