/** Heat's API: authentication, the project of a request, and the routes. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { BodyLimit } from '../http/route.ts';
import { baseUrl, requestPath } from '../http/base-url.ts';
import { described, serveDocument } from '../http/document.ts';
import { projectOf, requireToken, type Authenticate } from '../identity/caller.ts';
import { actionRoutes } from './stacks/action-routes.ts';
import { createCompiler, type CompilerOptions } from './stacks/compile.ts';
import { eventRoutes } from './resources/event-routes.ts';
import { previewRoutes } from './stacks/preview-routes.ts';
import { resourceRoutes } from './resources/resource-routes.ts';
import { signalRoutes } from './resources/signal-routes.ts';
import { snapshotRoutes } from './stacks/snapshot-routes.ts';
import { softwareRoutes } from './software-routes.ts';
import { stackListRoutes, type StackListOptions } from './stacks/stack-list.ts';
import { stackReadRoutes, type StackReadOptions } from './stacks/stack-reads.ts';
import { stackRoutes } from './stacks/stack-routes.ts';
import { rememberTypes } from './templates/known-types.ts';
import { engineRoutes, type EngineRouteOptions } from './engine-routes.ts';
import { typeRoutes } from './templates/type-routes.ts';
import { heatError, heatErrorSchema, heatWording } from './wording.ts';
import { readJsonBodies } from '../http/body.ts';
import { wordErrors } from '../http/family.ts';

export type HeatOptions = CompilerOptions &
  StackListOptions &
  StackReadOptions &
  EngineRouteOptions & {
    authenticate: Authenticate;
    configLimit: BodyLimit;
    version: string;
    report: (error: unknown, request: FastifyRequest) => void;
  };

export const heatPrefix = '/orchestration';

const isVersioned = (request: FastifyRequest): boolean => /^\/orchestration\/v1(\/|$)/.test(requestPath(request));

function versions(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const links = [{ rel: 'self', href: `${baseUrl(request)}${heatPrefix}/v1/` }];
  return reply.code(300).send({ versions: [{ id: 'v1.0', status: 'CURRENT', links }] });
}

export function heatFamily(scope: FastifyInstance, options: HeatOptions): void {
  readJsonBodies(scope);
  wordErrors(
    scope,
    {
      ...heatWording,
      // A path outside version 1 gets the list of versions.
      notFound: (request, reply) =>
        isVersioned(request) ? heatWording.notFound(request, reply) : versions(request, reply),
    },
    options.report,
  );
  requireToken(scope, options.authenticate, { skip: (request) => !isVersioned(request) });
  scope.addHook('preParsing', async (request) => {
    const { project } = request.params as { project?: string };
    if (project === undefined || project === projectOf(request)) return;
    throw heatError('Forbidden', 'HTTPForbidden', 'Access was denied to this resource.');
  });

  // Heat names no charset, and some of its clients compare the whole value.
  scope.addHook('onSend', async (_request, reply) => {
    if (reply.getHeader('content-type') !== 'application/json; charset=utf-8') return;
    reply.header('content-type', 'application/json');
  });

  serveDocument(scope, {
    title: 'Stacks',
    description: 'Compatible with Heat v1: stacks, resources, events, software configs and deployments.',
    version: options.version,
    error: heatErrorSchema,
  });
  const answer = z.object({ versions: z.array(z.object({ id: z.string(), status: z.string() })) });
  const open = described({ summary: 'List the versions of this API.', status: 300, answer }, { public: true });
  scope.get('/', open, versions);
  scope.get('/versions', open, versions);
  const health = z.object({ detailed: z.boolean(), reasons: z.array(z.string()) });
  const healthy = described({ summary: 'Check that the server answers.', answer: health }, { public: true });
  scope.get('/healthcheck', healthy, () => ({ detailed: false, reasons: [] }));
  const alive = described({ summary: 'Check that the server answers, without a body.' }, { public: true });
  scope.head('/healthcheck', alive, (_request, reply) => reply.code(204).send());

  scope.register(
    (v1, _options, done) => {
      const compiler = createCompiler(options);
      stackRoutes(v1, { ...options, compiler });
      const types = rememberTypes(options.ask);
      previewRoutes(v1, { ...options, compiler, types });
      stackListRoutes(v1, options);
      stackReadRoutes(v1, options);
      actionRoutes(v1, options);
      snapshotRoutes(v1, options);
      resourceRoutes(v1, options);
      signalRoutes(v1, options);
      eventRoutes(v1, options);
      typeRoutes(v1, { types });
      engineRoutes(v1, options);
      softwareRoutes(v1, options);
      done();
    },
    { prefix: '/v1' },
  );
}
