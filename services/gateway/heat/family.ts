/** Heat's API: authentication, the project of a request, and the routes. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type BodyLimit } from '../http/route.ts';
import { baseUrl, requestPath } from '../http/base-url.ts';
import { serveDocument } from '../http/document.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { projectOf, requireToken, type Authenticate } from '../identity/caller.ts';
import { keyHeaders, type Repeats } from '../repeats/repeats.ts';
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
import { heatError, heatErrorSchema, heatWording, refuseInHeat } from './wording.ts';
import { readJsonBodies } from '../http/body.ts';
import { wordErrors } from '../http/family.ts';

export type HeatOptions = CompilerOptions &
  StackListOptions &
  StackReadOptions &
  EngineRouteOptions & {
    authenticate: Authenticate;
    configLimit: BodyLimit;
    version: string;
    repeats: Pick<Repeats, 'serve'>;
    report: (error: unknown, request: FastifyRequest) => void;
  };

export const heatPrefix = '/orchestration';

const isVersioned = (request: FastifyRequest): boolean => /^\/orchestration\/v1(\/|$)/.test(requestPath(request));

const versionsOf = (request: FastifyRequest) => ({
  versions: [{ id: 'v1.0', status: 'CURRENT', links: [{ rel: 'self', href: `${baseUrl(request)}${heatPrefix}/v1/` }] }],
});

const openRoutes = [
  ...(['/', '/versions'] as const).map((path) =>
    route({
      method: 'GET',
      path,
      summary: 'List the versions of this API.',
      public: true,
      status: 300,
      answer: z.object({ versions: z.array(z.object({ id: z.string(), status: z.string() })) }),
      handle: ({ request }) => versionsOf(request),
    }),
  ),
  route({
    method: 'GET',
    path: '/healthcheck',
    summary: 'Check that the server answers.',
    public: true,
    answer: z.object({ detailed: z.boolean(), reasons: z.array(z.string()) }),
    handle: () => ({ detailed: false, reasons: [] }),
  }),
  route({
    method: 'HEAD',
    path: '/healthcheck',
    summary: 'Check that the server answers, without a body.',
    public: true,
    handle: () => undefined,
  }),
];

/** Heat's API: its document and its routes. */
export function heatFamily(scope: FastifyInstance, options: HeatOptions): void {
  readJsonBodies(scope);
  wordErrors(
    scope,
    {
      ...heatWording,
      // A path outside version 1 gets the list of versions.
      notFound: (request, reply) =>
        isVersioned(request) ? heatWording.notFound(request, reply) : reply.code(300).send(versionsOf(request)),
    },
    options.report,
  );
  requireToken(scope, options.authenticate, { skip: (request) => !isVersioned(request) });
  scope.addHook('preParsing', async (request) => {
    const { project } = request.params as { project?: string };
    if (project === undefined || project === projectOf(request)) return;
    throw heatError('Forbidden', 'HTTPForbidden', 'Access was denied to this resource.');
  });

  options.repeats.serve(scope);
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
    postHeaders: keyHeaders,
  });
  serveRoutes(scope, openRoutes);
  const compiler = createCompiler(options);
  const types = rememberTypes(options.ask);
  scope.register(
    (v1, _options, done) => {
      const routes = [
        ...stackRoutes({ ...options, compiler }),
        ...previewRoutes({ ...options, compiler, types }),
        ...stackListRoutes(options),
        ...stackReadRoutes(options),
        ...actionRoutes(options),
        ...snapshotRoutes(options),
        ...resourceRoutes(options),
        ...signalRoutes(options),
        ...eventRoutes(options),
        ...typeRoutes({ types }),
        ...engineRoutes(options),
        ...softwareRoutes(options),
      ];
      serveRoutes(v1, routes, { refuse: refuseInHeat });
      done();
    },
    { prefix: '/v1' },
  );
}
