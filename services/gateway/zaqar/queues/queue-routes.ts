/** Queues: create, show, list, delete, statistics. */
import {
  queueCreate,
  queueDelete,
  queueList,
  queueMessages,
  queueShow,
  type QueueMessage,
  type QueueView,
} from '@anneal/contracts/calls/queues.ts';
import { ignoreNotFound } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { projectOf } from '../../identity/caller.ts';
import { queueFor, type QueueAccess } from '../access.ts';
import { metadataInput, orNothing } from '../bodies.ts';
import {
  linksSchema,
  listedQueueSchema,
  messageHref,
  metadataBody,
  metadataSchema,
  ownMetadata,
  queueBody,
  queueHref,
  type QueueRouteOptions,
} from '../dialect.ts';
import { limitQueries } from '../limits.ts';
import { removeSubscriptions } from '../subscriptions/subscription-routes.ts';
import { metadataPatchSchema, patchMetadata } from './metadata-patch.ts';
import { onlyName } from './pool-routes.ts';
import { queueNameOf } from './queue-alias.ts';

const count = z.int().min(0);
const endSchema = z
  .object({
    age: z.number(),
    ttl: z.number(),
    body: json,
    claim_id: z.string().nullable(),
    claim_count: z.number(),
    created: z.string(),
    href: z.string(),
  })
  .optional();
const statsSchema = z.object({
  messages: z.object({ claimed: count, free: count, total: count, newest: endSchema, oldest: endSchema }),
});

const one = '/queues/{queue}';

/** Shows a queue. A queue is created with its first message and is shown as empty before that, except in v1. */
const showOrEmpty = ({ ask, dialect }: QueueRouteOptions, { project, queue }: QueueAccess): Promise<QueueView> =>
  ask('configuration', queueShow, { project, data: { project, queue, or_empty: dialect.version !== 'v1' } });

export const queueRoutes = (options: QueueRouteOptions): Route[] => [
  ...changeRoutes(options),
  ...(options.dialect.version === 'v1' ? metadataRoutes(options) : []),
  ...(options.dialect.version === 'v2' ? [patchRoute(options)] : []),
  statsRoute(options),
  listRoute(options),
];

const flavored = metadataInput.extend({
  _flavor: z.literal(onlyName, { error: ({ input }) => `Flavor ${JSON.stringify(input)} does not exist.` }).optional(),
});

const changeRoutes = (options: QueueRouteOptions): Route[] => {
  const { ask, dialect, trusts } = options;
  const isV1 = dialect.version === 'v1';
  return [
    route({
      method: 'PUT',
      path: one,
      summary: 'Create a queue, or replace its metadata.',
      body: orNothing(flavored),
      status: 201,
      also: { 204: null },
      handle: async ({ body: metadata, request, reply }) => {
        const { project, queue } = queueFor(request, 'manage');
        const { created } = await ask('configuration', queueCreate, {
          project,
          // v1 has a separate address for metadata, so a repeated creation must not erase them.
          data: { project, queue, ...(!isV1 && { metadata }) },
        });
        void reply.code(created ? 201 : 204).header('location', queueHref(dialect, queue));
      },
    }),
    route({
      method: 'GET',
      path: one,
      summary: isV1 ? 'Check that a queue exists.' : 'Show the metadata of a queue.',
      ...(!isV1 && { answer: metadataSchema }),
      handle: async ({ request }) => {
        const view = await showOrEmpty(options, queueFor(request, 'manage'));
        return isV1 ? undefined : metadataBody(dialect, view);
      },
    }),
    route({
      method: 'DELETE',
      path: one,
      summary: 'Delete a queue with its messages.',
      handle: async ({ request }) => {
        const { project, queue } = queueFor(request, 'manage');
        // First, so that a repeat after a failure finds them. A later queue of this name has no subscribers.
        await removeSubscriptions({ ask, trusts }, { project, queue });
        await ask('configuration', queueDelete, { project, data: { project, queue } }).catch(ignoreNotFound);
      },
    }),
  ];
};

