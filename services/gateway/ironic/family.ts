/** Ironic's API for nodes: what the openstack command needs to enrol, show, power and provision them. */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { z } from 'zod';
import { serveDocument } from '../http/document.ts';
import { readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { requireToken, type Authenticate } from '../identity/caller.ts';
import { authenticateHeader } from '../identity/keystone.ts';
import { guardNodes } from './access.ts';
import { allocationRoutes } from './allocation-routes.ts';
import { assetRoutes } from './asset-routes.ts';
import { detailRoutes } from './detail-routes.ts';
import { hardwareRoutes } from './hardware-routes.ts';
import { inspectionRuleRoutes } from './inspection-rule-routes.ts';
import { managementRoutes } from './management-routes.ts';
import { refusedRoutes } from './refused-routes.ts';
import { runbookRoutes } from './runbook-routes.ts';
import { ironicPath, microversionOf, microversions, minorAsked } from './microversion.ts';
import { nodeListRoutes } from './node-list.ts';
import { nodeRoutes } from './node-routes.ts';
import { ironicPrefix, ironicLinks, ironicLinksSchema } from './node-view.ts';
import { hardwareSettingRoutes } from './setting-routes.ts';
import { stateRoutes } from './state-routes.ts';
import { traitRoutes } from './trait-routes.ts';
import { answerAt, tooNewIn } from './versioned-fields.ts';

export interface IronicOptions {
  ask: Ask;
  secrets: Secrets;
  newId: () => string;
  version: string;
  authenticate: Authenticate;
  report: (error: unknown, request: FastifyRequest) => void;
}

/** Ironic puts its fault, as JSON, into a string. */
const fault = (status: number, faultstring: string, more: object = {}) => ({
  error_message: JSON.stringify({
    faultcode: status < 500 ? 'Client' : 'Server',
    faultstring,
    debuginfo: null,
    ...more,
  }),
});

/** The body of an error. */
const ironicErrorSchema = z
  .object({ error_message: z.string().meta({ description: 'The fault, as JSON in a text.' }) })
  .meta({ id: 'Error' });

const ironicWording: FamilyWording = {
  body: ({ status, failure: { code, message, remedy, mistakes } }) =>
    fault(status, message, { code, remedy, ...(mistakes && { mistakes }) }),
  headers: ({ status }, request): Record<string, string> =>
    status === 401 ? { 'www-authenticate': authenticateHeader(request) } : {},
  notFound: (_request, reply) =>
    reply.code(404).send(fault(404, 'The bare metal API has no endpoint at this address.')),
  notAllowed: (_request, allow) => fault(405, `This address accepts ${allow.join(', ')}.`),
};

/** Answers 400 for a wrong state. In Ironic 409 means a locked node, and clients retry a 409 for a while. */
function withoutConflicts(ask: Ask): Ask {
  return (service, call, parameters) =>
    ask(service, call, parameters).catch((error: unknown) => {
      if (!call.type.startsWith('node.')) throw error;
      if (!hasCode(error, 'Conflict')) throw error;
      throw new AnnealError('InvalidRequest', error.message, { cause: error });
    });
}

/** Until 1.90, an address could end with the type of its content. */
function stripContentTypes(scope: FastifyInstance): void {
  scope.addHook('onRequest', async (request) => {
    const params = request.params as Record<string, string>;
    if (minorAsked(request) > 90) return;
    for (const [name, value] of Object.entries(params)) params[name] = value.replace(/\.json$/, '');
  });
}

/** Chooses the microversion of each request, and keeps what is younger out of it and of its answer. */
function serveVersions(scope: FastifyInstance): void {
  const asked = (request: FastifyRequest) =>
    microversionOf(request.headers, { method: request.method, path: ironicPath(request) });
  scope.addHook('onRequest', async (request, reply) => {
    const found = asked(request);
    if ('refused' in found)
      await reply.code(found.refused.status).send(fault(found.refused.status, found.refused.message));
  });
  scope.addHook('preValidation', async (request, reply) => {
    const minor = minorAsked(request);
    const query = request.query as Record<string, unknown>;
    const tooNew = tooNewIn({ path: ironicPath(request), minor, query, body: request.body });
    if (tooNew)
      return reply
        .code(406)
        .send(
          fault(
            406,
            `Request not acceptable: ${tooNew.name} exists since version 1.${tooNew.since}, but the request asks for version 1.${minor}.`,
          ),
        );
  });
  scope.addHook('preSerialization', async (request, reply, answer: unknown) =>
    reply.statusCode >= 400 ? answer : answerAt(answer, { path: ironicPath(request), minor: minorAsked(request) }),
  );
  scope.addHook('onSend', async (request, reply) => {
    const found = asked(request);
    void reply.headers({
      'x-openstack-ironic-api-minimum-version': microversions.least,
      'x-openstack-ironic-api-maximum-version': microversions.most,
      'x-openstack-ironic-api-version': 'version' in found ? found.version : microversions.most,
    });
  });
}

const collections = [
  'nodes',
  'chassis',
  'ports',
  'drivers',
  'portgroups',
  'volume',
  'conductors',
  'allocations',
  'deploy_templates',
  'shards',
  'runbooks',
  'inspection_rules',
] as const;

const entryOf = (request: FastifyRequest) => ({
  id: 'v1',
  status: 'CURRENT',
  min_version: microversions.least,
  version: microversions.most,
  links: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/`, rel: 'self' }],
});
const entrySchema = z.looseObject({
  id: z.string(),
  status: z.string(),
  min_version: z.string(),
  version: z.string(),
});

const versionRoutes = [
  route({
    method: 'GET',
    path: '/',
    summary: 'List the versions of this API.',
    public: true,
    answer: z.object({
      name: z.string(),
      description: z.string(),
      default_version: entrySchema,
      versions: z.array(entrySchema),
    }),
    handle: ({ request }) => ({
      name: 'Bare metal API',
      description: 'Nodes, compatible with Ironic.',
      default_version: entryOf(request),
      versions: [entryOf(request)],
    }),
  }),
  route({
    method: 'GET',
    path: '/v1',
    summary: 'Show this version of the API.',
    public: true,
    answer: z.looseObject({ id: z.string(), version: entrySchema, links: ironicLinksSchema }),
    handle: ({ request }) => ({
      id: 'v1',
      version: entryOf(request),
      links: entryOf(request).links,
      ...Object.fromEntries(collections.map((name) => [name, ironicLinks(baseUrl(request), `${name}/`)])),
      media_types: [{ base: 'application/json', type: 'application/vnd.openstack.ironic.v1+json' }],
    }),
  }),
];

export function ironicFamily(scope: FastifyInstance, { authenticate, report, ...options }: IronicOptions): void {
  const ask = withoutConflicts(options.ask);
  readJsonBodies(scope);
  wordErrors(scope, ironicWording, report);
  requireToken(scope, authenticate);
  serveDocument(scope, {
    title: 'Bare metal',
    description: 'Compatible with Ironic v1: nodes, their states, ports, allocations and runbooks.',
    version: options.version,
    error: ironicErrorSchema,
    headers: () => z.object({ 'X-OpenStack-Ironic-API-Version': z.string().optional() }),
  });
  stripContentTypes(scope);
  // Rights come before versions: a refusal does not depend on the version of the request.
  guardNodes(scope, ask);
  serveVersions(scope);
  const routes = { ...options, ask };
  serveRoutes(scope, [
    ...versionRoutes,
    ...nodeListRoutes(ask),
    ...nodeRoutes(routes),
    ...stateRoutes(routes),
    ...traitRoutes(ask),
    ...detailRoutes(ask),
    ...managementRoutes(ask),
    ...hardwareRoutes(ask),
    ...hardwareSettingRoutes(ask),
    ...assetRoutes(routes),
    ...allocationRoutes(routes),
    ...runbookRoutes(routes),
    ...inspectionRuleRoutes(routes),
    ...refusedRoutes,
  ]);
}
