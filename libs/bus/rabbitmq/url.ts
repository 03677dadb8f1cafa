/** Reads `amqp[s]://user:password@host[:port][,host…]/vhost?settings` for the driver and the adapter. */
import { readFileSync } from 'node:fs';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Options, SocketOptions } from 'amqplib';

/** The parts of an AMQP URL. */
export interface BrokerEndpoint {
  /** The nodes of a cluster, tried in turn. */
  readonly servers: readonly Options.Connect[];
  readonly socket: SocketOptions;
  /** Precedes every name on the broker, so that several systems can share a virtual host. */
  readonly prefix: string;
  /** The type of the hosts' queues. */
  readonly hostQueues: 'quorum' | 'classic';
  /** How long a send waits for a broker that is away or blocked before it fails. */
  readonly sendTimeoutMs: number;
  /** For logs and errors: without the password. */
  readonly shown: string;
}

const known = ['prefix', 'hosts', 'heartbeat', 'sendtimeout', 'ca', 'cert', 'key', 'servername', 'verify'];
const form = /^(amqps?):\/\/(?:([^@/?#]*)@)?([^/?#]+)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
/** A connection counts as dead after twice this time without a sign of life: then its messages go to others. */
const defaultHeartbeatSeconds = 3;
const defaultSendTimeoutMs = 20_000;

/**
 * The endpoint that the URL names. Reads the files of a certificate.
 * @throws AnnealError InvalidRequest that names every mistake, and never the password.
 */
export function parseUrl(url: string): BrokerEndpoint {
  const parts = form.exec(url);
  const shown = url.replace(/\/\/[^@/]*@/, '//***@');
  if (!parts) {
    throw new AnnealError(
      'InvalidRequest',
      `${shown} must have the form amqp[s]://[user:password@]host[:port][,host…][/vhost].`,
    );
  }
  const [, protocol = 'amqp', credentials = '', authority = '', vhost = '', query = ''] = parts;
  const settings = new UrlSettings(query);
  const colon = credentials.indexOf(':');
  const username = settings.decode('user', colon === -1 ? credentials : credentials.slice(0, colon));
  const password = settings.decode('password', colon === -1 ? '' : credentials.slice(colon + 1));
  const heartbeat = settings.number('heartbeat', { otherwise: defaultHeartbeatSeconds, least: 1 });
  const sendTimeoutMs = settings.number('sendtimeout', { otherwise: defaultSendTimeoutMs, least: 100 });
  const hostQueues = settings.oneOf('hosts', ['quorum', 'classic'], 'quorum');
  const verify = settings.oneOf('verify', ['peer', 'none'], 'peer');
  const [ca, cert, key] = [settings.file('ca'), settings.file('cert'), settings.file('key')];
  const servername = settings.text('servername');
  const servers = authority.split(',').map((server): Options.Connect => {
    const found = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d+))?$/.exec(server);
    if (!found) settings.mistakes.push(`"${server}" is not host[:port]`);
    const [, host = '', port] = found ?? [];
    return {
      protocol,
      hostname: host.replace(/^\[|\]$/g, ''),
      port: port === undefined ? (protocol === 'amqps' ? 5671 : 5672) : Number(port),
      ...(credentials === '' ? { username: 'guest', password: 'guest' } : { username, password }),
      // The driver decodes it once more.
      vhost: vhost === '' ? '/' : encodeURIComponent(settings.decode('virtual host', vhost)),
      heartbeat,
    };
  });
  if (settings.mistakes.length > 0) {
    throw new AnnealError('InvalidRequest', `${shown}: ${settings.mistakes.join('; ')}.`);
  }
  return {
    servers,
    socket: {
      noDelay: true,
      keepAlive: true,
      timeout: 10_000,
      ...(ca && { ca: [ca] }),
      ...(cert && { cert }),
      ...(key && { key }),
      ...(servername !== null && { servername }),
      ...(mutual(credentials, cert) && { credentials: externally }),
      ...(verify === 'none' && { rejectUnauthorized: false }),
    },
    prefix: settings.text('prefix') ?? '',
    hostQueues,
    sendTimeoutMs,
    shown,
  };
}

/** The settings behind the `?`. Each method notes a mistake and returns a default, so that all mistakes are found. */
class UrlSettings {
  readonly mistakes: string[] = [];
  readonly #settings: URLSearchParams;

  constructor(query: string) {
    this.#settings = new URLSearchParams(query);
    for (const name of new Set(this.#settings.keys())) {
      if (!known.includes(name)) this.mistakes.push(`${name} is not an option; the options are ${known.join(', ')}`);
    }
  }

  text(name: string): string | null {
    return this.#settings.get(name);
  }

  number(name: string, { otherwise, least }: { otherwise: number; least: number }): number {
    const text = this.text(name);
    if (text === null) return otherwise;
    const value = Number(text);
    if (Number.isInteger(value) && value >= least) return value;
    this.mistakes.push(`${name}=${text} must be an integer of at least ${least}`);
    return otherwise;
  }

  oneOf<T extends string>(name: string, values: readonly T[], otherwise: T): T {
    const text = this.text(name) ?? otherwise;
    const found = values.find((value) => value === text);
    if (found === undefined) this.mistakes.push(`${name}=${text} must be one of ${values.join(', ')}`);
    return found ?? otherwise;
  }

  file(name: string): Buffer | undefined {
    const path = this.text(name);
    if (path === null) return undefined;
    try {
      return readFileSync(path);
    } catch (error) {
      this.mistakes.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  }

  decode(what: string, text: string): string {
    try {
      return decodeURIComponent(text);
    } catch {
      this.mistakes.push(`the ${what} contains a % that does not begin an escape (write %25)`);
      return '';
    }
  }
}

/** True for a certificate without a user: then the certificate proves the identity. */
const mutual = (credentials: string, cert: Buffer | undefined): boolean => credentials === '' && cert !== undefined;
const externally = { mechanism: 'EXTERNAL', response: () => Buffer.alloc(0) };