/** The address of metadata in v1. */
const metadataRoutes = ({ ask }: QueueRouteOptions): Route[] => [
  route({
    method: 'GET',
    path: `${one}/metadata`,
    summary: 'Show the metadata of a queue.',
    answer: metadataSchema,
    handle: async ({ request }) => {
      const { project, queue } = queueFor(request, 'manage');
      return (await ask('configuration', queueShow, { project, data: { project, queue } })).metadata;
    },
  }),
  route({
    method: 'PUT',
    path: `${one}/metadata`,
    summary: 'Replace the metadata of a queue.',
    body: orNothing(metadataInput),
    handle: async ({ body: metadata, request }) => {
      const { project, queue } = queueFor(request, 'manage');
      await ask('configuration', queueShow, { project, data: { project, queue } });
      await ask('configuration', queueCreate, { project, data: { project, queue, metadata } });
    },
  }),
];

const patchRoute = ({ ask, dialect }: QueueRouteOptions): Route =>
  route({
    method: 'PATCH',
    path: one,
    summary: 'Change the metadata of a queue.',
    body: metadataPatchSchema,
    bodyType: 'application/openstack-messaging-v2.0-json-patch',
    answer: metadataSchema,
    handle: async ({ body: patch, request }) => {
      const { project, queue } = queueFor(request, 'manage');
      const before = await ask('configuration', queueShow, { project, data: { project, queue } });
      // Clients that replace all metadata remove every shown key that they do not want, including reserved keys.
      const patched = patchMetadata(metadataBody(dialect, before), patch);
      const metadata = ownMetadata({ ...before, metadata: patched });
      await ask('configuration', queueCreate, { project, data: { project, queue, metadata } });
      return metadataBody(dialect, { ...before, metadata });
    },
  });

const statsRoute = (options: QueueRouteOptions): Route =>
  route({
    method: 'GET',
    path: `${one}/stats`,
    summary: 'Count the messages of a queue.',
    answer: statsSchema,
    handle: async ({ request }) => {
      const { ask, dialect } = options;
      const { project, queue } = queueFor(request, 'manage');
      const { claimed, free, total } = await showOrEmpty(options, { project, queue });
      const counts = { claimed, free, total };
      if (total === 0) return { messages: counts };
      const { messages } = await ask('configuration', queueMessages, {
        project,
        data: { project, queue, include_claimed: true, echo: true, client_id: '', limit: 1000 },
      });
      const end = (message: QueueMessage | undefined) =>
        message && {
          age: message.age,
          ttl: message.ttl,
          body: message.body,
          claim_id: message.claim_id,
          claim_count: message.claim_count,
          created: `${message.created_at.slice(0, 19)}Z`,
          href: messageHref(dialect, queue, { ...message, claim_id: null }),
        };
      return { messages: { ...counts, newest: end(messages.at(-1)), oldest: end(messages[0]) } };
    },
  });

const flag = z.boolean().default(false);
const listRoute = ({ ask, dialect, limits }: QueueRouteOptions): Route =>
  route({
    method: 'GET',
    path: '/queues',
    summary: 'List the queues of the project.',
    query: z.object({
      limit: limitQueries(limits).limit,
      marker: z
        .string()
        .transform((name) => queueNameOf(name))
        .optional(),
      detailed: flag,
      with_count: flag,
    }),
    answer: z.object({ queues: z.array(listedQueueSchema), links: linksSchema, count: z.int().optional() }),
    ...(dialect.lists && { also: { 204: null } }),
    handle: async ({ query: { limit, marker, detailed, with_count }, request, reply }) => {
      const project = projectOf(request);
      const { queues } = await ask('configuration', queueList, { project, data: { project, limit, marker } });
      const last = queues.at(-1);
      if (!last && dialect.lists) return reply.code(204).send();
      const next = new URLSearchParams({ limit: String(limit), ...(detailed && { detailed: 'true' }) });
      if (last) next.set('marker', queueBody(dialect, last.name).name);
      return {
        queues: queues.map((view) => ({
          ...queueBody(dialect, view.name),
          ...(detailed && { metadata: metadataBody(dialect, view) }),
        })),
        links: last ? [{ rel: 'next', href: `${dialect.path}/queues?${next.toString()}` }] : [],
        ...(with_count && { count: queues.length }),
      };
    },
  });
