/** Hosts. */
import {
  hostBrokerGrant,
  hostBrokerRevoke,
  hostKeys,
  hostJoin,
  hostList,
  hostRemove,
  hostShow,
  hostTokenRenew,
  hostViewSchema,
} from '@anneal/contracts/calls/hosts.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { metadataAddress } from '@anneal/runtime/secrets/host-keys.ts';
import { openText, type Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { z } from 'zod';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { joinPrefix } from '../shell/join-routes.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { isOperator } from '@anneal/directory/access.ts';
import { route, type Route } from '../http/route.ts';
import { wantedPage, pageQuery } from './page-query.ts';

export interface HostEndpointOptions {
  readonly ask: Ask;
  readonly secrets: Pick<Secrets, 'open'>;
  /** The address at which hosts reach the gateway, from the settings. */
  readonly gatewayUrl: string;
}

const joinAnswerSchema = z.object({
  host: hostViewSchema,
  url: z.url().meta({ description: 'The secret address of the script that makes a machine this host.' }),
  expires_at: z.iso.datetime(),
});

const metadataMeaning =
  'Where programs on the host read its metadata. A new token changes it, so the file anneal/metadata-url of the config drive is out of date.';

/** The set address; with the default, which only this machine reaches, the address of the request. */
const publicUrl = (gatewayUrl: string, request: FastifyRequest): string =>
  ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(gatewayUrl).hostname)
    ? baseUrl(request)
    : gatewayUrl.replace(/\/$/, '');

export function hostEndpoints({ ask, secrets, gatewayUrl }: HostEndpointOptions): Route[] {
  return [
    route({
      method: 'GET',
      path: '/hosts',
      summary: 'List the hosts of the project, those for which an expression is true, or one page of them.',
      query: z.strictObject({ where: z.string().optional(), ...pageQuery }),
      answer: hostList.answer,
      handle: ({ request, query: { where, ...paging } }) => {
        const project = projectOf(request);
        const page = wantedPage(paging);
        return ask('configuration', hostList, {
          project,
          data: { project, ...(where !== undefined && { where }), ...(page && { page }) },
        });
      },
    }),
    route({
      method: 'GET',
      path: '/hosts/{host}',
      summary: 'Show a host by id or name.',
      answer: hostViewSchema,
      handle: ({ request, params }) => {
        const project = projectOf(request);
        return ask('configuration', hostShow, { project, data: { project, host: params['host'] ?? '' } });
      },
    }),
    route({
      method: 'POST',
      path: '/hosts/{host}/token',
      sensitive: true,
      summary: 'Issue a new token for a host; the old token stops working.',
      answer: z.object({
        host: hostViewSchema,
        token: z.string(),
        metadata_url: z.url().meta({ description: metadataMeaning }),
      }),
      handle: async ({ request, params }) => {
        const project = projectOf(request);
        const data = { project, host: params['host'] ?? '' };
        const renewed = await ask('configuration', hostTokenRenew, { project, data });
        const { host, token } = renewed;
        return { ...renewed, metadata_url: metadataAddress(gatewayUrl, { hostId: host.id, hostToken: token }) };
      },
    }),
    route({
      method: 'GET',
      path: '/hosts/{host}/metadata-url',
      sensitive: true,
      summary:
        'Show the address at which a host reads its own metadata. It needs the role admin, because it is a secret.',
      answer: z.object({ metadata_url: z.url().meta({ description: metadataMeaning }) }),
      handle: async ({ request, params }) => {
        const caller = callerOf(request);
        if (caller.kind !== 'user' || !isOperator(caller.access, 'member'))
          throw new AnnealError('Forbidden', 'The metadata address of a host needs the role admin.');
        const project = projectOf(request);
        const data = { project, host: params['host'] ?? '' };
        const { id: hostId } = await ask('configuration', hostShow, { project, data });
        const { token } = await ask('configuration', hostKeys, { project, data: { host_id: hostId } });
        return { metadata_url: metadataAddress(gatewayUrl, { hostId, hostToken: openText(secrets, token) }) };
      },
    }),
    ...brokerEndpoints({ ask }),
    ...joinEndpoints({ ask, gatewayUrl }),
  ];
}

const brokerEndpoints = ({ ask }: Pick<HostEndpointOptions, 'ask'>): Route[] => [
  route({
    method: 'POST',
    path: '/hosts/{host}/credentials',
    summary: 'Issue credentials with which a host uses the broker directly; the earlier ones stop working.',
    answer: hostBrokerGrant.answer,
    handle: ({ request, params }) => {
      const project = projectOf(request);
      return ask('configuration', hostBrokerGrant, { project, data: { project, host: params['host'] ?? '' } });
    },
  }),
  route({
    method: 'DELETE',
    path: '/hosts/{host}/credentials',
    summary: 'Revoke the credentials of a host for the broker; its connections end.',
    answer: hostBrokerRevoke.answer,
    handle: ({ request, params }) => {
      const project = projectOf(request);
      return ask('configuration', hostBrokerRevoke, { project, data: { project, host: params['host'] ?? '' } });
    },
  }),
];

const joinEndpoints = ({ ask, gatewayUrl }: Omit<HostEndpointOptions, 'secrets'>): Route[] => [
  route({
    method: 'POST',
    path: '/hosts/{host}/join',
    sensitive: true,
    summary: 'Issue an address with which a machine joins as this host, once. Creates the host unless it exists.',
    answer: joinAnswerSchema,
    handle: async ({ request, params }) => {
      const project = projectOf(request);
      const { join_token: token, ...joined } = await ask('configuration', hostJoin, {
        project,
        data: { project, host: params['host'] ?? '' },
      });
      return { ...joined, url: `${publicUrl(gatewayUrl, request)}${joinPrefix}/${token}` };
    },
  }),
  route({
    method: 'DELETE',
    path: '/hosts/{host}',
    summary: 'Delete a joined host. A host of a stack is refused: delete its server from the stack.',
    answer: z.object({}),
    handle: ({ request, params }) => {
      const project = projectOf(request);
      return ask('configuration', hostRemove, { project, data: { project, host: params['host'] ?? '' } });
    },
  }),
];
