/** Anneal's own API and its description. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { readJsonBodies } from '../http/body.ts';
import { answerConditionally } from '../http/entity-tag.ts';
import { wordErrors } from '../http/family.ts';
import { importEndpoints, type ImportEndpointOptions } from '../imports/import-endpoint.ts';
import { allowOrigins } from '../http/origins.ts';
import { requireToken, type Authenticate } from '../identity/caller.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import { serveDocument } from '../http/document.ts';
import { operationName } from '../http/operation-name.ts';
import { problemDetailsSchema, problemDetailsType } from '../http/problem-details.ts';
import { route, type BodyLimit, type Route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { alarmEndpoints } from './alarm-endpoints.ts';
import { contextEndpoints, type ContextEndpointOptions } from './context-endpoints.ts';
import { credentialEndpoints } from './credential-endpoints.ts';
import { deadLetterEndpoints } from './dead-letter-endpoints.ts';
import { eventEndpoints, opensWithTicket, type EventEndpointOptions } from './events/event-endpoints.ts';
import { deploymentEndpoints } from './deployment-endpoints.ts';
import { directoryEndpoints } from './directory-endpoints.ts';
import { groupEndpoints, type GroupEndpointOptions } from './group-endpoints.ts';
import { hostEndpoints } from './host-endpoints.ts';
import { imageEndpoints, type ImageEndpointOptions } from './image-endpoints.ts';
import { metricEndpoints, type MetricEndpointOptions } from './metric-endpoints.ts';
import { nodeEndpoints } from './node-endpoints.ts';
import { messagesDocument } from './messages-document.ts';
import { pageEndpoints } from './page-endpoints.ts';
import { objectEndpoints } from './object-endpoints.ts';
import { overviewEndpoints } from './overview-endpoints.ts';
import { quotaEndpoints } from './quota-endpoints.ts';
import { queueEndpoints, type QueueEndpointOptions } from './queue-endpoints.ts';
import { sessionEndpoints } from './session-endpoints.ts';
import { revisionEndpoints, stackEndpoints } from './stack-endpoints.ts';
import {
  confirmEndpoints,
  deliveryEndpoints,
  operationEndpoints,
  subscriptionEndpoints,
} from './subscription-endpoints.ts';
import { templateEndpoints } from './template-endpoints.ts';
import { systemEndpoints } from './system-endpoints.ts';
import { cronTriggerEndpoints, executionEndpoints, workflowEndpoints } from './workflow-endpoints.ts';
import { keyHeaders, type Repeats } from '../repeats/repeats.ts';
import type { ReplicaWatch } from '../replicas.ts';
import { apiWording } from './wording.ts';

export type ApiOptions = EventEndpointOptions &
  ImportEndpointOptions &
  ContextEndpointOptions &
  GroupEndpointOptions &
  QueueEndpointOptions &
  MetricEndpointOptions &
  ImageEndpointOptions & {
    authenticate: Authenticate;
    newId: () => string;
    gatewayUrl: string;
    configLimit: BodyLimit;
    version: string;
    directory: Pick<DirectoryReader, 'users' | 'projects'>;
    replicas: Pick<ReplicaWatch, 'list'>;
    repeats: Pick<Repeats, 'serve'>;
    allowedOrigins: readonly string[];
    report: (error: unknown, request: FastifyRequest) => void;
  };

export const apiPrefix = '/api/v1';

const apiRoutes = (options: ApiOptions): Route[] => [
  ...systemEndpoints(options),
  ...sessionEndpoints(options),
  ...overviewEndpoints(options),
  ...objectEndpoints(options),
  ...stackEndpoints(options),
  ...pageEndpoints(options),
  ...directoryEndpoints(options),
  ...nodeEndpoints(options),
  ...revisionEndpoints(options),
  ...importEndpoints(options),
  ...templateEndpoints(options),
  ...groupEndpoints(options),
  ...hostEndpoints(options),
  ...contextEndpoints(options),
  ...deploymentEndpoints(options),
  ...queueEndpoints(options),
  ...metricEndpoints(options),
  ...alarmEndpoints(options),
  ...credentialEndpoints(options),
  ...imageEndpoints(options),
  ...quotaEndpoints(options),
  ...deadLetterEndpoints(options),
  ...eventEndpoints(options),
  ...subscriptionEndpoints(options),
  ...operationEndpoints(options),
  ...confirmEndpoints(options),
  ...deliveryEndpoints(options),
  ...workflowEndpoints(options),
  ...cronTriggerEndpoints(options),
  ...executionEndpoints(options),
];

export function apiFamily(scope: FastifyInstance, options: ApiOptions): void {
  readJsonBodies(scope);
  wordErrors(scope, apiWording, options.report);
  allowOrigins(scope, options.allowedOrigins);
  requireToken(scope, options.authenticate, { skip: opensWithTicket });
  answerConditionally(scope);
  options.repeats.serve(scope);
  const messages = messagesDocument(options.version);
  serveRoutes(scope, [
    route({
      method: 'GET',
      path: '/asyncapi.json',
      summary: 'Show the messages between services as an AsyncAPI document.',
      public: true,
      isHidden: true,
      answer: z.string(),
      handle: async ({ reply }) => reply.type('application/json').send(await messages()),
    }),
  ]);
  serveDocument(scope, {
    title: 'Anneal',
    description,
    version: options.version,
    error: problemDetailsSchema,
    errorType: problemDetailsType,
    operationId: operationName,
    postHeaders: keyHeaders,
    hasEntityTags: true,
  });
  serveRoutes(scope, apiRoutes(options), { isStrict: true, hasHead: true });
}

const description =
  'Functions of stacks, queues and nodes that the APIs of Heat, Zaqar and Ironic do not have. A GET with an `ETag` may also be a HEAD, and answers 304 to `If-None-Match` without a change. Long answers are compressed with zstd, br or gzip by `Accept-Encoding`.';
