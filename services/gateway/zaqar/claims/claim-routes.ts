/** Claims of messages: take, show, renew and release. */
import { queueClaimRenew, queueClaimShow } from '@anneal/contracts/calls/queues.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { callerOf, ofHost } from '../../identity/caller.ts';
import { asHost, clientHeaders, clientOf, queueFor, type QueueAccess } from '../access.ts';
import { claimBodies } from '../bodies.ts';
import { claimWithin, returnClaim, type ClaimOptions, type WantedClaim } from './claim.ts';
import { messageBody, messageSchema, messagesSchema, queueHref, type Dialect } from '../dialect.ts';
import { limitQueries, waitQuery, type QueueRequestLimits } from '../limits.ts';
import { sendScript } from './send-script.ts';

export interface ClaimRouteOptions extends ClaimOptions {
  dialect: Dialect;
  limits: QueueRequestLimits;
}

const shellScript = 'text/x-shellscript';

const takeRoute = (options: ClaimRouteOptions): Route => {
  const { ask, dialect, limits } = options;
  return route({
    method: 'POST',
    path: '/queues/{queue}/claims',
    summary: 'Claim messages: take them for some time. 204 when there are none.',
    hosts: true,
    checksHost: true,
    answersRuns: true,
    query: z.object({ limit: limitQueries(limits).limit, wait: waitQuery }),
    headers: clientHeaders(dialect),
    body: claimBodies(limits).claimed,
    status: 201,
    answer: messagesSchema(dialect),
    also: { 204: null },
    handle: async ({ query: { limit, wait }, headers, body, request, reply }) => {
      const access = queueFor(request, 'take');
      const caller = callerOf(request);
      // A host that claims again has lost its first claim.
      const client = clientOf(caller, headers['client-id']);
      const { ttl, grace, batch, answers, by_reference, inputs_by_reference } = body;
      const isHost = caller.kind === 'host';
      const asScript = request.headers.accept?.includes(shellScript) ?? false;
      const wanted: WantedClaim = {
        ttl,
        grace,
        limit: asScript ? 1 : limit,
        ...(isHost && batch !== undefined && { batch }),
        // A script holds its config, unless its group is one that the script itself runs.
        ...(isHost && by_reference === true && !asScript && { by_reference }),
        ...(isHost && inputs_by_reference === true && !asScript && { inputs_by_reference }),
        ...(isHost && answers && { answers }),
        ...(client !== '' && { client_id: client }),
      };
      if (isHost && batch !== undefined) void reply.header('anneal-takes-answers', 'true');
      const claimed = await claimWithin(options, request, { access, wanted, wait });
      const answered = wanted.answers ? { answered: true } : {};
      if (!claimed) return reply.code(wanted.answers ? 200 : 204).send(wanted.answers && { messages: [], ...answered });
      void reply.code(201).header('location', `${queueHref(dialect, access.queue)}/claims/${claimed.id}`);
      if (asScript) return sendScript(ask, { request, reply, access, claimed, ttl });
      const messages = claimed.messages.map((message) =>
        messageBody(dialect, access.queue, { ...message, claim_id: claimed.id }),
      );
      return dialect.lists ? messages : { messages, ...answered };
    },
  });
};

export const claimRoutes = (options: ClaimRouteOptions): Route[] => {
  const { ask, dialect, limits } = options;
  const path = '/queues/{queue}/claims/{claim}';
  return [
    takeRoute(options),
    route({
      method: 'GET',
      path,
      summary: 'Show a claim with its messages.',
      hosts: true,
      answer: z.object({ age: z.int(), ttl: z.number(), messages: z.array(messageSchema), href: z.string() }),
      handle: async ({ params: { claim }, request }) => {
        const access = queueFor(request, 'take');
        const data = { ...access, ...asHost(request), claim_id: claim };
        const { age, ttl, messages } = await ask('configuration', queueClaimShow, {
          project: access.project,
          data,
        }).catch(missing(access, claim));
        return {
          age: Math.floor(age),
          ttl,
          messages: messages.map((message) => messageBody(dialect, access.queue, { ...message, claim_id: claim })),
          href: `${queueHref(dialect, access.queue)}/claims/${claim}`,
        };
      },
    }),
    route({
      method: 'PATCH',
      path,
      summary: 'Renew a claim.',
      hosts: true,
      checksHost: true,
      body: claimBodies(limits).renewed,
      handle: async ({ params: { claim }, body, request }) => {
        const access = queueFor(request, 'take');
        const data = { ...access, ...ofHost(callerOf(request)), claim_id: claim, ...body };
        await ask('configuration', queueClaimRenew, { project: access.project, data }).catch(missing(access, claim));
      },
    }),
    route({
      method: 'DELETE',
      path,
      summary: 'Release a claim: its messages are free again.',
      hosts: true,
      handle: async ({ params: { claim }, request }) => {
        await returnClaim(ask, queueFor(request, 'take'), claim);
      },
    }),
  ];
};

/** @throws every error, for a claim that does not exist in Zaqar's words */
const missing =
  ({ project, queue }: QueueAccess, claim: string) =>
  (error: unknown): never => {
    if (!hasCode(error, 'NotFound')) throw error;
    throw new AnnealError('NotFound', `Claim ${claim} does not exist in queue ${queue} for project ${project}`);
  };
