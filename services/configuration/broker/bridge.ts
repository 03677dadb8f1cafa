/**
 * Hosts that use a broker directly. The bridge claims requests for them and takes their answers with the same code as the
 * HTTP door of hosts, so order, claims, time limits and journal are the same.
 *
 * G1 The broker carries messages and decides nothing. The queue of a host is its documents; a message on the broker is a
 *    copy of the first request, which the bridge has claimed under one client id for all replicas.
 * G2 A host that says hello is idle: it gets its first request, also when it got it before (C4 of claims). A host that
 *    reports progress or answers keeps, or ends, its claim. So a lost message costs one heartbeat, and a repeated one
 *    has the id of a request that the host knows.
 * G3 Only a host that was heard over the broker within the lease is offered requests, because the time limit of a run
 *    begins when it is claimed.
 * G4 A message from a host without current credentials changes nothing.
 */
import { createHash } from 'node:crypto';
import type { HostDoor } from '@anneal/bus/hosts/door.ts';
import { AnnealError, kindOf, toFailure } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { readGivenJson } from '@anneal/runtime/given-json.ts';
import { Serial } from '@anneal/runtime/work/serial.ts';
import { change } from '@anneal/store/change.ts';
import type { HostDocument } from '../collections.ts';
import { takeInput } from '../deployments/runs/carry-out.ts';
import { hearOf } from '../hosts/host.ts';
import { runNamedBy } from '../deployments/answers/named-run.ts';
import { handleMessage } from '../deployments/answers/posted.ts';
import { readHostMessage } from '../hosts/response-body.ts';
import { takeAndClaim, type CallContext } from '../queue-calls.ts';
import { renewClaim } from '../queues/claim.ts';
import { hostQueue, type HostQueue } from '../hosts/queues.ts';
import { firstMessage, isClaimed } from '../queues/queue.ts';

/** Three heartbeats of a host, which sends one every 30 seconds. */
export const brokerLeaseSeconds = 90;
/** Seconds by which a request outlives its claim. */
const graceSeconds = 60;
/** Seconds that an answer stays readable at least. */
const answerSeconds = 600;
/** The client that holds the claims of this bridge, on every replica. No client over HTTP can have this id. */
const brokerClient = 'broker';
/** The least interval between updates of the time when a host was heard. */
const seenStepMs = 5_000;

export interface BridgeOptions {
  readonly context: CallContext;
  readonly door: () => HostDoor | undefined;
  /** The name of the setting that limits the size of an answer. */
  readonly sizeSetting: string;
}

