/**
 * Claims: leases of messages for a limited time.
 *
 * C1 When two clients claim the same message, one gets it: the message is replaced only in the version that was read.
 * C2 A strict queue, such as that of the requests of a host, offers its first messages in order (one, unless its client
 *    takes a batch), and nothing while the first is claimed.
 * C3 An expired claim frees its messages without further action, because every read compares it with the clock.
 * C4 A client that holds the head of a strict queue and claims again has lost its answer or was restarted. It gets the
 *    message again under a new claim at once, instead of waiting for its own claim to expire.
 * C5 A request that was claimed, and replaced by a newer one before its claim expired, is not offered again. C4 goes
 *    first: a host that may have started the request gets it again, and ends it before it starts another one.
 * C6 In a batch, only the first message counts as taken. So the time limits of the others begin in their turn, and those
 *    that the host does not start are withdrawn by C5.
 * C7 A request with `after` is handed out when those deployments have completed, or behind their current requests in the
 *    same batch. When it is the first, and one of them has a newer request, it moves behind that one.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { MessageDocument } from '../collections.ts';
import { claimBounds, type ClaimBounds } from './reserved-metadata.ts';
import {
  dropMessage,
  firstMessages,
  isClaimed,
  isDelayed,
  messagesInOrder,
  moveToEnd,
  type QueueContext,
} from './queue.ts';
import { openQueue, type MessageQueue } from './message-queue.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { putMessages } from './put.ts';

export interface ClaimRequest {
  readonly queue: MessageQueue;
  readonly claim_id: string;
  readonly client_id: string | null;
  /** Seconds. */
  readonly ttl: number;
  /** Seconds by which messages outlive the claim. */
  readonly grace: number;
  readonly limit: number;
  /** The most messages of a strict queue to claim at once. Default 1. */
  readonly batch?: number;
  /** False at the first attempt of the call: then no earlier attempt can have claimed. */
  readonly isRepeat?: boolean;
  /** C7: whether a request may be handed out behind those in the batch. Absent: no message has `after`. */
  readonly mayBegin?: (message: MessageDocument, batch: readonly MessageDocument[]) => Promise<boolean>;
  /** True when the first message of a strict queue was claimed before, is free again and belongs to a replaced run. */
  readonly isReplaced?: (message: MessageDocument) => Promise<boolean>;
}

/** The outcome of a claim. */
interface Claimed {
  readonly messages: readonly MessageDocument[];
  /** True when the queue had no message at all, also none that another client holds. */
  readonly isEmpty: boolean;
}

const noneFree: Claimed = { messages: [], isEmpty: false };

export function claimMessages(context: QueueContext, request: ClaimRequest): Promise<Claimed> {
  const { queue, claim_id, limit } = request;
  return context.serial.run(`claim ${queue.id}`, async () => {
    // The call may repeat one whose answer was lost.
    const before = request.isRepeat === false ? [] : await messagesOf(context, queue, claim_id);
    if (before.length > 0) return { messages: before, isEmpty: false };
    if (queue.kind === 'strict') return claimHead(context, request);
    return { messages: await claimFree(context, request, limit), isEmpty: false };
  });
}

/** The most bytes of the messages behind the first, so that the answer to the claim is one message of the bus. */
const batchBytes = 128 * 1024;

async function claimHead(context: QueueContext, request: ClaimRequest): Promise<Claimed> {
  const moved = new Set<string>();
  for (;;) {
    const [head, ...rest] = await firstMessages(context, request.queue, request.batch ?? 1);
    if (!head) return { messages: [], isEmpty: true };
    if (!isOffered(context, head, request)) return noneFree;
    if (await isWithdrawn(head, request)) {
      await dropMessage(context, request.queue, head.id); // C5
      continue;
    }
    if (!(await mayBegin(head, [], request))) {
      if (moved.has(head.id) || !(await hasOthers(context, request.queue))) return noneFree;
      moved.add(head.id);
      await moveToEnd(context, request.queue, head); // C7
      continue;
    }
    const first = await take(context, head, request);
    if (!first) continue;
    return { messages: [first, ...(await claimRest(context, { first, rest }, request))], isEmpty: false };
  }
}

const mayBegin = async (
  message: MessageDocument,
  batch: readonly MessageDocument[],
  { mayBegin: judge }: ClaimRequest,
): Promise<boolean> => message.after === undefined || judge === undefined || judge(message, batch);

const hasOthers = async (context: QueueContext, queue: MessageQueue): Promise<boolean> =>
  (await firstMessages(context, queue, 2)).length > 1;

/** Claims the messages behind the first, up to one that is not free or no longer wanted. */
async function claimRest(
  context: QueueContext,
  { first, rest }: { first: MessageDocument; rest: readonly MessageDocument[] },
  request: ClaimRequest,
): Promise<MessageDocument[]> {
  const batch: MessageDocument[] = [];
  let bytes = 0;
  for (const message of rest) {
    bytes += Buffer.byteLength(JSON.stringify(message.body));
    if (bytes > batchBytes || !isOffered(context, message, request) || (await isWithdrawn(message, request))) break;
    if (!(await mayBegin(message, [first, ...batch], request))) break;
    batch.push(takenBy(context, message, { ...request, isFirst: false }));
  }
  if (batch.length === 0) return [];
  const outcomes = await context.collections.messages.bulk(
    batch.map((document) => ({ kind: 'replace', document, version: document.version })),
  );
  // A message that was withdrawn meanwhile is left out, and the order of the others stays.
  return batch
    .filter((_, index) => outcomes[index] === 'done')
    .map((message) => ({ ...message, version: message.version + 1 }));
}

