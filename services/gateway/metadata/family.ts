/**
 * The metadata service: a host reads what it is and its user data, as in EC2 and OpenStack.
 *
 * M1 The address `/metadata/v1/{host}/{key}/…` is the credential. Its key derives from the host's token, so a renewal of
 *    the token and the deletion of the host revoke it. Wrong keys are slowed down, and no address is logged.
 * M2 The plain addresses of clouds, `/latest/…`, exist only for the networks of `ANNEAL_GATEWAY_METADATA_NETWORKS`. There
 *    the source address of the connection names the host. A request that came over a proxy has none, so it is refused.
 * M3 Nothing here contains the token of the host: vendor data, which has it on config drives, is empty.
 */
import { isInNetwork, readNetwork } from '@anneal/contracts/readers/ip.ts';
import { hostKeys } from '@anneal/contracts/calls/hosts.ts';
import { instanceShow } from '@anneal/contracts/calls/boot.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { isMetadataKey } from '@anneal/runtime/secrets/host-keys.ts';
import { openText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { Attempts } from '@anneal/runtime/work/attempts.ts';
import { ec2Versions, instanceFiles, openInstance, type OpenInstance } from './instance-files.ts';
import { isSessionToken, longestSessionSeconds, sessionToken } from './session-token.ts';
import { readTree } from './tree.ts';

export interface MetadataOptions {
  ask: Ask;
  secrets: Secrets;
  wording: FamilyWording;
  report: (error: unknown, request: FastifyRequest) => void;
  /** The clock of the hosts' requests, in milliseconds. */
  now: () => number;
  region: string;
  /** True: every read needs a session token, as EC2 with `HttpTokens=required`. */
  needsSession: boolean;
}

const tokenPath = 'latest/api/token';
const hostForm = /^[0-9a-f-]{36}$/;

const readsFile = {
  method: 'GET',
  summary: 'Read a file of the metadata of a host, or the names in a folder.',
  headers: z.object({ 'x-aws-ec2-metadata-token': z.string().optional() }),
  answer: z.string(),
  answerType: 'text/plain',
} as const;
const opensSession = {
  method: 'PUT',
  summary: 'Get a session token for the metadata.',
  headers: z.object({ 'x-aws-ec2-metadata-token-ttl-seconds': z.int().min(1).max(longestSessionSeconds) }),
  answer: z.string(),
  answerType: 'text/plain',
} as const;

/** M1. */
export function metadataFamily(scope: FastifyInstance, options: MetadataOptions): void {
  const { ask, secrets, wording, report, now } = options;
  wordErrors(scope, wording, report);
  // Whole racks boot at once from one address, and only failures count.
  const attempts = new Attempts({ now, what: 'Reading metadata', free: 20, longestWaitMs: 30_000 });

  const instanceAt = async (
    { ip }: FastifyRequest,
    { host, key }: { host: string; key: string },
  ): Promise<OpenInstance> => {
    try {
      if (!hostForm.test(host)) throw new AnnealError('NotFound', '');
      const { token } = await ask('configuration', hostKeys, { data: { host_id: host } });
      if (!isMetadataKey(openText(secrets, token), key)) throw new AnnealError('NotFound', '');
      return await instanceOf(options, { host_id: host });
    } catch (error) {
      if (!hasCode(error, 'NotFound')) throw error;
      attempts.refused({ address: ip });
      throw new AnnealError(
        'NotFound',
        'No host has this metadata address: it is wrong, the token of the host was renewed, or the host is being deleted.',
        { details: { remedy: 'The file anneal/metadata-url on the config drive of a host has its address.' } },
      );
    }
  };
  serveRoutes(scope, [
    ...(['/{host}/{key}', '/{host}/{key}/*'] as const).map((path) =>
      route({
        ...readsFile,
        path,
        handle: async ({ params, headers, request, reply }) => {
          const instance = await instanceAt(request, params);
          return sendFile(options, { headers, reply, instance, path: '*' in params ? params['*'] : '' });
        },
      }),
    ),
    route({
      ...opensSession,
      path: `/{host}/{key}/${tokenPath}`,
      handle: async ({ params, headers, request, reply }) =>
        sendSession(options, { headers, request, reply, instance: await instanceAt(request, params) }),
    }),
  ]);
}

/** M2. The prefixes of the plain addresses. */
export const plainMetadataPrefixes = [...ec2Versions, 'openstack'].map((name) => `/${name}`);

/** M2. The files below one of these prefixes. */
export function plainMetadataFamily(
  scope: FastifyInstance,
  { networks, ...options }: MetadataOptions & { networks: readonly string[] },
): void {
  const { wording, report } = options;
  wordErrors(scope, wording, report);
  const allowed = networks.flatMap((network) => readNetwork(network) ?? []);
  const instanceAt = async (request: FastifyRequest): Promise<OpenInstance> => {
    const { ip } = request;
    const isProxied = ['x-forwarded-for', 'forwarded', 'via'].some((name) => request.headers[name] !== undefined);
    if (isProxied || !allowed.some((network) => isInNetwork(ip, network))) {
      throw new AnnealError(
        'NotFound',
        isProxied
          ? 'The metadata service knows a host by its own address, and this request came over a proxy.'
          : 'The metadata service does not serve this network (ANNEAL_GATEWAY_METADATA_NETWORKS).',
      );
    }
    return instanceOf(options, { address: ip });
  };
  const top = scope.prefix.slice(1);
  serveRoutes(
    scope,
    (['/', '/*'] as const).map((path) =>
      route({
        ...readsFile,
        path,
        handle: async ({ params, headers, request, reply }) => {
          const instance = await instanceAt(request);
          return sendFile(options, { headers, reply, instance, path: `${top}/${'*' in params ? params['*'] : ''}` });
        },
      }),
    ),
  );
  if (!tokenPath.startsWith(`${top}/`)) return;
  serveRoutes(scope, [
    route({
      ...opensSession,
      path: tokenPath.slice(top.length),
      handle: async ({ headers, request, reply }) =>
        sendSession(options, { headers, request, reply, instance: await instanceAt(request) }),
    }),
  ]);
}

async function instanceOf(
  { ask, secrets }: MetadataOptions,
  data: { host_id: string } | { address: string },
): Promise<OpenInstance> {
  return openInstance(await ask('provisioning', instanceShow, { data }), (value) => secrets.open(value));
}

interface Exchange<Declared extends { readonly headers: z.ZodType }> {
  readonly headers: z.output<Declared['headers']>;
  readonly reply: FastifyReply;
  readonly instance: OpenInstance;
}

function sendFile(
  { secrets, now, region, needsSession }: MetadataOptions,
  { headers, reply, instance, path }: Exchange<typeof readsFile> & { path: string },
): FastifyReply {
  const token = headers['x-aws-ec2-metadata-token'];
  const isEc2 = !/^(openstack|nocloud)(\/|$)/.test(path);
  const isAllowed =
    token === undefined
      ? !(needsSession && isEc2)
      : isSessionToken(secrets, { token, hostId: instance.host_id, now: now() });
  if (!isAllowed) {
    throw new AnnealError('Unauthorized', 'The metadata token is missing, wrong or expired.', {
      details: { remedy: 'PUT latest/api/token with the header X-aws-ec2-metadata-token-ttl-seconds gives one.' },
    });
  }
  const text = readTree(instanceFiles(instance, { region }), path.split('/'));
  if (text === undefined) {
    throw new AnnealError('NotFound', `The metadata of this host has no ${JSON.stringify(path.slice(0, 200))}.`, {
      details: { remedy: 'An address that ends with / lists what is below it.' },
    });
  }
  const type = path.endsWith('.json') ? 'application/json' : 'text/plain; charset=utf-8';
  return reply.type(type).header('cache-control', 'no-store').send(text);
}

function sendSession(
  { secrets, now }: MetadataOptions,
  { headers, request, reply, instance }: Exchange<typeof opensSession> & { request: FastifyRequest },
): FastifyReply {
  // As EC2: a proxy that others can use must not get one.
  if (request.headers['x-forwarded-for'] !== undefined) {
    throw new AnnealError('Forbidden', 'A metadata token is not given over a proxy (X-Forwarded-For).');
  }
  const seconds = headers['x-aws-ec2-metadata-token-ttl-seconds'];
  const expires = Math.floor(now() / 1000) + seconds;
  return reply
    .type('text/plain')
    .headers({ 'cache-control': 'no-store', 'x-aws-ec2-metadata-token-ttl-seconds': seconds })
    .send(sessionToken(secrets, { hostId: instance.host_id, expires }));
}
