/** Mistral's API v2 as far as the openstack command stores and starts workflows, and follows and repairs executions. */
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { readJsonBodies } from '../http/body.ts';
import { serveDocument } from '../http/document.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { requireToken, type Authenticate } from '../identity/caller.ts';
import { authenticateHeader } from '../identity/keystone.ts';
import { actionDefinitionRoutes } from './action-routes.ts';
import { environmentRoutes } from './environment-routes.ts';
import { refusedMistralRoutes } from './refused-routes.ts';
import { taskRoutes } from './task-routes.ts';
import { cronTriggerRoutes } from './cron-trigger-routes.ts';
import { executionRoutes } from './execution-routes.ts';
import { mistralWorkflowRoutes } from './workflow-routes.ts';

/** Where the API is. The catalog names it with `/v2`. */
export const mistralPrefix = '/workflow';

export interface MistralOptions {
  ask: Ask;
  newId: () => string;
  version: string;
  authenticate: Authenticate;
  report: (error: unknown, request: FastifyRequest) => void;
}

const errorSchema = z
  .object({
    faultcode: z.enum(['Client', 'Server']),
    faultstring: z.string(),
    debuginfo: z.null(),
    code: z.string().optional().meta({ description: 'The code of Anneal.' }),
    remedy: z.string().optional(),
    mistakes: z.array(mistakeSchema).optional(),
  })
  .meta({ id: 'Error' });
const fault = (status: number, faultstring: string, more: object = {}) => ({
  faultcode: status < 500 ? 'Client' : 'Server',
  faultstring,
  debuginfo: null,
  ...more,
});

const mistralWording: FamilyWording = {
  body: ({ status, failure: { code, message, remedy, mistakes } }) =>
    fault(status, message, { code, remedy, ...(mistakes && { mistakes }) }),
  headers: ({ status }, request): Record<string, string> =>
    status === 401 ? { 'www-authenticate': authenticateHeader(request) } : {},
  notFound: (_request, reply) => reply.code(404).send(fault(404, 'The workflow API has no endpoint at this address.')),
  notAllowed: (_request, allow) => fault(405, `This address accepts ${allow.join(', ')}.`),
};

export function mistralFamily(
  scope: FastifyInstance,
  { ask, newId, version, authenticate, report }: MistralOptions,
): void {
  readJsonBodies(scope);
  // Definitions of workflows are YAML.
  scope.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  wordErrors(scope, mistralWording, report);
  requireToken(scope, authenticate);
  serveDocument(scope, {
    title: 'Workflows',
    description: 'Compatible with Mistral v2: workflows, executions, tasks, actions, environments and cron triggers.',
    version,
    error: errorSchema,
  });
  serveRoutes(scope, [
    ...versionRoutes,
    ...mistralWorkflowRoutes(ask),
    ...executionRoutes({ ask, newId }),
    ...taskRoutes(ask),
    ...cronTriggerRoutes(ask),
    ...actionDefinitionRoutes(ask),
    ...environmentRoutes(ask),
    ...refusedMistralRoutes,
  ]);
}

const link = z.object({ href: z.string(), rel: z.string(), target: z.string() });
const addressOf = (request: FastifyRequest): string => `${baseUrl(request)}${mistralPrefix}/v2`;

const versionRoutes = [
  route({
    method: 'GET',
    path: '/',
    summary: 'List the versions of this API.',
    public: true,
    answer: z.array(z.object({ id: z.string(), status: z.string(), links: z.array(link) })),
    handle: ({ request }) => [
      { id: 'v2.0', status: 'CURRENT', links: [{ href: addressOf(request), rel: 'self', target: 'v2' }] },
    ],
  }),
  route({
    method: 'GET',
    path: '/v2',
    summary: 'Show the address of version 2.',
    public: true,
    answer: z.object({ uri: z.string() }),
    handle: ({ request }) => ({ uri: addressOf(request) }),
  }),
];
