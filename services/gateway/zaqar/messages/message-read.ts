/** Reads messages: a page of a queue, or messages by their ids. */
import { queueMessages, type QueueMessage } from '@anneal/contracts/calls/queues.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { route, type Route } from '../../http/route.ts';
import { asHost, clientHeaders, queueFor, type QueueAccess } from '../access.ts';
import { linksSchema, messageBody, messageSchema, queueHref, type QueueRouteOptions } from '../dialect.ts';
import { limitQueries } from '../limits.ts';

const flag = z.boolean().default(false);
const page = z.object({ messages: z.array(messageSchema), links: linksSchema.optional() });

const listRoute = ({ ask, dialect, limits }: QueueRouteOptions): Route => {
  const { limit: limitQuery, ids: idsQuery } = limitQueries(limits);
  return route({
    method: 'GET',
    path: '/queues/{queue}/messages',
    summary: 'List messages of a queue, without taking them.',
    hosts: true,
    query: z.object({
      limit: limitQuery,
      marker: z.string().optional(),
      ids: idsQuery,
      echo: flag.meta({ description: 'Also the messages that this client posted.' }),
      include_claimed: flag,
      include_delayed: flag,
    }),
    headers: clientHeaders(dialect),
    // By their ids, v1 answers a bare list.
    answer: dialect.lists ? z.union([page, z.array(messageSchema)]) : page,
    ...(dialect.lists && { also: { 204: null } }),
    handle: async ({ query, headers, request, reply }) => {
      const access = queueFor(request, 'take');
      const { limit, marker, ids, echo, include_claimed, include_delayed } = query;
      const common = { ...asHost(request), client_id: headers['client-id'] };
      const shown = (message: QueueMessage) => messageBody(dialect, access.queue, { ...message, claim_id: null });
      if (ids) {
        const { messages } = await read(ask, access, { ...common, ids, include_claimed: true, echo: true });
        if (messages.length > 0) return dialect.lists ? messages.map(shown) : { messages: messages.map(shown) };
        if (dialect.lists) return reply.code(204).send();
        throw new AnnealError('NotFound', `Queue ${access.queue} has no message ${ids.join(', ')}.`);
      }
      const delayed = include_delayed ? { include_delayed } : {};
      const found = await read(ask, access, { ...common, limit, echo, include_claimed, ...delayed, marker });
      const last = found.messages.at(-1);
      if (!last) return dialect.lists ? reply.code(204).send() : { messages: [], links: [] };
      const next = new URLSearchParams({
        limit: String(limit),
        ...(echo && { echo: 'true' }),
        ...(include_claimed && { include_claimed: 'true' }),
        ...(include_delayed && { include_delayed: 'true' }),
        marker: found.marker ?? last.id,
      });
      return {
        messages: found.messages.map(shown),
        links: [{ rel: 'next', href: `${queueHref(dialect, access.queue)}/messages?${next.toString()}` }],
      };
    },
  });
};

export const readRoutes = (options: QueueRouteOptions): Route[] => [
  listRoute(options),
  route({
    method: 'GET',
    path: '/queues/{queue}/messages/{message}',
    summary: 'Show a message.',
    hosts: true,
    answer: messageSchema,
    handle: async ({ params: { message: id }, request }) => {
      const { ask, dialect } = options;
      const access = queueFor(request, 'take');
      const wanted = { ...asHost(request), ids: [id], include_claimed: true, echo: true, client_id: '' };
      const [message] = (await read(ask, access, wanted)).messages;
      if (message) return messageBody(dialect, access.queue, { ...message, claim_id: null });
      const { project, queue } = access;
      throw new AnnealError('NotFound', `Message ${id} does not exist in queue ${queue} for project ${project}`);
    },
  }),
];

/** Reads messages. A queue is created with its first message; before that it is empty. */
async function read(
  ask: Ask,
  { project, queue }: QueueAccess,
  data: {
    ids?: string[];
    limit?: number;
    marker?: string | undefined;
    include_claimed: boolean;
    echo: boolean;
    client_id: string;
    host_id?: string;
  },
): Promise<{ messages: QueueMessage[]; marker: string | null }> {
  const found = await ask('configuration', queueMessages, { project, data: { project, queue, ...data } }).catch(
    ignoreNotFound,
  );
  return found ?? { messages: [], marker: null };
}
