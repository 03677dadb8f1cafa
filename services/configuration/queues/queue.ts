/**
 * Adds, reads and removes messages of queues.
 *
 * Q1 Messages of a queue are ordered by a sequence number, which is assigned by compare-and-set on the queue.
 * Q2 A message that is added twice under one id exists once.
 * Q3 A message past its time to live is invisible, whether or not it has been swept.
 * Q4 A delayed message is neither claimed nor popped nor listed before its time. It does not delay those behind it.
 */
import { isUuid } from '@anneal/contracts/readers/uuid.ts';
import type { QueueMessage, QueueView } from '@anneal/contracts/calls/queues.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { Recent } from '@anneal/runtime/work/recent.ts';
import type { Serial } from '@anneal/runtime/work/serial.ts';
import { change } from '@anneal/store/change.ts';
import { DuplicateError } from '@anneal/store/port.ts';
import type { ConfigurationCollections, MessageDocument, QueueDocument } from '../collections.ts';
import { admissionOfQueue, isQuotaRefusal, refuseMessages, type QueueLimits } from './limits.ts';
import { defaultDelay, defaultTtl, refuseLargePost } from './reserved-metadata.ts';
import type { MessageQueue } from './message-queue.ts';
import type { PutsByQueue } from './waiting-puts.ts';

export interface QueueContext {
  readonly collections: ConfigurationCollections;
  readonly secrets: Secrets;
  /** Avoids collisions between the requests of one process. */
  readonly serial: Serial;
  /** The messages that wait to be stored, by queue. */
  readonly puts: PutsByQueue;
  /** The queues without limits as this process last wrote them. The version says whether one is still current. */
  readonly cachedQueues: Recent<QueueDocument>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Wakes the clients that wait at these queues, because there may be messages to claim. */
  readonly wake: (...queues: readonly MessageQueue[]) => Promise<void>;
  /** Reports that the removal of another message made this one the first in a strict queue. */
  readonly onFirst: (queue: MessageQueue, message: MessageDocument) => Promise<void>;
  /** Limits of users' queues. */
  readonly limits: QueueLimits;
  /** The id of a strict queue that the caller claims from next. Then nothing reports its new first message before. */
  readonly claimedNext?: string;
}

export const unclaimed = {
  claim_id: null,
  claim_client: null,
  claimed_at: 0,
  claim_expires_at: 0,
  claim_ttl: 0,
  claim_count: 0,
} as const;
const page = 100;

/**
 * Moves a message to the end of a strict queue, in one write. No client has it afterwards. False when another
 * process changed it meanwhile.
 */
export function moveToEnd(context: QueueContext, queue: MessageQueue, message: MessageDocument): Promise<boolean> {
  return context.serial.run(`put ${queue.id}`, async () => {
    const added = { messages: 1, bytes: Buffer.byteLength(JSON.stringify(message.body)) };
    const { next: sequence, bytes: bytes_before } = await reserve(context, queue, { added, limits: undefined });
    const { first_at: _, taken_at: _taken, ...rest } = message;
    const moved = { ...rest, ...unclaimed, claim_count: message.claim_count, sequence, bytes_before };
    return (await context.collections.messages.replace(moved, message.version)) !== undefined;
  });
}

interface Room {
  readonly added: { readonly messages: number; readonly bytes: number };
  /** Limits of users' queues. */
  readonly limits: QueueLimits | undefined;
}

/** The first reserved number, the bytes that the queue had before, and its defaults. */
export interface Reserved {
  readonly next: number;
  readonly bytes: number;
  readonly delay: number;
  readonly ttl: number;
}

/** Reserves sequence numbers in several queues: in those without limits with one write. */
export async function reserveEach(
  context: QueueContext,
  wanted: readonly (Room & { readonly queue: MessageQueue })[],
): Promise<Reserved[]> {
  const [only, ...others] = wanted;
  if (only && others.length === 0) return [await reserve(context, only.queue, only)];
  const { queues } = context.collections;
  const together = wanted.filter(({ queue }) => queue.kind !== 'open');
  const unknown = together.flatMap(({ queue }) => (context.cachedQueues.get(queue.id) ? [] : [queue.id]));
  const read = unknown.length > 0 ? await queues.getMany(unknown) : [];
  for (const document of read) context.cachedQueues.set(document.id, document);
  const changes = together.flatMap(({ queue, added }) => {
    const before = context.cachedQueues.get(queue.id);
    return before ? [{ before, after: withRoomFor(before, added) }] : [];
  });
  const outcomes = await queues.bulk(
    changes.map(({ before, after }) => ({ kind: 'replace', document: after, version: before.version })),
  );
  const reserved = new Map<string, Reserved>();
  for (const [index, { before, after }] of changes.entries()) {
    if (outcomes[index] !== 'done') continue;
    context.cachedQueues.set(after.id, { ...after, version: before.version + 1 });
    reserved.set(after.id, reservedIn(before, false));
  }
  // A queue that does not exist yet, and one that another replica wrote meanwhile.
  return Promise.all(
    wanted.map(async ({ queue, ...room }) => reserved.get(queue.id) ?? (await reserve(context, queue, room))),
  );
}

