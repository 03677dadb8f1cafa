/**
 * Pushes the requests of a host over one open connection: server-sent events at `GET /agent/v1/requests`.
 *
 * | event | id | data | when |
 * | --- | --- | --- | --- |
 * | `request` | of the message | `claim_id`, `message_id`, `request` | the next config to run |
 * | `held` | the same | `claim_id`, `message_id` | after a reconnect whose `Last-Event-ID` names the next config |
 * | `stop` | none | `message_id`, `id` | the config must end: it was replaced, or its deployment is gone |
 *
 * P1 One request at a time, in the order of the queue. The next one comes when the host has answered.
 * P2 The claim lasts as long as the connection, and a minute longer. So the host need not renew it, and a host that died
 *    loses it.
 * P3 A host that comes again with the id of the last event does not get its request a second time. A host that lost its
 *    memory comes without the id, and gets it again.
 * P4 The connection ends when the token of the host is no longer current; the next one is refused.
 */
import { queueClaimRenew } from '@anneal/contracts/calls/queues.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { runReport } from '@anneal/contracts/output.ts';
import { z } from 'zod';
import type { Stream, Streams } from '../http/event-stream.ts';
import { route, type Route } from '../http/route.ts';
import { authenticated, ofHost, type Caller, type HostCaller } from '../identity/caller.ts';
import { queueKey } from '../wakeups.ts';
import { claimNow, returnClaim, type ClaimOptions } from '../zaqar/claims/claim.ts';
import { doorPath } from '../zaqar/claims/send-script.ts';

export interface PushOptions extends ClaimOptions {
  readonly streams: Streams;
  /** Between signs of life on a quiet connection. */
  readonly heartbeatMs: number;
}

const claimSeconds = 60;
const renewEveryMs = 15_000;

interface Pushed {
  readonly claim_id: string;
  readonly message_id: string;
  /** The id of the run. */
  readonly id: string;
  readonly hasStopped: boolean;
}

/** @throws AnnealError Forbidden for a user */
export function requireHost(caller: Caller): HostCaller {
  if (caller.kind === 'host') return caller;
  throw new AnnealError('Forbidden', 'Only a host can use this address; send the token of the host.');
}

/** The stream takes over the connection until the host leaves or the gateway stops. */
export const pushRoute = (options: PushOptions): Route =>
  route({
    method: 'GET',
    path: `${doorPath}/requests`,
    summary: 'Stream the requests of a host, one at a time, as server-sent events.',
    query: z.object({ by_reference: z.boolean().default(false) }),
    headers: z.object({ 'client-id': z.string().optional(), 'last-event-id': z.string().optional() }),
    stream: 'only',
    answer: z.unknown(),
    handle: async ({ query, headers, request, reply }) => {
      const host = requireHost(await authenticated(request, options.authenticate));
      const pushing = new PushedHost(options, host, {
        client_id: headers['client-id'] || host.id,
        last: headers['last-event-id'],
        byReference: query.by_reference,
      });
      const wake = (): void => options.wakeups.wake(queueKey(host.project, host.requestsQueue));
      // Before the stream opens, because a refusal has a status.
      const letGo = options.held.hold({ id: host.id, project: host.project, wake }, request.raw.socket);
      try {
        await options.streams.open(reply, async (stream) => {
          try {
            await pushing.run(stream);
          } catch (error) {
            if (!(error instanceof AnnealError)) throw error; // P4, or the service is away: the host comes again.
          }
        });
      } finally {
        letGo();
      }
    },
  });

class PushedHost {
  readonly #options: PushOptions;
  readonly #host: HostCaller;
  readonly #client: string;
  readonly #byReference: boolean;
  #last: string | undefined;
  #pushed: Pushed | undefined;

  constructor(
    options: PushOptions,
    host: HostCaller,
    asked: { client_id: string; last: string | undefined; byReference: boolean },
  ) {
    this.#options = options;
    this.#host = host;
    this.#client = asked.client_id;
    this.#last = asked.last;
    this.#byReference = asked.byReference;
  }

  async run(stream: Stream): Promise<void> {
    const { wakeups, heartbeatMs } = this.#options;
    const { project, requestsQueue } = this.#host;
    // Start listening before the first read, or a message that arrives in between would be missed.
    const listener = wakeups.listen(queueKey(project, requestsQueue));
    const waitMs = Math.min(heartbeatMs, renewEveryMs);
    try {
      for (let isWoken = true; !stream.signal.aborted;) {
        await this.#look(stream, isWoken);
        ({ isWoken } = await listener.next(waitMs, stream.signal));
        if (!isWoken && !stream.signal.aborted) await stream.heartbeat();
      }
    } finally {
      listener.close();
    }
  }

  async #look(stream: Stream, isWoken: boolean): Promise<void> {
    const before = this.#pushed;
    if (before && !(await this.#isHeld(before))) this.#pushed = undefined;
    if (this.#pushed) await this.#sendStop(stream, this.#pushed);
    // Claims of a host's queue have a timer that wakes its clients, so a quiet queue needs no look.
    else if (isWoken || before) await this.#sendNext(stream);
  }

  /** P2 */
  async #isHeld({ claim_id }: Pushed): Promise<boolean> {
    const { project, requestsQueue: queue } = this.#host;
    const data = { project, queue, ...ofHost(this.#host), claim_id, ttl: claimSeconds };
    const renewed = await this.#options.ask('configuration', queueClaimRenew, { project, data }).catch(ignoreNotFound);
    return renewed !== undefined;
  }

  async #sendStop(stream: Stream, pushed: Pushed): Promise<void> {
    if (pushed.hasStopped) return;
    const { project, id: host_id } = this.#host;
    const { id, message_id } = pushed;
    const { stop } = await this.#options.ask('configuration', runReport, {
      project,
      data: { host_id, id, pieces: [] },
    });
    if (!stop) return;
    this.#pushed = { ...pushed, hasStopped: true };
    await stream.send({ name: 'stop', data: { id, message_id } });
  }

  async #sendNext(stream: Stream): Promise<void> {
    const { ask } = this.#options;
    const access = { project: this.#host.project, queue: this.#host.requestsQueue };
    const claimed = await claimNow(ask, access, {
      ttl: claimSeconds,
      grace: claimSeconds,
      limit: 1,
      client_id: this.#client,
      ...(this.#byReference && { by_reference: true }),
      ...ofHost(this.#host),
    });
    const [message] = claimed?.messages ?? [];
    if (!claimed || !message) return;
    if (stream.signal.aborted) return void (await returnClaim(ask, access, claimed.id));
    const { id: message_id, body } = message;
    const held = { claim_id: claimed.id, message_id };
    const id = (body as { id?: unknown } | null)?.id;
    this.#pushed = { ...held, id: typeof id === 'string' ? id : message_id, hasStopped: false };
    const isKnown = this.#last === message_id; // P3
    this.#last = message_id;
    await stream.send(
      isKnown
        ? { id: message_id, name: 'held', data: held }
        : { id: message_id, name: 'request', data: { ...held, request: body } },
    );
  }
}
