/** Messages: post, list, get, delete, pop. */
import { queueMessageDelete, queueMessages, queuePost, type QueueMessage } from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type Json, type JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { queryBoolean, queryValue } from '../http/body.ts';
import { callerOf } from '../identity/caller.ts';
import { signalByGrant } from '../heat/signal.ts';
import { asHost, clientId, queueFor, signalQueueOf, type QueueAccess } from './access.ts';
import { messageBody, postedMessages, queueHref, type Dialect } from './dialect.ts';
import { isForm, readResponseForm } from './response-form.ts';
import { idsOf, limitOf, messageTtlOf, popOf, refuseManyPosted, type QueueRequestLimits } from './limits.ts';
import { zaqarError } from './wording.ts';

const hosts = { config: { hosts: true } } as const;
const posters = { config: { hosts: true, signallers: true } } as const;

export function messageRoutes(
  scope: FastifyInstance,
  { ask, dialect, limits }: { ask: Ask; dialect: Dialect; limits: QueueRequestLimits },
): void {
  const all = '/queues/:queue/messages';
  const one = `${all}/:message`;

  scope.post(all, posters, async (request, reply) => {
    const caller = callerOf(request);
    if (caller.kind === 'signaller') {
      const queue = signalQueueOf(request, caller);
      for (const { body } of readMessages(dialect, limits, request)) await signalByGrant(ask, caller.grant, body);
      return reply.code(201).send({ resources: [`${queueHref(dialect, queue)}/messages`] });
    }
    const { project, queue, answers } = queueFor(request, 'post');
    const posted = isForm(request) ? [await readResponseForm(request)] : readMessages(dialect, limits, request);
    const messages = answers === undefined ? posted : posted.map((message) => answering(answers, message));
    const { ids } = await ask('configuration', queuePost, {
      project,
      data: { project, queue, client_id: posterOf(request, dialect), messages },
    });
    const base = `${queueHref(dialect, queue)}/messages`;
    return reply
      .code(201)
      .header('location', `${base}?ids=${ids.join(',')}`)
      .send({ resources: ids.map((id) => `${base}/${id}`), ...(dialect.lists && { partial: false }) });
  });

  const look = async (
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
  ): Promise<{ messages: QueueMessage[]; marker: string | null }> => {
    try {
      return await ask('configuration', queueMessages, { project, data: { project, queue, ...data } });
    } catch (error) {
      // A queue is created with its first message. Before that it is empty.
      if (error instanceof AnnealError && error.code === 'NotFound') return { messages: [], marker: null };
      throw error;
    }
  };

  scope.get(all, hosts, async (request, reply) => {
    const access = queueFor(request, 'take');
    const client = clientId(request, dialect.clientIdRequired && callerOf(request).kind === 'user');
    const ids = idsOf(request, limits);
    if (ids) {
      const { messages } = await look(access, {
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
    const marker = queryValue(request, 'marker');
    const page = await look(access, {
      ...asHost(request),
      limit,
      echo,
      include_claimed: claimed,
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
      marker: page.marker ?? page.messages.at(-1)?.id ?? '',
    });
    return reply.send({
      messages: page.messages.map((message) => messageBody(dialect, access.queue, { ...message, claim_id: null })),
      links: [{ rel: 'next', href: `${queueHref(dialect, access.queue)}/messages?${query.toString()}` }],
    });
  });

  scope.get<{ Params: { queue: string; message: string } }>(one, hosts, async (request) => {
    const access = queueFor(request, 'take');
    const id = request.params.message;
    const { messages } = await look(access, {
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

  const remove = (
    { project, queue }: QueueAccess,
    data: { ids?: string[]; pop?: number; purge?: boolean; claim_id?: string; host_id?: string },
  ) =>
    ask('configuration', queueMessageDelete, { project, data: { project, queue, ...data } }).catch((error: unknown) => {
      if (error instanceof AnnealError && error.code === 'NotFound') return { messages: [] };
      throw error;
    });

  scope.delete<{ Params: { queue: string; message: string } }>(one, hosts, async (request, reply) => {
    const claim = queryValue(request, 'claim_id');
    await remove(queueFor(request, 'take'), {
      ids: [request.params.message],
      ...(claim !== undefined && { claim_id: claim }),
    });
    return reply.code(204).send();
  });

  scope.delete(all, hosts, async (request, reply) => {
    const access = queueFor(request, 'take');
    const ids = idsOf(request, limits);
    const pop = popOf(request, limits);
    const invalid = (description: string) => zaqarError('InvalidRequest', 'Invalid API request', description);
    if (ids && pop !== undefined) {
      throw invalid('pop and id params cannot be present together in the delete request.');
    }
    if (pop !== undefined) {
      const caller = callerOf(request);
      const { messages } = await remove(access, { pop, ...(caller.kind === 'host' && { host_id: caller.id }) });
      return reply.send({
        messages: messages.map(({ id, age, ttl, body, claim_id, claim_count }) => ({
          id,
          age,
          ttl,
          body,
          claim_id,
          claim_count,
        })),
      });
    }
    if (!ids) {
      throw invalid('The request should have either "ids" or "pop" parameter in the request, to be able to delete.');
    }
    const claim = queryValue(request, 'claim_ids')?.split(',', 1)[0] ?? queryValue(request, 'claim_id');
    await remove(access, { ids, ...(claim !== undefined && { claim_id: claim }) });
    return reply.code(204).send();
  });

  if (dialect.version === 'v2') {
    scope.post('/queues/:queue/purge', async (request, reply) => {
      const access = queueFor(request, 'manage');
      if (purgesMessages(request)) await remove(access, { purge: true });
      return reply.code(204).send();
    });
  }
}

/**
 * True when a purge includes messages. Without a body it includes everything. Queue subscriptions do not exist here.
 */
function purgesMessages(request: FastifyRequest): boolean {
  const given = request.body as Json | undefined;
  const types = isObject(given) ? given['resource_types'] : undefined;
  if (types === undefined) return true;
  const known = ['messages', 'subscriptions'];
  if (
    !Array.isArray(types) ||
    types.length === 0 ||
    !types.every((type) => typeof type === 'string' && known.includes(type))
  ) {
    throw zaqarError(
      'InvalidRequest',
      'Invalid request body',
      `The "resource_types" of a purge are a list of ${known.join(' and ')}, not ${JSON.stringify(types)}.`,
    );
  }
  return types.includes('messages');
}

/** Adds the request id from the queue's name to an answer without an id. */
const answering = (id: string, { body, ttl }: { body: Json; ttl: number }): { body: Json; ttl: number } => ({
  body: isObject(body) && body['id'] === undefined ? { ...body, id } : body,
  ttl,
});

/**
 * The client id of a poster. A host is known by its token. Users send one, so that they need not see their own
 * messages.
 */
function posterOf(request: FastifyRequest, dialect: Dialect): string {
  const caller = callerOf(request);
  return (
    clientId(request, dialect.clientIdRequired && caller.kind === 'user') || (caller.kind === 'host' ? caller.id : '')
  );
}

function readMessages(
  dialect: Dialect,
  limits: QueueRequestLimits,
  request: FastifyRequest,
): { body: Json; ttl: number }[] {
  const posted = postedMessages(dialect, request.body as Json | undefined);
  const invalid = (description: string) => zaqarError('InvalidRequest', 'Invalid API request', description);
  if (!posted) throw invalid('No messages were found in the request body.');
  if (posted.length === 0) throw invalid('No messages to enqueu.');
  refuseManyPosted(posted.length, limits);
  return posted.map((item) => {
    const message: JsonObject = isObject(item) ? item : {};
    const { body } = message;
    if (body === undefined) throw zaqarError('InvalidRequest', 'Invalid request body', 'Missing "body" field.');
    return { body, ttl: messageTtlOf(message['ttl'], limits) };
  });
}
