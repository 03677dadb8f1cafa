/** The identity API in Keystone v3's form: tokens, users, projects, domains, groups, roles and the catalog. */
import type { Failure } from '@anneal/contracts/failure.ts';
import { jsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl } from '../http/base-url.ts';
import type { FamilyWording } from '../http/family.ts';
import { route, type Route } from '../http/route.ts';
import { accessRuleRoutes } from './routes/access-rule-routes.ts';
import { applicationCredentialRoutes } from './routes/application-credential-routes.ts';
import { assignmentRoutes } from './routes/assignment-routes.ts';
import { authRoutes } from './routes/auth-routes.ts';
import { catalogRoutes } from './routes/catalog-routes.ts';
import { credentialRoutes } from './routes/credential-routes.ts';
import { domainRoutes } from './routes/domain-routes.ts';
import { oidcRoutes } from './routes/oidc-routes.ts';
import { notOfferedRoutes } from './routes/not-offered-routes.ts';
import { groupRoutes } from './routes/group-routes.ts';
import { projectRoutes } from './routes/project-routes.ts';
import { roleRoutes } from './routes/role-routes.ts';
import type { KeystoneOptions } from './routes/shape.ts';
import { trustRoutes } from './routes/trust-routes.ts';
import { userRoutes } from './routes/user-routes.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  413: 'Request Entity Too Large',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};
const wording = (code: number, message: string, details?: Failure['details']) => ({
  error: { code, title: titles[code] ?? 'Internal Server Error', message, ...(details && { details }) },
});

/** The body of an error. `details` is ours: facts such as the remedy, which a login must not lose. */
export const keystoneErrorSchema = z
  .object({
    error: z.object({ code: z.int(), title: z.string(), message: z.string(), details: jsonObject.optional() }),
  })
  .meta({ id: 'Error' });

export const authenticateHeader = (request: FastifyRequest): string => `Keystone uri="${baseUrl(request)}/identity"`;

export const keystoneWording: FamilyWording = {
  body: ({ status, failure }) => wording(status, failure.message, failure.details),
  headers: (problem, request) => ({
    vary: 'X-Auth-Token',
    ...(problem.status === 401 && { 'www-authenticate': authenticateHeader(request) }),
  }),
  notFound: (_request, reply) =>
    reply.code(404).send(wording(404, 'The identity API has no endpoint at this address.')),
  notAllowed: (_request, allow) => wording(405, `This address accepts ${allow.join(', ')}.`),
};

const entry = z.looseObject({ id: z.string(), status: z.string() });

/** The routes of the identity API. */
export const keystoneRoutes = (options: KeystoneOptions): Route[] => [
  route({
    method: 'GET',
    path: '/',
    summary: 'List the versions of this API.',
    public: true,
    status: 300,
    answer: z.object({ versions: z.object({ values: z.array(entry) }) }),
    handle: ({ request }) => ({ versions: { values: [versionEntry(request)] } }),
  }),
  route({
    method: 'GET',
    path: '/v3',
    summary: 'Show this version of the API.',
    public: true,
    answer: z.object({ version: entry }),
    handle: ({ request }) => ({ version: versionEntry(request) }),
  }),
  ...authRoutes(options),
  ...domainRoutes(options),
  ...projectRoutes(options),
  ...userRoutes(options),
  ...groupRoutes(options),
  ...roleRoutes(options),
  ...assignmentRoutes(options),
  ...applicationCredentialRoutes(options),
  ...accessRuleRoutes(options),
  ...trustRoutes(options),
  ...credentialRoutes(options),
  ...catalogRoutes(options),
  ...notOfferedRoutes(),
  ...oidcRoutes(options),
];

function versionEntry(request: FastifyRequest): object {
  return {
    id: 'v3.14',
    status: 'stable',
    updated: '2020-04-07T00:00:00Z',
    links: [{ rel: 'self', href: `${baseUrl(request)}/identity/v3/` }],
    'media-types': [{ base: 'application/json', type: 'application/vnd.openstack.identity-v3+json' }],
  };
}