const isHeldBy = ({ claim_client, claim_id }: MessageDocument, request: ClaimRequest): boolean =>
  claim_id === request.claim_id || (request.client_id !== null && claim_client === request.client_id);

const isOffered = (context: QueueContext, message: MessageDocument, request: ClaimRequest): boolean =>
  !isClaimed(message, context.now()) || isHeldBy(message, request);

/** C4, C5, C6: a message that its holder may have started is never withdrawn. */
async function isWithdrawn(message: MessageDocument, request: ClaimRequest): Promise<boolean> {
  const mayRun = isHeldBy(message, request) && message.taken_at !== undefined;
  return message.claim_count > 0 && !mayRun && (await request.isReplaced?.(message)) === true;
}

async function claimFree(context: QueueContext, request: ClaimRequest, limit: number): Promise<MessageDocument[]> {
  const taken: MessageDocument[] = [];
  const bounds = claimBounds((await context.collections.queues.get(request.queue.id))?.metadata ?? {});
  for await (const message of messagesInOrder(context, request.queue)) {
    const now = context.now();
    if (isClaimed(message, now) || isDelayed(message, now)) continue;
    if (bounds && message.claim_count >= bounds.most) {
      await moveToDeadLetters(context, { from: request.queue, message, ...bounds });
      continue;
    }
    const claimed = await take(context, message, request);
    if (claimed) taken.push(claimed);
    if (taken.length >= limit) break;
  }
  return taken;
}

const take = (
  context: QueueContext,
  message: MessageDocument,
  request: ClaimRequest,
): Promise<MessageDocument | undefined> =>
  context.collections.messages.replace(takenBy(context, message, { ...request, isFirst: true }), message.version);

function takenBy(
  context: QueueContext,
  message: MessageDocument,
  { claim_id, client_id, ttl, grace, isFirst }: ClaimRequest & { isFirst: boolean },
): MessageDocument {
  const now = context.now();
  return {
    ...message,
    claim_id,
    claim_client: client_id,
    claimed_at: now,
    claim_ttl: ttl,
    claim_expires_at: now + ttl * 1000,
    claim_count: message.claim_count + 1,
    ...(isFirst && { taken_at: message.taken_at ?? now }),
    expires_at: Math.max(message.expires_at, now + (ttl + grace) * 1000),
  };
}

/** The messages that a live claim holds. Empty when the claim was released or has expired. */
export async function messagesOf(
  context: QueueContext,
  queue: MessageQueue,
  claim_id: string,
): Promise<MessageDocument[]> {
  const found = await context.collections.messages.find({
    where: { queue: queue.id, claim_id },
    orderBy: ['sequence'],
  });
  const now = context.now();
  return found.filter((message) => isClaimed(message, now));
}

/** @throws AnnealError NotFound when the claim was released or has expired. */
export async function liveClaim(
  context: QueueContext,
  queue: MessageQueue,
  claim_id: string,
): Promise<MessageDocument[]> {
  const held = await messagesOf(context, queue, claim_id);
  if (held.length > 0) return held;
  throw new AnnealError(
    'NotFound',
    `Claim ${claim_id} does not exist in queue ${queue.name} for project ${queue.project}`,
  );
}

/** @throws AnnealError NotFound */
export async function renewClaim(
  context: QueueContext,
  options: { queue: MessageQueue; claim_id: string; ttl: number; grace?: number | undefined },
): Promise<void> {
  const { queue, claim_id, ttl, grace = 60 } = options;
  const held = await liveClaim(context, queue, claim_id);
  const now = context.now();
  await context.collections.messages.bulk(
    held.map((message) => ({
      kind: 'replace',
      version: message.version,
      document: {
        ...message,
        claimed_at: now,
        claim_ttl: ttl,
        claim_expires_at: now + ttl * 1000,
        expires_at: Math.max(message.expires_at, now + (ttl + grace) * 1000),
      },
    })),
  );
}

/** Releases a claim. Releasing an unknown claim is harmless. */
export async function releaseClaim(context: QueueContext, queue: MessageQueue, claim_id: string): Promise<void> {
  const held = await messagesOf(context, queue, claim_id);
  if (held.length === 0) return;
  await context.collections.messages.bulk(
    held.map((message) => ({
      kind: 'replace',
      version: message.version,
      document: { ...message, claim_id: null, claim_client: null, claim_expires_at: 0 },
    })),
  );
  await context.wake(queue);
}

/**
 * Adds the message to the other queue before removing it here. Its id there is derived, so a repeat adds no second one.
 */
async function moveToDeadLetters(
  context: QueueContext,
  options: ClaimBounds & { from: MessageQueue; message: MessageDocument },
): Promise<void> {
  const { from, message, deadLetterQueue, ttl } = options;
  const queue = openQueue(from.project, deadLetterQueue);
  const messages = [{ id: derivedId(`dead:${message.id}`, 'a'), body: message.body, ttl: ttl ?? message.ttl }];
  await putMessages(context, { queue, client_id: message.client_id, messages });
  await context.collections.messages.remove(message.id);
  await context.wake(queue);
}