const withRoomFor = (queue: QueueDocument, { messages, bytes }: Room['added']): QueueDocument => ({
  ...queue,
  next: queue.next + messages,
  bytes: (queue.bytes ?? 0) + bytes,
});

const reservedIn = ({ next, bytes = 0, metadata }: QueueDocument, isOpen: boolean): Reserved => ({
  next,
  bytes,
  delay: isOpen ? defaultDelay(metadata) : 0,
  ttl: defaultTtl(isOpen ? metadata : {}),
});

/** Reserves sequence numbers. */
export async function reserve(context: QueueContext, queue: MessageQueue, { added, limits }: Room): Promise<Reserved> {
  const { queues } = context.collections;
  let inHand = queue.kind !== 'open' ? context.cachedQueues.get(queue.id) : undefined;
  const read = async (): Promise<QueueDocument> => {
    if (inHand) {
      const known = inHand;
      inHand = undefined;
      return known;
    }
    const known = await queues.get(queue.id);
    return known ?? (await (limits ? makeOwnQueue(context, limits, queue) : makeQueue(context, queue, {}))).queue;
  };
  let before: Reserved = { next: 0, bytes: 0, delay: 0, ttl: 0 };
  const { document } = await change(queues, read, async (known) => {
    before = reservedIn(known, queue.kind === 'open');
    if (limits) {
      refuseLargePost(known, added.bytes);
      const oldest = await firstMessage(context, queue);
      await refuseMessages(context.collections, limits, { queue: known, oldest, added });
    }
    return withRoomFor(known, added);
  });
  if (document && queue.kind !== 'open') context.cachedQueues.set(queue.id, document);
  return before;
}

/** Creates a user's queue within the quota of its project, or returns the one there is. @throws AnnealError QuotaExceeded */
export async function makeOwnQueue(
  context: QueueContext,
  limits: QueueLimits,
  queue: MessageQueue & { metadata?: JsonObject | undefined },
): Promise<{ created: boolean; queue: QueueDocument }> {
  const known = await context.collections.queues.get(queue.id);
  if (known) return { created: false, queue: known };
  const { project, metadata = {} } = queue;
  const admission = admissionOfQueue(context.collections, project);
  try {
    return await limits.admitQueue(project, admission, () => makeQueue(context, queue, metadata));
  } catch (error) {
    // A simultaneous request may have made it, and reached the limit.
    const made = isQuotaRefusal(error) ? await context.collections.queues.get(queue.id) : undefined;
    if (made) return { created: false, queue: made };
    throw error;
  }
}

export async function makeQueue(context: QueueContext, queue: MessageQueue, metadata: JsonObject) {
  const { queues } = context.collections;
  try {
    const made = await queues.insert({
      id: queue.id,
      project: queue.project,
      name: queue.name,
      metadata,
      next: 1,
      host_id: queue.owner,
    });
    return { created: true, queue: made };
  } catch (error) {
    const known = error instanceof DuplicateError ? await queues.get(queue.id) : undefined;
    if (!known) throw error;
    return { created: false, queue: known };
  }
}

/** The messages of a queue in order, page by page, without expired ones. */
export async function* messagesInOrder(
  context: QueueContext,
  queue: MessageQueue,
  options: { after?: number; pageSize?: number } = {},
): AsyncGenerator<MessageDocument> {
  const limit = options.pageSize ?? page;
  for (let after = options.after ?? 0; ;) {
    const found = await context.collections.messages.find({
      where: { queue: queue.id, sequence: { gt: after } },
      orderBy: ['sequence'],
      limit,
    });
    for (const message of found) {
      if (message.expires_at > context.now()) yield message;
      after = message.sequence;
    }
    if (found.length < limit) return;
  }
}

export const isClaimed = (message: MessageDocument, now: number): boolean =>
  message.claim_id !== null && message.claim_expires_at > now;

/** Q4 */
export const isDelayed = ({ delayed_until: until = 0 }: MessageDocument, now: number): boolean => until > now;

