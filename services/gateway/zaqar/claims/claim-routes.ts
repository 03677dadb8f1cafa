/** Claims of messages: take, show, renew and release. */
import { queueClaimRenew, queueClaimShow } from '@anneal/contracts/calls/configuration.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { objectBody } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { callerOf, ofHost } from '../../identity/caller.ts';
import { asHost, clientId, queueFor, type QueueAccess } from '../access.ts';
import { bodiesOf, type SealedBodies } from '../bodies.ts';
import { claimWithin, returnClaim, type ClaimOptions, type WantedClaim } from './claim.ts';
import { messageBody, messageSchema, messagesSchema, queueHref, type Dialect } from '../dialect.ts';
import { limitOf, limitQueries, type QueueRequestLimits } from '../limits.ts';
import { checkedHosts, hosts } from '../messages/message-paths.ts';
import { sendScript } from './send-script.ts';

export interface ClaimRouteOptions extends ClaimOptions {
  dialect: Dialect;
  limits: QueueRequestLimits;
}

const shellScript = 'text/x-shellscript';

function descriptions({
  dialect,
  limits,
  bodies,
}: Pick<ClaimRouteOptions, 'dialect' | 'limits'> & { bodies: SealedBodies }) {
  const { limit: limitQuery, wait } = limitQueries(limits);
  const claims = described(
    {
      summary: 'Claim messages: take them for some time. 204 when there are none.',
      query: z.object({ limit: limitQuery, wait }),
      body: bodies.wantedClaim.optional(),
      status: 201,
      answer: messagesSchema(dialect),
      also: { 204: null },
    },
    checkedHosts.config,
  );
  const shows = described(
    {
      summary: 'Show a claim with its messages.',
      answer: z.object({ age: z.int(), ttl: z.number(), messages: z.array(messageSchema), href: z.string() }),
    },
    hosts.config,
  );
  const renews = described({ summary: 'Renew a claim.', body: bodies.wantedClaim.optional() }, checkedHosts.config);
  const releases = described({ summary: 'Release a claim: its messages are free again.' }, hosts.config);
  return { claims, shows, renews, releases };
}

export function claimRoutes(scope: FastifyInstance, options: ClaimRouteOptions): void {
  const { ask, dialect, limits } = options;
  const all = '/queues/:queue/claims';
  const one = `${all}/:claim`;
  const bodies = bodiesOf(dialect, limits);
  const { claims, shows, renews, releases } = descriptions({ dialect, limits, bodies });

  scope.post(all, claims, async (request, reply) => {
    const access = queueFor(request, 'take');
    // A host that claims again has lost its first claim. Without a Client-ID it counts as one program, known by its
    // host id.
    const caller = callerOf(request);
    const client =
      clientId(request, dialect.clientIdRequired && caller.kind === 'user') ||
      (caller.kind === 'host' ? caller.id : '');
    const { ttl, grace, batch, answers, by_reference, inputs_by_reference } = bodies.claim(objectBody(request));
    const isHost = caller.kind === 'host';
    const asScript = request.headers.accept?.includes(shellScript) ?? false;
    const wanted: WantedClaim = {
      ttl,
      grace,
      limit: limitOf(request, limits),
      ...(isHost && batch !== undefined && { batch }),
      // A script holds its config, unless its group is one that the script itself runs.
      ...(isHost && by_reference === true && !asScript && { by_reference }),
      ...(isHost && inputs_by_reference === true && !asScript && { inputs_by_reference }),
      ...(isHost && answers && { answers: [...answers] }),
      ...(client !== '' && { client_id: client }),
    };
    if (isHost && batch !== undefined) void reply.header('anneal-takes-answers', 'true');
    const claimed = await claimWithin(options, request, {
      access,
      wanted: { ...wanted, limit: asScript ? 1 : wanted.limit },
    });
    const answered = wanted.answers ? { answered: true } : {};
    if (!claimed) return wanted.answers ? reply.send({ messages: [], ...answered }) : reply.code(204).send();
    const href = `${queueHref(dialect, access.queue)}/claims/${claimed.id}`;
    void reply.code(201).header('location', href);
    if (asScript) return sendScript(ask, { request, reply, access, claimed, ttl: wanted.ttl });
    const messages = claimed.messages.map((message) =>
      messageBody(dialect, access.queue, { ...message, claim_id: claimed.id }),
    );
    return reply.send(dialect.lists ? messages : { messages, ...answered });
  });

  scope.get<{ Params: { claim: string } }>(one, shows, async (request) => {
    const access = queueFor(request, 'take');
    const { claim } = request.params;
    const { age, ttl, messages } = await ask('configuration', queueClaimShow, {
      project: access.project,
      data: { ...access, ...asHost(request), claim_id: claim },
    }).catch((error: unknown) => {
      throw claimMissing(request, access, error);
    });
    return {
      age: Math.floor(age),
      ttl,
      messages: messages.map((message) => messageBody(dialect, access.queue, { ...message, claim_id: claim })),
      href: `${queueHref(dialect, access.queue)}/claims/${claim}`,
    };
  });

  scope.patch<{ Params: { claim: string } }>(one, renews, async (request, reply) => {
    const access = queueFor(request, 'take');
    const body = objectBody(request);
    const { ttl, grace } = bodies.claim(body);
    await ask('configuration', queueClaimRenew, {
      project: access.project,
      data: {
        ...access,
        ...ofHost(callerOf(request)),
        claim_id: request.params.claim,
        ttl,
        ...(body['grace'] !== undefined && { grace }),
      },
    }).catch((error: unknown) => {
      throw claimMissing(request, access, error);
    });
    return reply.code(204).send();
  });

  scope.delete<{ Params: { claim: string } }>(one, releases, async (request, reply) => {
    await returnClaim(ask, queueFor(request, 'take'), request.params.claim);
    return reply.code(204).send();
  });
}

function claimMissing(request: FastifyRequest, { project, queue }: QueueAccess, error: unknown): unknown {
  if (!hasCode(error, 'NotFound')) return error;
  const { claim } = request.params as { claim: string };
  return new AnnealError('NotFound', `Claim ${claim} does not exist in queue ${queue} for project ${project}`);
}
