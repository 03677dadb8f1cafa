/**
 * Claims messages, and waits for them (the long poll of hosts).
 *
 * C1 The event of the queue wakes a waiting client, and so does the return of the bus, which may have lost events. A
 *    client of a user's queue also polls, because claims expire there without an event. The queue of a host has a timer
 *    for its claims, so a waiting host costs nothing until its next call but its place in the reports of `HeldHosts`.
 * C2 A message claimed for a client that has disconnected is released at once, not when the claim expires.
 * C3 A stop of the gateway ends every wait with an empty answer, and the client asks another replica.
 * C4 A client whose token was revoked during its wait gets no message: a user's token is checked again, a host's token
 *    with every claim. A renewal wakes the host.
 * C5 Of several calls of one program of a host only the last one gets what arrives. The others were left behind by
 *    processes that were killed, so no program reads their answers.
 */
import { queueClaim, queueClaimRelease, type QueueMessage } from '@anneal/contracts/calls/queues.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { hasCode, ignoreNotFound } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import type { Ask } from '../../ask.ts';
import { authenticated, callerOf, ofHost, type Authenticate } from '../../identity/caller.ts';
import type { HeldHosts } from '../../held-hosts.ts';
import { queueKey, type Wakeups } from '../../wakeups.ts';
import type { QueueAccess } from '../access.ts';

export interface ClaimOptions {
  ask: Ask;
  authenticate: Authenticate;
  wakeups: Wakeups;
  held: HeldHosts;
  maxWaitSeconds: number;
  /** The same for a host whose connection has no proxy. */
  hostWaitSeconds: number;
  stopping: AbortSignal;
}

/** How long a waiting client may miss an expired claim. */
const lookAgainMs = 5_000;
/** A timer may fire a little early. */
const timerSlackMs = 5;

export interface WantedClaim {
  ttl: number;
  grace: number;
  limit: number;
  client_id?: string;
  /** Only for hosts. */
  batch?: number;
  answers?: { body: Json; ttl: number }[];
  by_reference?: boolean;
  inputs_by_reference?: boolean;
}

export interface ClaimAnswer {
  id: string;
  messages: QueueMessage[];
}

/** True when a proxy says that it passed the request on. Most of them close a connection that is quiet for a minute. */
const isProxied = ({ headers }: FastifyRequest): boolean =>
  ['x-forwarded-for', 'forwarded', 'via'].some((name) => headers[name] !== undefined);

/**
 * Claims what the queue has, or waits for it, at most `wait` seconds. Undefined when there is nothing. The answers
 * of a host are handed over before the wait, so the request ends only after they were taken.
 */
export async function claimWithin(
  options: ClaimOptions,
  request: FastifyRequest,
  { access, wanted, wait }: { access: QueueAccess; wanted: WantedClaim; wait: number },
): Promise<ClaimAnswer | undefined> {
  const { ask, authenticate, wakeups, held, maxWaitSeconds, hostWaitSeconds, stopping } = options;
  const caller = callerOf(request);
  const isHost = caller.kind === 'host';
  const lookMs = isHost ? Infinity : lookAgainMs;
  const waitSeconds = Math.min(wait, isHost && !isProxied(request) ? hostWaitSeconds : maxWaitSeconds);
  const end = performance.now() + waitSeconds * 1000;
  const key = queueKey(access.project, access.queue);
  const wake = (): void => wakeups.wake(key);
  const letGo =
    caller.kind === 'host' && waitSeconds > 0
      ? held.hold({ id: caller.id, project: access.project, wake }, request.raw.socket)
      : undefined;
  const gone = new AbortController();
  const onClose = (): void => gone.abort();
  request.raw.socket.once('close', onClose);
  const signal = AbortSignal.any([gone.signal, stopping]); // C3
  // Start listening before the first read, or a message that arrives in between would be missed.
  const listener = wakeups.listen(key, isHost ? wanted.client_id : undefined); // C5
  try {
    for (let first = true; ; first = false) {
      const { answers, ...plain } = wanted;
      const asked = { ...plain, ...(first && answers && { answers }), ...ofHost(caller) };
      const claimed = await claimNow(ask, access, asked);
      if (claimed && gone.signal.aborted) {
        await returnClaim(ask, access, claimed.id); // C2
        return undefined;
      }
      const left = end - performance.now();
      if (claimed || left <= 0 || signal.aborted) return claimed;
      const { isWoken } = await listener.next(Math.min(left, lookMs), signal); // C1
      if (signal.aborted) return undefined;
      // Its next call looks again at once.
      if (isHost && !isWoken && performance.now() >= end - timerSlackMs) return undefined;
      // C4. A signed URL ends only with its time, and has no token.
      if (!isHost && caller.kind !== 'holder') await authenticated(request, authenticate);
    }
  } finally {
    letGo?.();
    listener.close();
    request.raw.socket.off('close', onClose);
  }
}

/** Claims what the queue has now. Undefined when there is nothing. */
export async function claimNow(
  ask: Ask,
  { project, queue }: QueueAccess,
  wanted: WantedClaim & ReturnType<typeof ofHost>,
): Promise<ClaimAnswer | undefined> {
  try {
    const { claim_id: id, messages } = await ask('configuration', queueClaim, {
      project,
      data: { project, queue, ...wanted },
    });
    return id === null || messages.length === 0 ? undefined : { id, messages };
  } catch (error) {
    // No message was ever posted there, so there is nothing to claim.
    if (hasCode(error, 'NotFound') && !wanted.answers) return undefined;
    throw error;
  }
}

/** Gives the messages of a claim back to the queue. A claim that no longer exists is ignored. */
export const returnClaim = (ask: Ask, { project, queue }: QueueAccess, claim: string): Promise<unknown> =>
  ask('configuration', queueClaimRelease, { project, data: { project, queue, claim_id: claim } }).catch(ignoreNotFound);
