/** Zaqar's API in its three versions. */
import { default as multipart } from '@fastify/multipart';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readJsonBodies } from '../http/body.ts';
import { serveDocument } from '../http/document.ts';
import { wordErrors } from '../http/family.ts';
import { route, type Route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { requireToken } from '../identity/caller.ts';
import type { SubscriberTrusts } from '../identity/subscriber-trusts.ts';
import { clientHeaders, requireClientId } from './access.ts';
import { claimRoutes, type ClaimRouteOptions } from './claims/claim-routes.ts';
import { dialects, type Dialect } from './dialect.ts';
import { deleteRoutes } from './messages/message-delete.ts';
import { postRoute, readPostedForm, refuseUnreadable } from './messages/message-post.ts';
import { readRoutes } from './messages/message-read.ts';
import { queueRoutes } from './queues/queue-routes.ts';
import { hasSignedUrl, urlHolderOf, shareRoute } from './signed-url.ts';
import { poolRoutes } from './queues/pool-routes.ts';
import { isSigned, subscriptionRoutes } from './subscriptions/subscription-routes.ts';
import { refuseFirst, zaqarError, zaqarErrorSchema, zaqarWording } from './wording.ts';

export type ZaqarOptions = Omit<ClaimRouteOptions, 'dialect'> & {
  /** The trusts of subscribers by trust. */
  trusts: SubscriberTrusts;
  gatewayUrl: string;
  bodyLimit: number;
  version: string;
  newId: () => string;
  secrets: Secrets;
  /** The system clock, in milliseconds: signed URLs name their end by it. */
  now: () => number;
  report: (error: unknown, request: FastifyRequest) => void;
};

export const zaqarPrefix = '/messaging';

const versionEntry = (id: string, status: string, updated: string, type: string) => ({
  id,
  status,
  updated,
  'media-types': [{ base: 'application/json', type: `application/vnd.openstack.messaging-${type}+json` }],
  links: [{ href: `${zaqarPrefix}/v${id}/`, rel: 'self' }],
});

const versionsRoute = route({
  method: 'GET',
  path: '/',
  summary: 'List the versions of this API.',
  public: true,
  status: 300,
  answer: z.object({ versions: z.array(z.object({})) }),
  handle: () => ({
    versions: [
      versionEntry('1', 'DEPRECATED', '2014-9-11T17:47:05Z', 'v1'),
      versionEntry('1.1', 'DEPRECATED', '2016-7-29T02:22:47Z', 'v1_1'),
      versionEntry('2', 'CURRENT', '2014-9-24T04:06:47Z', 'v2'),
    ],
  }),
});

export function zaqarFamily(scope: FastifyInstance, options: ZaqarOptions): void {
  prepare(scope, options);
  serveDocument(scope, {
    title: 'Queues',
    description: 'Compatible with Zaqar v2, v1.1 and v1: queues, messages, claims and subscriptions.',
    version: options.version,
    error: zaqarErrorSchema,
  });
  serveRoutes(scope, [versionsRoute]);
  for (const dialect of dialects) {
    scope.register(
      (version, _options, done) => {
        speak(version, options, dialect);
        done();
      },
      { prefix: dialect.path },
    );
  }
}

/** One version at its own path, for clients that resolve hrefs against the host. */
export function zaqarVersionFamily(scope: FastifyInstance, options: ZaqarOptions, dialect: Dialect): void {
  prepare(scope, options);
  speak(scope, options, dialect);
}

function prepare(scope: FastifyInstance, options: ZaqarOptions): void {
  readJsonBodies(scope);
  scope.register(multipart, {
    limits: {
      fieldNameSize: 255,
      fieldSize: options.bodyLimit,
      fileSize: options.bodyLimit,
      fields: 200,
      files: 200,
      parts: 200,
    },
  });
  wordErrors(scope, zaqarWording, options.report);
  requireToken(scope, options.authenticate, { skip: (request) => isSigned(request) || hasSignedUrl(request) });
  scope.addHook('onRequest', async (request) => {
    if (hasSignedUrl(request)) request.caller = urlHolderOf(request, options);
  });
}

function speak(version: FastifyInstance, options: ZaqarOptions, dialect: Dialect): void {
  const all = { ...options, dialect };
  version.addHook('preHandler', async (request) => {
    checkAccept(request);
    checkContentType(request);
    requireClientId(request, dialect);
    await refuseUnreadable(request, all);
    await readPostedForm(request, all);
  });
  const isV2 = dialect.version === 'v2';
  const routes = [
    ...homeRoutes(dialect),
    ...queueRoutes(all),
    postRoute(all),
    ...readRoutes(all),
    ...deleteRoutes(all),
    ...claimRoutes(all),
    ...(isV2 ? [...subscriptionRoutes(all), shareRoute(all)] : []),
    ...(dialect.version === 'v1' ? [] : poolRoutes(dialect)),
  ];
  // A wrong `Client-ID` is refused by every route.
  const headers = clientHeaders(dialect);
  serveRoutes(
    version,
    routes.map((each) => ({ headers, ...each })),
    { refuse: refuseFirst },
  );
}

const homeRoutes = (dialect: Dialect): Route[] => [
  route({
    method: 'GET',
    path: '/ping',
    summary: 'Check that the server answers.',
    hosts: true,
    handle: () => undefined,
  }),
  route({
    method: 'GET',
    path: '/health',
    summary: 'Check that the server works.',
    ...(dialect.version !== 'v1' && {
      answer: z.object({ storage_reachable: z.boolean(), operation_status: z.object({}) }),
    }),
    handle: () => (dialect.version === 'v1' ? undefined : { storage_reachable: true, operation_status: {} }),
  }),
  route({
    method: 'GET',
    path: '/',
    summary: 'List the addresses, as a JSON home document.',
    answerType: 'application/json-home',
    answer: z.object({ resources: z.record(z.string(), z.object({})) }),
    handle: ({ reply }) => {
      void reply.type('application/json-home').header('cache-control', 'max-age=86400');
      return JSON.stringify({ resources: homeResources(dialect) });
    },
  }),
];

/** The addresses of all resources, as a JSON home document. */
function homeResources({ path }: Dialect): object {
  const resource = (template: string, allow: string[]) => ({
    'href-template': `${path}${template}`,
    'href-vars': Object.fromEntries(
      [...template.matchAll(/\{\??([^}]+)\}/g)].flatMap(([, names = '']) =>
        names.split(',').map((name) => [name, `param/${name}`]),
      ),
    ),
    hints: { allow, formats: { 'application/json': {} } },
  });
  return {
    'rel/queues': resource('/queues{?marker,limit,detailed}', ['GET']),
    'rel/queue': resource('/queues/{queue_name}', ['GET', 'PUT', 'DELETE']),
    'rel/queue_stats': resource('/queues/{queue_name}/stats', ['GET']),
    'rel/messages': resource('/queues/{queue_name}/messages{?marker,limit,echo,include_claimed}', ['GET']),
    'rel/post_messages': resource('/queues/{queue_name}/messages', ['POST']),
    'rel/messages_delete': resource('/queues/{queue_name}/messages{?ids,pop}', ['DELETE']),
    'rel/message_delete': resource('/queues/{queue_name}/messages/{message_id}{?claim_id}', ['DELETE']),
    'rel/claim': resource('/queues/{queue_name}/claims/{claim_id}', ['GET', 'PATCH', 'DELETE']),
    'rel/subscriptions': resource('/queues/{queue_name}/subscriptions{?marker,limit}', ['GET', 'POST']),
    'rel/subscription': resource('/queues/{queue_name}/subscriptions/{subscription_id}', ['GET', 'PATCH', 'DELETE']),
    'rel/share': resource('/queues/{queue_name}/share', ['POST']),
    'rel/pools': resource('/pools{?detailed,limit,marker}', ['GET']),
    'rel/flavors': resource('/flavors{?detailed,limit,marker}', ['GET']),
    'rel/post_claim': resource('/queues/{queue_name}/claims{?limit,wait}', ['POST']),
  };
}

const acceptable = ['*/*', 'application/*', 'application/json', 'application/json-home', 'text/x-shellscript'];

function checkAccept({ headers: { accept } }: FastifyRequest): void {
  if (accept === undefined || accept === '') return;
  const types = accept.split(',').map((type) => type.split(';', 1)[0]?.trim().toLowerCase() ?? '');
  if (types.some((type) => acceptable.includes(type))) return;
  throw zaqarError('InvalidRequest', 'Not acceptable', `This API answers application/json, not ${accept}.`);
}

function checkContentType({ headers, body, routeOptions }: FastifyRequest): void {
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  const wanted = routeOptions.config.declared?.bodyType;
  if (wanted !== undefined && type !== wanted) {
    throw zaqarError('InvalidRequest', 'Unsupported media type', `A patch of metadata must have the type ${wanted}.`);
  }
  if (body === undefined || type === undefined) return;
  if (type === 'multipart/form-data' || /^application\/([\w.+-]*\+)?json$|json-patch$/.test(type)) return;
  throw zaqarError(
    'InvalidRequest',
    'Invalid Content-Type',
    `Endpoint does not accept \`${type}\` content; currently supported media type is \`application/json\`; specify proper client-side media type with the "Content-Type" header.`,
  );
}
