/**
 * Claims, and the long poll of hosts.
 *
 * C1 The event of the queue wakes a waiting client. It also polls from time to time, because claims expire without an
 *    event.
 * C2 A message claimed for a client that has disconnected is released at once, not when the claim expires.
 * C3 A stop of the gateway ends every wait with an empty answer, and the client asks another replica.
 * C4 A client whose token was revoked during its wait gets no message.
 */
import {
  hostRequestSchema,
  queueClaim,
  queueClaimRelease,
  queueClaimRenew,
  queueClaimShow,
  type QueueMessage,
} from '@anneal/contracts/configuration.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { objectBody } from '../http/body.ts';
import { authenticated, callerOf, type Authenticate } from '../identity/caller.ts';
import { queueKey, type Wakeups } from '../wakeups.ts';
import { asHost, clientId, queueFor, type QueueAccess } from './access.ts';
import { messageBody, queueHref, type Dialect } from './dialect.ts';
import { claimGraceOf, claimTtlOf, limitOf, waitOf, type QueueRequestLimits } from './limits.ts';
import { renderShellHost } from './shell-host.ts';

export interface ClaimRouteOptions {
  ask: Ask;
  authenticate: Authenticate;
  dialect: Dialect;
  wakeups: Wakeups;
  maxWaitSeconds: number;
  limits: QueueRequestLimits;
  stopping: AbortSignal;
}

const hosts = { config: { hosts: true } } as const;
/** How long a waiting client may miss an expired claim. */
const lookAgainMs = 5_000;
const shellScript = 'text/x-shellscript';

interface Wish {
  ttl: number;
  grace: number;
  limit: number;
  client_id?: string;
}

interface Claimed {
  id: string;
  messages: QueueMessage[];
}