/** True when secrets must be hidden: only its owner sees the secrets in a strict queue. */
export const hidesSecrets = ({ kind, owner }: MessageQueue, asker: string | undefined): boolean =>
  kind === 'processed' || (kind === 'strict' && asker !== owner);

/** A copy of a seal that a sender wrote is no secret, so it stays as written. */
const masked = (secrets: Secrets, body: Json): Json =>
  secrets.replaceSeals(body, (content) => (secrets.isSealed(content) ? content : '******'));

/** The message as it is handed out: secrets open unless they are hidden, age in seconds. */
export function shownMessage(
  { secrets, now: clock }: QueueContext,
  message: MessageDocument,
  { isHidden = false }: { isHidden?: boolean } = {},
): QueueMessage {
  const now = clock();
  return {
    id: message.id,
    body: isHidden ? masked(secrets, message.body) : secrets.open(message.body),
    ttl: message.ttl,
    age: Math.max(0, Math.floor((now - message.created_at) / 1000)),
    created_at: new Date(message.created_at).toISOString(),
    claim_id: isClaimed(message, now) ? message.claim_id : null,
    claim_count: message.claim_count,
  };
}

export async function listMessages(
  context: QueueContext,
  options: {
    queue: MessageQueue;
    ids?: readonly string[] | undefined;
    limit: number;
    marker?: string | undefined;
    include_claimed: boolean;
    include_delayed?: boolean | undefined;
    /** Whether a message may be handed out now. Absent: all are shown. */
    mayBegin?: ((message: MessageDocument) => Promise<boolean>) | undefined;
    echo: boolean;
    client_id: string;
    host_id?: string | undefined;
  },
): Promise<{ messages: QueueMessage[]; marker: string | null }> {
  const { queue, ids, limit, marker } = options;
  const now = context.now();
  const isHidden = hidesSecrets(queue, options.host_id);
  if (ids) {
    const found = await context.collections.messages.getMany(ids);
    const here = found.filter((message) => message.queue === queue.id && message.expires_at > now);
    return { messages: here.map((message) => shownMessage(context, message, { isHidden })), marker: null };
  }
  const after = await positionOf(context, queue, marker);
  if (after === undefined) return { messages: [], marker: marker ?? null };
  const messages: MessageDocument[] = [];
  for await (const message of messagesInOrder(context, queue, { after })) {
    if (!options.echo && message.client_id === options.client_id) continue;
    if (!options.include_claimed && isClaimed(message, now)) continue;
    if (options.include_delayed !== true && isDelayed(message, now)) continue;
    if (options.mayBegin && !(await options.mayBegin(message))) break;
    messages.push(message);
    if (messages.length >= limit) break;
  }
  return {
    messages: messages.map((message) => shownMessage(context, message, { isHidden })),
    // An empty page keeps its marker, so that a poller does not start from the beginning again.
    marker: messages.at(-1)?.sequence.toString() ?? marker ?? null,
  };
}

/** The position of a marker, which is that of a page or the id of its last message. Undefined for a removed message. */
async function positionOf(
  context: QueueContext,
  queue: MessageQueue,
  marker: string | undefined,
): Promise<number | undefined> {
  if (marker === undefined) return 0;
  if (isUuid(marker.toLowerCase())) {
    const message = await context.collections.messages.get(marker);
    return message?.queue === queue.id ? message.sequence : undefined;
  }
  const after = Number(marker);
  if (/^\d+$/.test(marker) && Number.isSafeInteger(after)) return after;
  throw new AnnealError('InvalidRequest', `The marker ${marker} does not come from a list of messages.`, {
    mistakes: [
      {
        code: 'InvalidMarker',
        path: 'marker',
        message: 'use the marker of the previous page, or the id of its last message',
      },
    ],
  });
}

/** @throws AnnealError Forbidden or InvalidRequest, as in Zaqar, for a message whose claim is not given. */
export function checkClaim(
  messages: readonly MessageDocument[],
  { claim_id, now }: { claim_id?: string | undefined; now: number },
): void {
  for (const message of messages) {
    if (claim_id !== undefined && (message.claim_id !== claim_id || !isClaimed(message, now))) {
      throw new AnnealError('InvalidRequest', 'The specified claim does not exist or has expired.');
    }
    if (claim_id === undefined && isClaimed(message, now)) {
      throw new AnnealError('Forbidden', 'This message is claimed; it cannot be deleted without a valid claim ID.');
    }
  }
}

