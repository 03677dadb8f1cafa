/** Posts messages: by users, by hosts, and by signallers that hold a grant. */
import { queuePost } from '@anneal/contracts/calls/configuration.ts';
import { isObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answerOfSignal, signalByGrant } from '../../heat/resources/signal.ts';
import { described } from '../../http/document.ts';
import { callerOf, ofHost } from '../../identity/caller.ts';
import { clientId, queueFor, signalQueueOf } from '../access.ts';
import { bodiesOf, type PostedMessage } from '../bodies.ts';
import { queueHref, type Dialect } from '../dialect.ts';
import { allMessages, type MessageRouteOptions } from './message-paths.ts';
import { isForm, readResponseForm } from '../response-form.ts';

const posters = { config: { hosts: true, checksHost: true, signallers: true } } as const;

export function postRoutes(scope: FastifyInstance, { ask, dialect, limits }: MessageRouteOptions): void {
  const bodies = bodiesOf(dialect, limits);
  const posts = described(
    {
      summary: 'Post messages. The first one creates the queue.',
      body: bodies.posted,
      status: 201,
      answer: z.object({ resources: z.array(z.string()), partial: z.boolean().optional() }),
    },
    posters.config,
  );
  scope.post(allMessages, posts, async (request, reply) => {
    const caller = callerOf(request);
    if (caller.kind === 'signaller') {
      const queue = signalQueueOf(request, caller);
      const { grant } = caller;
      for (const { body } of bodies.messages(request.body)) await signalByGrant(ask, { grant, request }, body);
      return reply.code(201).send({ resources: [`${queueHref(dialect, queue)}/messages`] });
    }
    const { project, queue, answers } = queueFor(request, 'post');
    const posted = isForm(request) ? [await readResponseForm(request)] : bodies.messages(request.body);
    const messages = answers === undefined ? posted : posted.map((message) => answering(answers, message));
    const { ids } = await ask('configuration', queuePost, {
      project,
      data: {
        project,
        queue,
        ...ofHost(caller),
        client_id: posterOf(request, dialect),
        messages,
        most_default_ttl: limits.messageTtl.most,
      },
    });
    const base = `${queueHref(dialect, queue)}/messages`;
    return reply
      .code(201)
      .header('location', `${base}?ids=${ids.join(',')}`)
      .send({ resources: ids.map((id) => `${base}/${id}`), ...(dialect.lists && { partial: false }) });
  });
}

/** Adds the request id from the queue's name to an answer without an id. */
const answering = (id: string, message: PostedMessage): PostedMessage => {
  const { body } = message;
  return isObject(body) && body['id'] === undefined ? { ...message, body: answerOfSignal(body, id) } : message;
};

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
