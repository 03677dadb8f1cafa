/** Queues: create, show, list, delete, statistics. */
import {
  queueCreate,
  queueDelete,
  queueList,
  queueMessages,
  queueShow,
  type QueueMessage,
  type QueueView,
} from '@anneal/contracts/calls/configuration.ts';
import { ignoreNotFound } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { objectBody, queryBoolean, queryValue } from '../../http/body.ts';
import type { SubscriberTrusts } from '../../identity/subscriber-trusts.ts';
import { described } from '../../http/document.ts';
import { projectOf } from '../../identity/caller.ts';
import { queueFor, type QueueAccess } from '../access.ts';
import {
  linksSchema,
  listedQueueSchema,
  messageHref,
  metadataBody,
  metadataSchema,
  ownMetadata,
  queueBody,
  queueHref,
  type Dialect,
} from '../dialect.ts';
import { limitOf, limitQueries, type QueueRequestLimits } from '../limits.ts';
import { removeSubscriptions } from '../subscriptions/subscription-routes.ts';
import { metadataPatchSchema, patchMetadata } from './metadata-patch.ts';
import { onlyName } from './pool-routes.ts';
import { queueNameOf } from './queue-alias.ts';
import { zaqarError } from '../wording.ts';

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

export function queueRoutes(
  scope: FastifyInstance,
  {
    ask,
    dialect,
    limits,
    trusts,
  }: { ask: Ask; dialect: Dialect; limits: QueueRequestLimits; trusts: SubscriberTrusts },
): void {
  const one = '/queues/:queue';

  /** Shows a queue. A queue is created with its first message and is shown as empty before that, except in v1. */
  const showOrEmpty = async ({ project, queue }: QueueAccess): Promise<QueueView> =>
    ask('configuration', queueShow, { project, data: { project, queue, or_empty: dialect.version !== 'v1' } });

  const creates = described({
    summary: 'Create a queue, or replace its metadata.',
    body: metadataSchema.optional(),
    status: 201,
    also: { 204: null },
  });
  scope.put(one, creates, async (request, reply) => {
    const { project, queue } = queueFor(request, 'manage');
    const metadata = objectBody(request);
    const { _flavor: flavor = onlyName } = metadata;
    if (flavor !== onlyName) {
      throw zaqarError('InvalidRequest', 'Invalid API request', `Flavor ${JSON.stringify(flavor)} does not exist`);
    }
    const { created } = await ask('configuration', queueCreate, {
      project,
      // v1 has a separate address for metadata, so a repeated creation must not erase them.
      data: { project, queue, ...(dialect.version !== 'v1' && { metadata }) },
    });
    return reply
      .code(created ? 201 : 204)
      .header('location', queueHref(dialect, queue))
      .send();
  });

  const shows =
    dialect.version === 'v1'
      ? described({ summary: 'Check that a queue exists.' })
      : described({ summary: 'Show the metadata of a queue.', answer: metadataSchema });
  scope.get(one, shows, async (request, reply) => {
    const { project, queue } = queueFor(request, 'manage');
    const view = await showOrEmpty({ project, queue });
    return dialect.version === 'v1' ? reply.code(204).send() : metadataBody(dialect, view);
  });

  scope.delete(one, described({ summary: 'Delete a queue with its messages.' }), async (request, reply) => {
    const { project, queue } = queueFor(request, 'manage');
    // First, so that a repeat after a failure finds them. A later queue of this name has no subscribers.
    await removeSubscriptions({ ask, trusts }, { project, queue });
    await ask('configuration', queueDelete, { project, data: { project, queue } }).catch(ignoreNotFound);
    return reply.code(204).send();
  });

  if (dialect.version === 'v1') {
    const shown = described({ summary: 'Show the metadata of a queue.', answer: metadataSchema });
    scope.get(`${one}/metadata`, shown, async (request) => {
      const { project, queue } = queueFor(request, 'manage');
      return (await ask('configuration', queueShow, { project, data: { project, queue } })).metadata;
    });
    const replaced = described({ summary: 'Replace the metadata of a queue.', body: metadataSchema });
    scope.put(`${one}/metadata`, replaced, async (request, reply) => {
      const { project, queue } = queueFor(request, 'manage');
      const metadata = objectBody(request);
      await ask('configuration', queueShow, { project, data: { project, queue } });
      await ask('configuration', queueCreate, { project, data: { project, queue, metadata } });
      return reply.code(204).send();
    });
  }

  if (dialect.version === 'v2') {
    const type = 'application/openstack-messaging-v2.0-json-patch';
    const patches = described({
      summary: 'Change the metadata of a queue.',
      body: metadataPatchSchema,
      bodyType: type,
      answer: metadataSchema,
    });
    scope.patch(one, patches, async (request) => {
      const { project, queue } = queueFor(request, 'manage');
      if (request.headers['content-type']?.split(';', 1)[0]?.trim() !== type) {
        throw zaqarError('InvalidRequest', 'Unsupported media type', `A patch of metadata must have the type ${type}.`);
      }
      const before = await ask('configuration', queueShow, { project, data: { project, queue } });
      // Clients that replace all metadata remove every shown key that they do not want, including reserved keys.
      const patched = patchMetadata(metadataBody(dialect, before), request.body);
      const metadata = ownMetadata({ ...before, metadata: patched });
      await ask('configuration', queueCreate, { project, data: { project, queue, metadata } });
      return metadataBody(dialect, { ...before, metadata });
    });
  }

  const stats = described({ summary: 'Count the messages of a queue.', answer: statsSchema });
  scope.get(`${one}/stats`, stats, async (request) => {
    const { project, queue } = queueFor(request, 'manage');
    const view = await showOrEmpty({ project, queue });
    const counts = { claimed: view.claimed, free: view.free, total: view.total };
    if (view.total === 0) return { messages: counts };
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
  });

  const { limit: limitQuery } = limitQueries(limits);
  const lists = described({
    summary: 'List the queues of the project.',
    query: z.object({
      limit: limitQuery,
      marker: z.string().optional(),
      detailed: z.boolean().optional(),
      with_count: z.boolean().optional(),
    }),
    answer: z.object({ queues: z.array(listedQueueSchema), links: linksSchema, count: z.int().optional() }),
    ...(dialect.lists && { also: { 204: null } }),
  });
  scope.get('/queues', lists, async (request, reply) => {
    const project = projectOf(request);
    const limit = limitOf(request, limits);
    const marker = queryValue(request, 'marker');
    const detailed = queryBoolean(request, 'detailed') ?? false;
    const { queues } = await ask('configuration', queueList, {
      project,
      data: { project, limit, ...(marker !== undefined && { marker: queueNameOf(marker) }) },
    });
    const last = queues.at(-1);
    if (!last && dialect.lists) return reply.code(204).send();
    const query = new URLSearchParams({ limit: String(limit), ...(detailed && { detailed: 'true' }) });
    if (last) query.set('marker', queueBody(dialect, last.name).name);
    return {
      queues: queues.map((view) => ({
        ...queueBody(dialect, view.name),
        ...(detailed && { metadata: metadataBody(dialect, view) }),
      })),
      links: last ? [{ rel: 'next', href: `${dialect.path}/queues?${query.toString()}` }] : [],
      ...(queryBoolean(request, 'with_count') && { count: queues.length }),
    };
  });
}