/** Absent is success. @throws AnnealError as `checkClaim` does. */
export async function removeMessages(
  context: QueueContext,
  options: { queue: MessageQueue; ids: readonly string[]; claim_id?: string | undefined },
): Promise<void> {
  const { queue, ids, claim_id } = options;
  const found = await context.collections.messages.getMany(ids);
  const here = found.filter((message) => message.queue === queue.id);
  checkClaim(here, { claim_id, now: context.now() });
  if (here.length === 0) return;
  await context.collections.messages.bulk(here.map(({ id, version }) => ({ kind: 'remove', id, version })));
  await wakeNext(context, queue);
}

/** Removes a message even when it is claimed, because its work is done or no longer needed. */
export async function dropMessage(context: QueueContext, queue: MessageQueue, id: string): Promise<void> {
  if (await context.collections.messages.remove(id)) await wakeNext(context, queue);
}

/** Reports the new first message after a removal from a strict queue. */
export async function wakeNext(context: QueueContext, queue: MessageQueue): Promise<void> {
  if (queue.kind !== 'strict' || queue.id === context.claimedNext) return;
  const next = await firstMessage(context, queue);
  if (!next) return;
  await context.onFirst(queue, next);
  await context.wake(queue);
}

export async function firstMessage(context: QueueContext, queue: MessageQueue): Promise<MessageDocument | undefined> {
  const [first] = await firstMessages(context, queue, 1);
  return first;
}

/** At most `most` messages, in order, without expired ones. */
export async function firstMessages(
  context: QueueContext,
  queue: MessageQueue,
  most: number,
): Promise<MessageDocument[]> {
  const found: MessageDocument[] = [];
  for await (const message of messagesInOrder(context, queue, { pageSize: most })) {
    found.push(message);
    if (found.length === most) break;
  }
  return found;
}

/** Removes messages permanently. */
export async function popMessages(context: QueueContext, queue: MessageQueue, count: number): Promise<QueueMessage[]> {
  const { messages } = context.collections;
  const popped: QueueMessage[] = [];
  for await (const message of messagesInOrder(context, queue)) {
    const now = context.now();
    const free = !isClaimed(message, now) && !isDelayed(message, now);
    if (free && (await messages.remove(message.id, message.version))) popped.push(shownMessage(context, message));
    if (popped.length >= count) break;
  }
  return popped;
}

export async function viewQueue(context: QueueContext, queue: MessageQueue): Promise<QueueView | undefined> {
  const { queues, messages } = context.collections;
  const now = context.now();
  const [document, total, held, [oldest]] = await Promise.all([
    queues.get(queue.id),
    messages.count({ queue: queue.id }),
    messages.find({ where: { queue: queue.id, claim_id: { gt: '' } } }),
    messages.find({ where: { queue: queue.id }, orderBy: ['sequence'], limit: 1 }),
  ]);
  if (!document) return undefined;
  const claimed = held.filter((message) => isClaimed(message, now)).length;
  return {
    name: queue.name,
    metadata: document.metadata,
    total,
    claimed,
    free: total - claimed,
    oldest_age: oldest ? Math.max(0, Math.floor((now - oldest.created_at) / 1000)) : null,
    host_id: queue.owner ?? document.host_id,
    post_bytes: context.limits.post.most,
    received: document.next - 1,
    ...(document.notifies === true && { notifies: true }),
  };
}

/** The view of a queue that its first message will create. */
export const viewOfAbsent = ({ limits }: QueueContext, { name, owner }: MessageQueue): QueueView => ({
  name,
  metadata: {},
  total: 0,
  claimed: 0,
  free: 0,
  oldest_age: null,
  host_id: owner,
  post_bytes: limits.post.most,
});

export async function removeQueue(context: QueueContext, queue: MessageQueue): Promise<void> {
  await purgeMessages(context, queue);
  await context.collections.queues.remove(queue.id);
}

export async function purgeMessages(context: QueueContext, queue: MessageQueue): Promise<void> {
  const { messages } = context.collections;
  for (;;) {
    const some = await messages.find({ where: { queue: queue.id }, limit: page });
    if (some.length === 0) return;
    await messages.bulk(some.map(({ id }) => ({ kind: 'remove', id })));
  }
}

/** Removes expired messages. */
export async function sweepMessages(context: QueueContext): Promise<void> {
  const { messages } = context.collections;
  for (;;) {
    const over = await messages.find({ where: { expires_at: { lte: context.now() } }, limit: page });
    if (over.length === 0) return;
    await messages.bulk(over.map(({ id, version }) => ({ kind: 'remove', id, version })));
    if (over.length < page) return;
  }
}
