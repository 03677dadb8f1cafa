/** Deletes messages: one, several, those that a pop takes, or all of a queue. */
import { queueMessageDelete } from '@anneal/contracts/calls/configuration.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { withMetadata } from '../../host-metadata.ts';
import { queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { callerOf, ofHost } from '../../identity/caller.ts';
import type { SubscriberTrusts } from '../../identity/subscriber-trusts.ts';
import { queueFor, type QueueAccess } from '../access.ts';
import { removeSubscriptions } from '../subscriptions/subscription-routes.ts';
import { bodiesOf, purgeSchema } from '../bodies.ts';
import { idsOf, limitQueries, popOf } from '../limits.ts';
import { allMessages, checkedHosts, oneMessage, type MessagePath, type MessageRouteOptions } from './message-paths.ts';
import { zaqarError } from '../wording.ts';

const poppedSchema = z.object({
  id: z.string(),
  age: z.number(),
  ttl: z.number(),
  body: json,
  claim_id: z.string().nullable(),
  claim_count: z.number(),
});

export function deleteRoutes(
  scope: FastifyInstance,
  { ask, dialect, limits, trusts }: MessageRouteOptions & { readonly trusts: SubscriberTrusts },
): void {
  const one = described(
    {
      summary: 'Delete a message. A claimed one needs its claim.',
      query: z.object({ claim_id: z.string().optional() }),
    },
    checkedHosts.config,
  );
  scope.delete<MessagePath>(oneMessage, one, async (request, reply) => {
    const claim = queryValue(request, 'claim_id');
    await remove(ask, queueFor(request, 'take'), {
      ...ofHost(callerOf(request)),
      ids: [request.params.message],
      ...(claim !== undefined && { claim_id: claim }),
    });
    return reply.code(204).send();
  });

  const { ids: idsQuery, pop: popQuery } = limitQueries(limits);
  const several = described(
    {
      summary: 'Delete messages by their ids, or take (pop) some.',
      query: z.object({ ids: idsQuery, pop: popQuery, claim_ids: z.string().optional() }),
      answer: z.object({ messages: z.array(poppedSchema) }),
      also: { 204: null },
    },
    checkedHosts.config,
  );
  scope.delete(allMessages, several, async (request, reply) => {
    const access = queueFor(request, 'take');
    const ids = idsOf(request, limits);
    const pop = popOf(request, limits);
    const invalid = (description: string) => zaqarError('InvalidRequest', 'Invalid API request', description);
    if (ids && pop !== undefined) {
      throw invalid('pop and id params cannot be present together in the delete request.');
    }
    if (pop !== undefined) {
      const caller = callerOf(request);
      const { messages, collector } = await remove(ask, access, {
        ...ofHost(caller),
        pop,
        ...(caller.kind === 'host' && { host_id: caller.id }),
      });
      const { project } = access;
      return reply.send({
        messages: (await withMetadata(ask, { project, messages, collector })).map(
          ({ id, age, ttl, body, claim_id, claim_count }) => ({ id, age, ttl, body, claim_id, claim_count }),
        ),
      });
    }
    if (!ids) {
      throw invalid('The request should have either "ids" or "pop" parameter in the request, to be able to delete.');
    }
    const claim = queryValue(request, 'claim_ids')?.split(',', 1)[0] ?? queryValue(request, 'claim_id');
    await remove(ask, access, { ...ofHost(callerOf(request)), ids, ...(claim !== undefined && { claim_id: claim }) });
    return reply.code(204).send();
  });

  if (dialect.version === 'v2') {
    const { purged } = bodiesOf(dialect, limits);
    const purges = described({ summary: 'Delete all messages, subscriptions or both.', body: purgeSchema.optional() });
    scope.post('/queues/:queue/purge', purges, async (request, reply) => {
      const access = queueFor(request, 'manage');
      const kinds = purged(request.body);
      if (kinds.has('messages')) await remove(ask, access, { purge: true });
      if (kinds.has('subscriptions')) await removeSubscriptions({ ask, trusts }, access);
      return reply.code(204).send();
    });
  }
}

const remove = (
  ask: Ask,
  { project, queue }: QueueAccess,
  data: {
    caller?: { host_id: string; token_hash: string };
    ids?: string[];
    pop?: number;
    purge?: boolean;
    claim_id?: string;
    host_id?: string;
  },
) =>
  ask('configuration', queueMessageDelete, { project, data: { project, queue, ...data } }).catch((error: unknown) => {
    if (hasCode(error, 'NotFound')) return { messages: [], collector: undefined };
    throw error;
  });
