/**
 * Adds messages to queues.
 *
 * P1 Messages that arrive together for one queue are stored together, in the order of the calls: three round trips to the
 *    store, however many calls wait. So a busy queue does not make its senders wait for each other.
 * P2 When the limits of a queue refuse a group, each call of the group is decided alone, in order.
 */
import type { MessageDocument } from '../collections.ts';
import { reserveEach, unclaimed, type QueueContext, type Reserved } from './queue.ts';
import type { NewMessage, Put, PutOutcome } from './waiting-puts.ts';

/** Returns the messages as stored in the queue, including those that already existed. */
export async function putMessages(context: QueueContext, put: Put): Promise<MessageDocument[]> {
  const { queue } = put;
  const outcome = await context.puts.run(queue.id, put, (puts) =>
    context.serial.run(`put ${queue.id}`, () => storeAll(context, puts)),
  );
  if ('error' in outcome) throw outcome.error;
  return outcome.stored;
}

/** Stores the messages of calls for different queues without limits together. Returns those of each call, as `putMessages` does. */
export function putInEach(context: QueueContext, puts: readonly Put[]): Promise<MessageDocument[][]> {
  const [only, ...others] = puts;
  if (only && others.length === 0) return putMessages(context, only).then((stored) => [stored]);
  return context.serial.runAll(
    puts.map(({ queue }) => `put ${queue.id}`),
    () => store(context, puts),
  );
}

/** P2 */
async function storeAll(context: QueueContext, puts: readonly Put[]): Promise<PutOutcome[]> {
  try {
    return (await store(context, puts)).map((stored) => ({ stored }));
  } catch (error) {
    const isLimited = puts.some(({ limits }) => limits !== undefined);
    if (puts.length === 1 || !isLimited) return puts.map(() => ({ error }));
    const outcomes: PutOutcome[] = [];
    for (const put of puts) outcomes.push(...(await storeAll(context, [put])));
    return outcomes;
  }
}

/** Stores the messages of calls. */
async function store(context: QueueContext, puts: readonly Put[]): Promise<MessageDocument[][]> {
  const { messages } = context.collections;
  const toFind = puts.flatMap((put) => (put.isNew ? [] : put.messages.map(({ id }) => id)));
  const found = toFind.length === 0 ? [] : await messages.getMany(toFind);
  const known = new Map(found.map((message) => [message.id, message]));
  const missing = new Map<string, Part>();
  for (const put of puts) {
    for (const message of put.messages) {
      if (known.has(message.id) || missing.has(message.id)) continue;
      missing.set(message.id, { put, message, size: Buffer.byteLength(JSON.stringify(message.body)) });
    }
  }
  if (missing.size > 0) {
    const byQueue = [...Map.groupBy(missing.values(), ({ put }) => put.queue.id).values()];
    const reserved = await reserveEach(context, byQueue.map(roomFor));
    const now = context.now();
    const documents = byQueue.flatMap((parts, index) => documentsOf(parts, reserved[index] as Reserved, now));
    const outcomes = await messages.bulk(documents.map((document) => ({ kind: 'insert', document })));
    const inserted = outcomes.every((outcome) => outcome === 'done')
      ? documents.map((document) => ({ ...document, version: 1 }))
      : await messages.getMany([...missing.keys()]);
    for (const message of inserted) known.set(message.id, message);
  }
  return puts.map((put) =>
    put.messages.flatMap(({ id }) => known.get(id) ?? []).toSorted((a, b) => a.sequence - b.sequence),
  );
}

interface Part {
  readonly put: Put;
  readonly message: NewMessage;
  /** Bytes of its body. */
  readonly size: number;
}

function roomFor(parts: readonly Part[]) {
  const [{ put }] = parts as readonly [Part];
  const added = { messages: parts.length, bytes: parts.reduce((sum, { size }) => sum + size, 0) };
  return { queue: put.queue, limits: put.limits, added };
}

/** The documents of new messages, in order behind what their queue has received. */
function documentsOf(
  parts: readonly Part[],
  reserved: Reserved,
  created_at: number,
): Omit<MessageDocument, 'version'>[] {
  let { bytes } = reserved;
  return parts.map(({ put, message, size }, index) => {
    const { queue, client_id, mostDefaultTtl = Infinity, handled = false } = put;
    const { id, body, ttl = Math.min(reserved.ttl, mostDefaultTtl), delay = reserved.delay, first_at, after } = message;
    const bytes_before = bytes;
    bytes += size;
    return {
      bytes_before,
      id,
      queue: queue.id,
      sequence: reserved.next + index,
      body,
      client_id,
      ttl,
      created_at,
      expires_at: created_at + ttl * 1000,
      ...(first_at !== undefined && { first_at }),
      ...(after !== undefined && { after }),
      ...(delay > 0 && { delayed_until: created_at + delay * 1000 }),
      ...unclaimed,
      handled: queue.kind === 'processed' ? handled : null,
    };
  });
}
