/** Ironic's API for nodes: what the openstack command needs to enrol, show, power and provision them. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { requireToken, type Authenticate } from '../identity/caller.ts';
import { authenticateHeader } from '../identity/keystone.ts';
import { detailRoutes } from './detail-routes.ts';
import { refusedRoutes } from './refused-routes.ts';
import { runbookRoutes } from './runbook-routes.ts';
import { managementRoutes } from './management-routes.ts';
import { microversionOf, microversions } from './microversion.ts';
import { nodeRoutes } from './node-routes.ts';
import { ironicPrefix } from './node-view.ts';
import { stateRoutes } from './state-routes.ts';
import { traitRoutes } from './trait-routes.ts';

export interface IronicOptions {
  ask: Ask;
  secrets: Secrets;
  newId: () => string;
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
      if (!(error instanceof AnnealError) || error.code !== 'Conflict') throw error;
      throw new AnnealError('InvalidRequest', error.message, { cause: error });
    });
}

export function ironicFamily(
  scope: FastifyInstance,
  { newId, secrets, authenticate, report, ...options }: IronicOptions,
): void {
  const ask = withoutConflicts(options.ask);
  readJsonBodies(scope);
  wordErrors(scope, ironicWording, report);
  requireToken(scope, authenticate);
  const asked = (request: FastifyRequest) =>
    microversionOf(request.headers, (request.url.split('?')[0] ?? '').replace(ironicPrefix, ''));
  scope.addHook('onRequest', async (request, reply) => {
    const found = asked(request);
    if ('refused' in found)
      await reply.code(found.refused.status).send(fault(found.refused.status, found.refused.message));
  });
  scope.addHook('onSend', async (request, reply) => {
    const found = asked(request);
    void reply.headers({
      'x-openstack-ironic-api-minimum-version': microversions.least,
      'x-openstack-ironic-api-maximum-version': microversions.most,
      'x-openstack-ironic-api-version': 'version' in found ? found.version : microversions.most,
    });
  });

  const entry = (request: FastifyRequest) => ({
    id: 'v1',
    status: 'CURRENT',
    min_version: microversions.least,
    version: microversions.most,
    links: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/`, rel: 'self' }],
  });
  const open = { config: { public: true } } as const;
  scope.get('/', open, (request) => ({
    name: 'Bare metal API',
    description: 'Nodes, compatible with Ironic.',
    default_version: entry(request),
    versions: [entry(request)],
  }));
  scope.get('/v1', open, (request) => ({
    id: 'v1',
    version: entry(request),
    links: entry(request).links,
    nodes: [{ href: `${baseUrl(request)}${ironicPrefix}/v1/nodes/`, rel: 'self' }],
    media_types: [{ base: 'application/json', type: 'application/vnd.openstack.ironic.v1+json' }],
  }));

  nodeRoutes(scope, { ask, secrets, newId });
  stateRoutes(scope, { ask, secrets });
  traitRoutes(scope, ask);
  detailRoutes(scope, ask);
  managementRoutes(scope, ask);
  runbookRoutes(scope, { ask, newId });
  refusedRoutes(scope);
}