/** The way of requests and answers between the queues of hosts and the broker. */
export class HostBridge {
  readonly #options: BridgeOptions;
  readonly #serial = new Serial();
  readonly #offering = new Set<Promise<void>>();

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  /** Handles a message of a host (D2 of the door). Resolves with the reply; rejects when it may succeed later. */
  take(hostId: string, bytes: Uint8Array): Promise<JsonObject> {
    return this.#serial.run(hostId, async () => {
      try {
        return await this.#take(hostId, bytes);
      } catch (error) {
        if (kindOf(error) === 'retry') throw error;
        const failure = toFailure(error);
        this.#log.warn({ host: hostId, err: error }, 'message of a host refused');
        return { accepted: false, error: failure.message };
      }
    });
  }

  /** Offers the first request of a queue that has changed. Does nothing for a host that is not listening (G3). */
  offer(queue: HostQueue): void {
    const { host, role } = queue;
    if (!this.#options.door() || role !== 'requests' || !this.#isListening(host)) return;
    const offering = this.#serial
      .run(host.id, async () => {
        const { queues } = this.#options.context;
        const first = await firstMessage(queues, queue);
        if (first && !isClaimed(first, queues.now())) await this.#send(host);
      })
      .catch((error: unknown) => {
        this.#log.warn({ err: error, host: host.id }, 'request not offered over the broker; its host asks again');
      })
      .finally(() => this.#offering.delete(offering));
    this.#offering.add(offering);
  }

  /** Resolves when no request is being offered. */
  async idle(): Promise<void> {
    await Promise.all(this.#offering);
  }

  get #log() {
    return this.#options.context.service.log;
  }

  #isListening({ broker, status }: HostDocument): boolean {
    const since = this.#options.context.queues.now() - (broker?.seen_at ?? 0);
    return broker !== undefined && status === 'up' && since < brokerLeaseSeconds * 1000;
  }

  async #take(hostId: string, bytes: Uint8Array): Promise<JsonObject> {
    const { context } = this.#options;
    const host = await context.collections.hosts.get(hostId);
    if (!host?.broker || host.status === 'deleting') {
      throw new AnnealError('Unauthorized', `Host ${hostId} has no credentials for the broker any more.`); // G4
    }
    await this.#noteSeen(host);
    if (bytes.byteLength > context.queues.limits.post.most) return this.#refuseLong(host, bytes);
    const body = bodyOf(bytes);
    const read = readHostMessage(body);
    const message = read.ok ? read.message : undefined;
    if (message?.kind === 'hello' || message?.kind === 'progress') await handleMessage(context, host, { message });
    if (message?.kind === 'progress') {
      await hearOf(context, host);
      await this.#keep(host, message.progress.id);
    } else await this.#send(host, message?.kind === 'hello' ? undefined : { body, bytes });
    return { accepted: true };
  }

  async #noteSeen({ id, broker }: HostDocument): Promise<void> {
    const { collections, queues } = this.#options.context;
    const now = queues.now();
    if (now - (broker?.seen_at ?? 0) < seenStepMs) return;
    await change(collections.hosts, id, (current) =>
      current.broker ? { ...current, broker: { ...current.broker, seen_at: now } } : undefined,
    );
  }

  /** Takes an answer, if there is one, claims the first request and sends it. */
  async #send(host: HostDocument, answer?: { body: Json; bytes: Uint8Array }): Promise<void> {
    const { context, door } = this.#options;
    const claimed = await takeAndClaim(context, {
      // A message that is delivered again has the same id and counts as a repeat, so its answer is stored once.
      id: answer ? derivedId(`broker:${host.id}:${digestOf(answer.bytes)}`) : context.service.newId(),
      attempt: answer ? 2 : 1,
      data: {
        project: host.project,
        queue: hostQueue(host, 'requests').name,
        ttl: brokerLeaseSeconds,
        grace: graceSeconds,
        client_id: brokerClient,
        ...(answer && { answers: [{ body: answer.body, ttl: answerSeconds }] }),
      },
    });
    const [message] = claimed.messages;
    if (message) await door()?.push(host.id, JSON.stringify(message.body), brokerLeaseSeconds * 1000);
  }

  /** Renews the claim of the request that the host works on. Claims it again when the claim has expired. */
  async #keep(host: HostDocument, id: string): Promise<void> {
    const { context } = this.#options;
    const queue = hostQueue(host, 'requests');
    const first = await firstMessage(context.queues, queue);
    if (first?.id !== id) return;
    const lease = { ttl: brokerLeaseSeconds, grace: graceSeconds };
    if (!isClaimed(first, context.queues.now())) {
      const data = { project: host.project, queue: queue.name, ...lease, client_id: brokerClient };
      await takeAndClaim(context, { id: context.service.newId(), attempt: 1, data });
    } else if (first.claim_client === brokerClient && first.claim_id !== null) {
      await renewClaim(context.queues, { queue, claim_id: first.claim_id, ...lease });
    }
  }

  /** Fails the run that the message names, or else the request that the host works on: it would wait until its limit. */
  async #refuseLong(host: HostDocument, bytes: Uint8Array): Promise<JsonObject> {
    const { context, sizeSetting } = this.#options;
    const size = bytes.byteLength;
    const error = `Host ${host.name} sent a message of ${size} bytes over the broker; the limit is ${context.queues.limits.post.most} (${sizeSetting}). Shorten stdout, stderr and the outputs.`;
    const first = await firstMessage(context.queues, hostQueue(host, 'requests'));
    const named = await runNamedBy(context, host, { body: Buffer.from(bytes).toString() });
    const run = named ?? (first?.claim_client === brokerClient ? first.id : undefined);
    if (run !== undefined) {
      const failure = toFailure(new AnnealError('TooLarge', error));
      await takeInput(context, { run }, { kind: 'refused', host, failure });
    }
    this.#log.warn({ host: host.id, bytes: size }, 'message of a host dropped: it is too large');
    return { accepted: false, error };
  }
}

const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The JSON value, or the text itself where it cannot be read: the text is then refused like every other wrong form. */
function bodyOf(bytes: Uint8Array): Json {
  const text = Buffer.from(bytes).toString();
  const read = readGivenJson(text);
  return read.isRead ? (read.value as Json) : text;
}
