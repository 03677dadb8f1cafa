/** Deletes messages: one, several, those that a pop takes, or all of a queue. */
import { queueMessageDelete } from '@anneal/contracts/calls/queues.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { json } from '@anneal/contracts/json.ts';
import { z } from 'zod';
import type { Ask } from '../../ask.ts';
import { withMetadata } from '../../host-metadata.ts';
import { route, type Route } from '../../http/route.ts';
import { callerOf, ofHost } from '../../identity/caller.ts';
import { asHost, queueFor, type QueueAccess } from '../access.ts';
import { removeSubscriptions } from '../subscriptions/subscription-routes.ts';
import { purgeBody } from '../bodies.ts';
import type { QueueRouteOptions } from '../dialect.ts';
import { limitQueries } from '../limits.ts';

const poppedSchema = z.object({
  id: z.string(),
  age: z.number(),
  ttl: z.number(),
  body: json,
  claim_id: z.string().nullable(),
  claim_count: z.number(),
});

const oneOrOther = 'pop and id params cannot be present together in the delete request.';
const noneGiven = 'The request should have either "ids" or "pop" parameter in the request, to be able to delete.';

export const deleteRoutes = (options: QueueRouteOptions): Route[] => [
  route({
    method: 'DELETE',
    path: '/queues/{queue}/messages/{message}',
    summary: 'Delete a message. A claimed one needs its claim.',
    hosts: true,
    checksHost: true,
    query: z.object({ claim_id: z.string().optional() }),
    handle: async ({ params: { message }, query, request }) => {
      const data = { ...ofHost(callerOf(request)), ids: [message], ...query };
      await remove(options.ask, queueFor(request, 'take'), data);
    },
  }),
  severalRoute(options),
  ...(options.dialect.version === 'v2' ? [purgeRoute(options)] : []),
];

const severalRoute = ({ ask, limits }: QueueRouteOptions): Route => {
  const { ids: idsQuery, pop: popQuery } = limitQueries(limits);
  return route({
    method: 'DELETE',
    path: '/queues/{queue}/messages',
    summary: 'Delete messages by their ids, or take (pop) some.',
    hosts: true,
    checksHost: true,
    query: z
      .object({ ids: idsQuery, pop: popQuery, claim_ids: z.string().optional(), claim_id: z.string().optional() })
      .refine(({ ids, pop }) => ids === undefined || pop === undefined, { error: oneOrOther })
      .refine(({ ids, pop }) => ids !== undefined || pop !== undefined, { error: noneGiven }),
    answer: z.object({ messages: z.array(poppedSchema) }),
    also: { 204: null },
    handle: async ({ query: { ids, pop, claim_ids, claim_id }, request, reply }) => {
      const access = queueFor(request, 'take');
      const caller = callerOf(request);
      if (pop === undefined) {
        const claim = claim_ids?.split(',', 1)[0] ?? claim_id;
        await remove(ask, access, { ...ofHost(caller), ids, claim_id: claim });
        return reply.code(204).send();
      }
      const { messages, collector } = await remove(ask, access, { ...ofHost(caller), pop, ...asHost(request) });
      const popped = await withMetadata(ask, { project: access.project, messages, collector });
      return {
        messages: popped.map((message) => {
          const { id, age, ttl, body, claim_id: claim, claim_count } = message;
          return { id, age, ttl, body, claim_id: claim, claim_count };
        }),
      };
    },
  });
};

const purgeRoute = ({ ask, trusts }: QueueRouteOptions): Route =>
  route({
    method: 'POST',
    path: '/queues/{queue}/purge',
    summary: 'Delete all messages, subscriptions or both.',
    body: purgeBody,
    handle: async ({ body: { resource_types: kinds }, request }) => {
      const access = queueFor(request, 'manage');
      if (kinds.includes('messages')) await remove(ask, access, { purge: true });
      if (kinds.includes('subscriptions')) await removeSubscriptions({ ask, trusts }, access);
    },
  });

const remove = (
  ask: Ask,
  { project, queue }: QueueAccess,
  data: {
    caller?: { host_id: string; token_hash: string };
    ids?: string[] | undefined;
    pop?: number;
    purge?: boolean;
    claim_id?: string | undefined;
    host_id?: string;
  },
) =>
  ask('configuration', queueMessageDelete, { project, data: { project, queue, ...data } }).catch((error: unknown) => {
    if (hasCode(error, 'NotFound')) return { messages: [], collector: undefined };
    throw error;
  });
