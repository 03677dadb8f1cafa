/** Posts messages: by users, by hosts, and by signallers that hold a grant. */
import { queuePost } from '@anneal/contracts/calls/queues.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { isObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answerOfSignal, signalByGrant } from '../../heat/resources/signal.ts';
import { route, type Route } from '../../http/route.ts';
import { callerOf, ofHost } from '../../identity/caller.ts';
import { clientHeaders, clientOf, queueFor, signalQueueOf } from '../access.ts';
import { postedMessages, type PostedMessage } from '../bodies.ts';
import { queueHref, type QueueRouteOptions } from '../dialect.ts';
import { answerSeconds, isForm, readResponseForm } from '../response-form.ts';

const path = '/queues/{queue}/messages';

const isPost = ({ routeOptions }: FastifyRequest): boolean => routeOptions.config.declared?.path === path;

/** Makes the form of a host's answer the body of its post. */
export async function readPostedForm(
  request: FastifyRequest,
  { dialect: { lists }, limits }: Pick<QueueRouteOptions, 'dialect' | 'limits'>,
): Promise<void> {
  if (request.method !== 'POST' || !isPost(request) || !isForm(request)) return;
  // A signal is JSON.
  if (request.caller?.kind === 'signaller') return;
  const { body, ttl } = await readResponseForm(request);
  const messages = [{ body, ttl: Math.min(ttl, limits.messageTtl.most) }];
  request.body = lists ? messages : { messages };
}

/**
 * Refuses a body that is not readable. That of a host goes to its responses as a text first, because the run that it answers
 * must not wait for another answer. A signaller has the run in its grant, so its text is a message.
 */
export async function refuseUnreadable(
  request: FastifyRequest,
  { ask, dialect: { lists } }: Pick<QueueRouteOptions, 'ask' | 'dialect'>,
): Promise<void> {
  const { unreadable, caller } = request;
  if (!unreadable) return;
  const message = { body: unreadable.text, ttl: answerSeconds };
  if (caller?.kind === 'signaller' && isPost(request)) {
    request.body = lists ? [message] : { messages: [message] };
    return;
  }
  if (caller?.kind === 'host') {
    const { answers: run } = queueFor(request, isPost(request) ? 'post' : 'take');
    const { project, responsesQueue: queue, id: client_id } = caller;
    const data = {
      project,
      queue,
      ...ofHost(caller),
      client_id,
      ...(run !== undefined && { run }),
      messages: [message],
    };
    await ask('configuration', queuePost, { project, data }).catch((error: unknown) => {
      if (!hasCode(error, 'InvalidRequest', 'TooLarge')) throw error;
    });
  }
  throw unreadable.error;
}

export const postRoute = ({ ask, dialect, limits }: QueueRouteOptions): Route =>
  route({
    method: 'POST',
    path,
    summary: 'Post messages. The first one creates the queue.',
    hosts: true,
    checksHost: true,
    signallers: true,
    answersRuns: true,
    headers: clientHeaders(dialect),
    body: postedMessages(dialect, limits),
    status: 201,
    answer: z.object({ resources: z.array(z.string()), partial: z.boolean().optional() }),
    handle: async ({ headers, body, request, reply }) => {
      const caller = callerOf(request);
      if (caller.kind === 'signaller') {
        const queue = signalQueueOf(request, caller);
        const { grant } = caller;
        for (const { body: signal } of body) await signalByGrant(ask, { grant, request }, signal);
        return { resources: [`${queueHref(dialect, queue)}/messages`] };
      }
      const { project, queue, answers } = queueFor(request, 'post');
      const { ids } = await ask('configuration', queuePost, {
        project,
        data: {
          project,
          queue,
          ...ofHost(caller),
          client_id: clientOf(caller, headers['client-id']),
          messages: answers === undefined ? body : body.map((message) => answering(answers, message)),
          ...(answers !== undefined && { run: answers }),
          most_default_ttl: limits.messageTtl.most,
        },
      });
      const base = `${queueHref(dialect, queue)}/messages`;
      void reply.header('location', `${base}?ids=${ids.join(',')}`);
      return { resources: ids.map((id) => `${base}/${id}`), ...(dialect.lists && { partial: false }) };
    },
  });

/** Adds the request id from the queue's name to an answer without an id. */
const answering = (id: string, message: PostedMessage): PostedMessage => {
  const { body } = message;
  return isObject(body) && body['id'] === undefined ? { ...message, body: answerOfSignal(body, id) } : message;
};
