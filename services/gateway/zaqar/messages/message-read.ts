/** Reads messages: a page of a queue, or messages by their ids. */
import { queueMessages, type QueueMessage } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { queryBoolean, queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { callerOf } from '../../identity/caller.ts';
import { asHost, clientId, queueFor, type QueueAccess } from '../access.ts';
import { linksSchema, messageBody, messageSchema, queueHref } from '../dialect.ts';
import { idsOf, limitOf, limitQueries } from '../limits.ts';
import { allMessages, hosts, oneMessage, type MessagePath, type MessageRouteOptions } from './message-paths.ts';

function lists({ dialect, limits }: Omit<MessageRouteOptions, 'ask'>) {
  const { limit: limitQuery, ids: idsQuery } = limitQueries(limits);
  const flag = z.boolean().optional();
  const page = z.object({ messages: z.array(messageSchema), links: linksSchema.optional() });
  return described(
    {
      summary: 'List messages of a queue, without taking them.',
      query: z.object({
        limit: limitQuery,
        marker: z.string().optional(),
        ids: idsQuery,
        echo: flag.meta({ description: 'Also the messages that this client posted.' }),
        include_claimed: flag,
        include_delayed: flag,
      }),
      // By their ids, v1 answers a bare list.
      answer: dialect.lists ? z.union([page, z.array(messageSchema)]) : page,
      ...(dialect.lists && { also: { 204: null } }),
    },
    hosts.config,
  );
}
const shows = described({ summary: 'Show a message.', answer: messageSchema }, hosts.config);

export function readRoutes(scope: FastifyInstance, { ask, dialect, limits }: MessageRouteOptions): void {
  scope.get(allMessages, lists({ dialect, limits }), async (request, reply) => {
    const access = queueFor(request, 'take');
    const client = clientId(request, dialect.clientIdRequired && callerOf(request).kind === 'user');
    const ids = idsOf(request, limits);
    if (ids) {
      const { messages } = await read(ask, access, {
        ...asHost(request),
        ids,
        include_claimed: true,
        echo: true,
        client_id: client,
      });
      if (messages.length === 0) {
        if (dialect.lists) return reply.code(204).send();
        throw new AnnealError('NotFound', `Queue ${access.queue} has no message ${ids.join(', ')}.`);
      }
      const bodies = messages.map((message) => messageBody(dialect, access.queue, { ...message, claim_id: null }));
      return reply.send(dialect.lists ? bodies : { messages: bodies });
    }
    const limit = limitOf(request, limits);
    const echo = queryBoolean(request, 'echo') ?? false;
    const claimed = queryBoolean(request, 'include_claimed') ?? false;
    const delayed = queryBoolean(request, 'include_delayed') ?? false;
    const marker = queryValue(request, 'marker');
    const page = await read(ask, access, {
      ...asHost(request),
      limit,
      echo,
      include_claimed: claimed,
      ...(delayed && { include_delayed: true }),
      client_id: client,
      ...(marker !== undefined && { marker }),
    });
    if (page.messages.length === 0) {
      return dialect.lists ? reply.code(204).send() : reply.send({ messages: [], links: [] });
    }
    const query = new URLSearchParams({
      limit: String(limit),
      ...(echo && { echo: 'true' }),
      ...(claimed && { include_claimed: 'true' }),
      ...(delayed && { include_delayed: 'true' }),
      marker: page.marker ?? page.messages.at(-1)?.id ?? '',
    });
    return reply.send({
      messages: page.messages.map((message) => messageBody(dialect, access.queue, { ...message, claim_id: null })),
      links: [{ rel: 'next', href: `${queueHref(dialect, access.queue)}/messages?${query.toString()}` }],
    });
  });

  scope.get<MessagePath>(oneMessage, shows, async (request) => {
    const access = queueFor(request, 'take');
    const id = request.params.message;
    const { messages } = await read(ask, access, {
      ...asHost(request),
      ids: [id],
      include_claimed: true,
      echo: true,
      client_id: '',
    });
    const [message] = messages;
    if (!message) {
      throw new AnnealError(
        'NotFound',
        `Message ${id} does not exist in queue ${access.queue} for project ${access.project}`,
      );
    }
    return messageBody(dialect, access.queue, { ...message, claim_id: null });
  });
}

/** Reads messages. A queue is created with its first message; before that it is empty. */
async function read(
  ask: Ask,
  { project, queue }: QueueAccess,
  data: {
    ids?: string[];
    limit?: number;
    marker?: string;
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
