/**
 * `nats://[user:password@|token@]host[:port][,host…][?…]`, `tls://…`. Parameters: `prefix` of streams and subjects
 * (default `anneal`), `replicas` of each stream (default 1), `creds` a credentials file, `ca`, `cert`, `key` PEM files.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { credsAuthenticator, type NodeConnectionOptions } from '@nats-io/transport-node';
import { readFile } from 'node:fs/promises';

/** The parts of a NATS URL. `replicas`: copies of each stream in a cluster. */
export interface NatsUrl {
  readonly connection: NodeConnectionOptions;
  readonly prefix: string;
  readonly replicas: number;
}

const known = ['prefix', 'replicas', 'creds', 'ca', 'cert', 'key'];

/** @throws AnnealError InvalidRequest that names every mistake and never shows a password. */
export async function readNatsUrl(url: string): Promise<NatsUrl> {
  const mistakes: string[] = [];
  const match = /^(nats|tls):\/\/(?:([^@/]*)@)?([^/?]*)\/?(?:\?(.*))?$/.exec(url);
  if (!match)
    throw new AnnealError(
      'InvalidRequest',
      'The URL of the bus must have the form nats://host:port or tls://host:port.',
    );
  const [, scheme, userinfo, hosts = '', query = ''] = match;
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (!known.includes(name)) mistakes.push(`${name} is not an option; the options are ${known.join(', ')}`);
  }
  const prefix = parameters.get('prefix') ?? 'anneal';
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(prefix)) mistakes.push('prefix may contain only letters, digits, - and _');
  const replicas = Number(parameters.get('replicas') ?? '1');
  if (!Number.isInteger(replicas) || replicas < 1 || replicas > 5)
    mistakes.push('replicas must be a number from 1 to 5');
  const servers = hosts.split(',').filter((host) => host !== '');
  if (servers.length === 0) mistakes.push('the host is missing');

  const read = async (name: string): Promise<string | undefined> => {
    const file = parameters.get(name);
    if (file === null) return undefined;
    try {
      return await readFile(file, 'utf8');
    } catch (error) {
      mistakes.push(`cannot read ${name}: ${error instanceof Error ? error.message : String(error)}`);
      return undefined;
    }
  };
  const credentials = credentialsOf(userinfo);
  if (!credentials) mistakes.push('the user or password contains a % that does not begin an escape (write %25)');
  const [creds, ca, cert, key] = await Promise.all([read('creds'), read('ca'), read('cert'), read('key')]);
  if (mistakes.length > 0)
    throw new AnnealError('InvalidRequest', `The URL of the bus is wrong: ${mistakes.join('; ')}.`);

  const secure = scheme === 'tls' || ca !== undefined || cert !== undefined;
  return {
    prefix,
    replicas,
    connection: {
      servers,
      ...credentials,
      ...(creds !== undefined && { authenticator: credsAuthenticator(new TextEncoder().encode(creds)) }),
      ...(secure && {
        tls: {
          ...(ca !== undefined && { ca }),
          ...(cert !== undefined && { cert }),
          ...(key !== undefined && { key }),
        },
      }),
    },
  };
}

function credentialsOf(userinfo = ''): { user?: string; pass?: string; token?: string } | undefined {
  if (userinfo === '') return {};
  const [first = '', ...rest] = userinfo.split(':');
  try {
    if (rest.length === 0) return { token: decodeURIComponent(first) };
    return { user: decodeURIComponent(first), pass: decodeURIComponent(rest.join(':')) };
  } catch {
    return undefined;
  }
}