export function claimRoutes(
  scope: FastifyInstance,
  { ask, authenticate, dialect, wakeups, maxWaitSeconds, limits, stopping }: ClaimRouteOptions,
): void {
  const all = '/queues/:queue/claims';
  const one = `${all}/:claim`;

  scope.post(all, hosts, async (request, reply) => {
    const access = queueFor(request, 'take');
    // A host that claims again has lost its first claim. Without a Client-ID it counts as one program, known by its
    // host id.
    const caller = callerOf(request);
    const client =
      clientId(request, dialect.clientIdRequired && caller.kind === 'user') ||
      (caller.kind === 'host' ? caller.id : '');
    const body = objectBody(request);
    const wish: Wish = {
      ttl: claimTtlOf(body['ttl'], limits),
      grace: claimGraceOf(body['grace'], limits),
      limit: limitOf(request, limits),
      ...(client !== '' && { client_id: client }),
    };
    const asScript = request.headers.accept?.includes(shellScript) ?? false;
    const claimed = await claimWithin(request, access, { ...wish, limit: asScript ? 1 : wish.limit });
    if (!claimed) return reply.code(204).send();
    const href = `${queueHref(dialect, access.queue)}/claims/${claimed.id}`;
    void reply.code(201).header('location', href);
    if (asScript) return sendScript(request, reply, { access, claimed, href, ttl: wish.ttl });
    const messages = claimed.messages.map((message) =>
      messageBody(dialect, access.queue, { ...message, claim_id: claimed.id }),
    );
    return reply.send(dialect.lists ? messages : { messages });
  });

  async function claimWithin(request: FastifyRequest, access: QueueAccess, wish: Wish): Promise<Claimed | undefined> {
    const end = performance.now() + waitOf(request, maxWaitSeconds) * 1000;
    const gone = new AbortController();
    const onClose = (): void => gone.abort();
    request.raw.socket.once('close', onClose);
    const signal = AbortSignal.any([gone.signal, stopping]); // C3
    // Start listening before the first read, or a message that arrives in between would be missed.
    const listener = wakeups.listen(queueKey(access.project, access.queue));
    try {
      for (;;) {
        const claimed = await claimNow(access, wish);
        if (claimed && gone.signal.aborted) {
          await release(access, claimed.id); // C2
          return undefined;
        }
        const left = end - performance.now();
        if (claimed || left <= 0 || signal.aborted) return claimed;
        await listener.next(Math.min(left, lookAgainMs), signal); // C1
        if (signal.aborted) return undefined;
        await authenticated(request, authenticate); // C4
      }
    } finally {
      listener.close();
      request.raw.socket.off('close', onClose);
    }
  }

  async function claimNow({ project, queue }: QueueAccess, wish: Wish): Promise<Claimed | undefined> {
    try {
      const { claim_id: id, messages } = await ask('configuration', queueClaim, {
        project,
        data: { project, queue, ...wish },
      });
      return id === null || messages.length === 0 ? undefined : { id, messages };
    } catch (error) {
      // No message was ever posted there, so there is nothing to claim.
      if (error instanceof AnnealError && error.code === 'NotFound') return undefined;
      throw error;
    }
  }

  const release = ({ project, queue }: QueueAccess, claim: string): Promise<unknown> =>
    ask('configuration', queueClaimRelease, { project, data: { project, queue, claim_id: claim } }).catch(
      (error: unknown) => {
        if (!(error instanceof AnnealError) || error.code !== 'NotFound') throw error;
      },
    );

  async function sendScript(
    request: FastifyRequest,
    reply: FastifyReply,
    { access, claimed, href, ttl }: { access: QueueAccess; claimed: Claimed; href: string; ttl: number },
  ): Promise<FastifyReply> {
    const caller = callerOf(request);
    const [message] = claimed.messages;
    const parsed = hostRequestSchema.safeParse(message?.body);
    if (caller.kind !== 'host' || !message || !parsed.success) {
      await release(access, claimed.id);
      throw new AnnealError(
        'InvalidRequest',
        caller.kind === 'host'
          ? 'The message at the head of the queue is no request for a host, so there is no script for it.'
          : 'Only a host can take its requests as scripts; log in with the token of the host.',
      );
    }
    const base = `${baseUrl(request)}/messaging`;
    const token = request.headers['x-auth-token'];
    const script = renderShellHost({
      request: parsed.data,
      token: typeof token === 'string' ? token : '',
      clientId: caller.id,
      claimUrl: `${base}${href}`,
      messageUrl: `${base}${queueHref(dialect, access.queue)}/messages/${message.id}?claim_id=${claimed.id}`,
      responsesUrl: `${base}${queueHref(dialect, caller.responsesQueue)}/messages`,
      lists: dialect.lists,
      ttl,
    });
    return reply.type(shellScript).send(script);
  }

  const claimMissing = (request: FastifyRequest, { project, queue }: QueueAccess, error: unknown): unknown => {
    if (!(error instanceof AnnealError) || error.code !== 'NotFound') return error;
    const { claim } = request.params as { claim: string };
    return new AnnealError('NotFound', `Claim ${claim} does not exist in queue ${queue} for project ${project}`);
  };

  scope.get<{ Params: { claim: string } }>(one, hosts, async (request) => {
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

  scope.patch<{ Params: { claim: string } }>(one, hosts, async (request, reply) => {
    const access = queueFor(request, 'take');
    const body = objectBody(request);
    await ask('configuration', queueClaimRenew, {
      project: access.project,
      data: {
        ...access,
        claim_id: request.params.claim,
        ttl: claimTtlOf(body['ttl'], limits),
        ...(body['grace'] !== undefined && { grace: claimGraceOf(body['grace'], limits) }),
      },
    }).catch((error: unknown) => {
      throw claimMissing(request, access, error);
    });
    return reply.code(204).send();
  });

  scope.delete<{ Params: { claim: string } }>(one, hosts, async (request, reply) => {
    await release(queueFor(request, 'take'), request.params.claim);
    return reply.code(204).send();
  });
}
