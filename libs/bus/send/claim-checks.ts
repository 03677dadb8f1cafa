/**
 * The records of claim checks: which message needs which blob, so that a blob is removed once no message needs it.
 *
 * K1 The record is stored before the blob, and the blob before the message is sent. A crash between them leaves a record,
 *    from which the blob is found and removed later.
 * K2 A blob is removed only a while after its message was settled as done, because a duplicate may follow. A message
 *    that is sent again brings its blob again.
 * K3 While a dead letter of the message exists, its blob exists too. A replay makes the message wait again.
 * K4 An event is done when every group that it matches is done with it. A group counts from its declaration on.
 * K5 A message that was neither settled nor died (its sender crashed, an operator purged the queue) is given up on when
 *    it is overdue and its queue is seen empty twice.
 * K6 Two messages with the same data share a blob. The last record to go removes it.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { changeOrInsert } from '@anneal/store/change.ts';
import { contentHash } from '@anneal/store/content-hash.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { groupQueue } from '../broker.ts';
import type { BusLog } from '../bus-log.ts';
import { matcherOf } from '../pattern.ts';
import type { DeadLetters, Queues } from '../port.ts';

/** Where a message goes. `once`: a question or an answer, which is gone when its requester no longer waits. */
export type Destination =
  | { readonly kind: 'queue'; readonly queue: string }
  | { readonly kind: 'event' }
  | { readonly kind: 'once'; readonly seals?: boolean };

/** A holder of copies of a message: a queue, or for an event the queue of a group. */
export type Holder = { readonly queue: string } | { readonly group: string };

/** The record of a message whose data is in the store. */
export interface ClaimCheckDocument extends Document {
  /** The hash of the blob. */
  readonly blob: string;
  readonly type: string;
  /** Null for an event, a question and an answer. */
  readonly queue: string | null;
  /** Milliseconds since the epoch, as all times here: when it was last sent or replayed. */
  readonly at: number;
  readonly done_at: number | null;
  /** The groups that are done with an event. */
  readonly done_by: readonly string[];
  /** Dead letters that it became, also those that are gone by now. A death counts as done. */
  readonly letters: readonly string[];
  readonly empty_since: number | null;
  /** When to look at it next. */
  readonly due: number;
}

/** A group of event listeners, and the time from which it counts for K4, in milliseconds since the epoch. */
export interface GroupDocument extends Document {
  readonly patterns: readonly string[];
  readonly declared_at: number;
}

/**
 * Keeps the data of large messages for as long as a message needs it (K1 to K6). Each call may be repeated, also by
 * another process.
 */
export interface ClaimChecks {
  /** Stores the data of a message that is about to be sent; returns the reference. */
  keep(message: Envelope, data: string, destination: Destination): Promise<string>;
  /** Notes that a copy of the message was settled. Never throws: a missing note only delays the removal. */
  done(id: string, holder: Holder): Promise<void>;
  /** Notes a dead letter that is about to be stored. */
  died(message: Envelope, letter: string, holder: Holder): Promise<void>;
  /** Notes that the letter is about to be sent again. */
  replaying(letter: string, message: Envelope, queue: string): Promise<void>;
  /** Notes a group, before its queue exists at the broker. */
  declareGroup(group: string, patterns: readonly string[]): Promise<void>;
  /** Removes the blobs that no message needs any more; returns their number. */
  sweep(): Promise<number>;
  stop(): Promise<void>;
}

/** How long data in the store is kept after its message is settled, in milliseconds. */
export const defaultKeepMs = 3_600_000;
/** How many times `keepMs` a message may wait before its queue is looked at. */
const overdueAfter = 24;
const sweepEveryMs = 600_000;
const sweptAtOnce = 200;
const lettersKept = 20;
/** Clocks of processes may differ by as much; and a repeated put of a blob is noted with this precision. */
const slackMs = 120_000;

interface Options {
  readonly store: Pick<Store, 'collection' | 'blobs'>;
  readonly queues: Pick<Queues, 'measure'>;
  readonly deadLetters: Pick<DeadLetters, 'show'>;
  readonly log: BusLog;
  readonly keepMs?: number | undefined;
  readonly now?: (() => number) | undefined;
}

type Fields = Omit<ClaimCheckDocument, 'id' | 'version'>;

interface Records {
  readonly open: () => Promise<{ checks: Collection<ClaimCheckDocument>; groups: Collection<GroupDocument> }>;
  /** Writes the record that `next` makes of the present one, also when another process writes at the same time. */
  readonly write: (id: string, next: (known: ClaimCheckDocument | undefined) => Fields | undefined) => Promise<void>;
}

/** Opens the collections at the first large message or sweep, so that a bus starts without the store. */
function createRecords(store: Pick<Store, 'collection'>): Records {
  let opening: ReturnType<Records['open']> | undefined;
  const open: Records['open'] = () => {
    opening ??= (async () => ({
      checks: await store.collection<ClaimCheckDocument>({
        name: 'bus_claim_checks',
        indexes: [{ fields: ['due'] }, { fields: ['blob'] }],
      }),
      groups: await store.collection<GroupDocument>({ name: 'bus_groups', indexes: [] }),
    }))().catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    open,
    async write(id, next) {
      const { checks } = await open();
      await changeOrInsert(checks, id, (known) => {
        const wanted = next(known);
        return wanted && { ...wanted, id };
      });
    },
  };
}

/** Removes the blobs that no message needs any more. */
function createSweep({
  records: { open },
  store: { blobs },
  queues,
  deadLetters,
  keepMs,
  now,
}: Pick<Options, 'store' | 'queues' | 'deadLetters'> & {
  records: Pick<Records, 'open'>;
  keepMs: number;
  now: () => number;
}): () => Promise<number> {
  /** Removes the record, and the blob unless another record names it (K6). */
  const remove = async (check: ClaimCheckDocument): Promise<boolean> => {
    const { checks } = await open();
    const putBefore = now() - Math.max(keepMs, slackMs) + slackMs / 2;
    const isShared = (await checks.count({ blob: check.blob })) > 1;
    const removed = isShared ? 0 : await blobs.remove([check.blob], putBefore);
    if (!(await checks.remove(check.id, check.version)) || !isShared) return removed > 0;
    // Another process may have removed the other record meanwhile.
    if ((await checks.count({ blob: check.blob })) > 0) return false;
    return (await blobs.remove([check.blob], putBefore)) > 0;
  };

  /** The groups that have yet to be done with an event. */
  const missingGroups = async ({ type, at, done_by: by }: ClaimCheckDocument): Promise<string[]> => {
    const all = await (await open()).groups.find({ where: {}, orderBy: ['id'] });
    return all
      .filter(
        ({ id, declared_at, patterns }) => declared_at <= at + slackMs && !by.includes(id) && matcherOf(patterns)(type),
      )
      .map(({ id }) => groupQueue(id));
  };

  const isEmpty = async (queue: string): Promise<boolean> => {
    const { depth, inFlight } = await queues.measure(queue);
    return depth + inFlight === 0;
  };

  /** The record with the time of the next look; undefined when no message needs the blob. */
  const later = async (check: ClaimCheckDocument): Promise<ClaimCheckDocument | undefined> => {
    const soon = { ...check, empty_since: null, due: now() + keepMs };
    for (const letter of check.letters) if (await deadLetters.show(letter)) return soon; // K3
    if (check.done_at !== null) return undefined;
    const holders = check.queue === null ? await missingGroups(check) : [check.queue];
    if (holders.length === 0) return undefined; // K4
    const overdue = check.at + overdueAfter * keepMs;
    if (now() < overdue) return { ...soon, due: overdue };
    for (const queue of holders) if (!(await isEmpty(queue))) return soon;
    if (check.empty_since === null) return { ...soon, empty_since: now() };
    return now() - check.empty_since < keepMs ? { ...soon, empty_since: check.empty_since } : undefined; // K5
  };

  return async (): Promise<number> => {
    const { checks } = await open();
    let removed = 0;
    const due = await checks.find({ where: { due: { lte: now() } }, orderBy: ['due'], limit: sweptAtOnce });
    for (const check of due) {
      const next = await later(check);
      if (next) await checks.replace(next, check.version);
      else if (await remove(check)) removed += 1;
    }
    return removed;
  };
}

/** The records of data in the store (K1 to K6). Opens its collections at the first large message. */
export function createClaimChecks(options: Options): ClaimChecks {
  const { store, log, keepMs = defaultKeepMs, now = Date.now } = options;
  const records = createRecords(store);
  const { open, write } = records;
  const sweep = createSweep({ ...options, records, keepMs, now });
  const times: Times = { keepMs, now };
  let running: Promise<unknown> = Promise.resolve();
  const timer = setInterval(
    () => {
      running = running
        .then(sweep)
        .catch((error: unknown) => log.warn({ err: error }, 'data of old messages not removed; trying again later'));
    },
    Math.max(1000, Math.min(sweepEveryMs, keepMs)),
  ).unref();
  return {
    async keep(message, data, destination) {
      // A line break before the JSON. Plans, files and environments never begin with one, so no blob of theirs is
      // removed in place of a claim check.
      const content = Buffer.from(`\n${data}`);
      const blob = await contentHash(content);
      const queue = destination.kind === 'queue' ? destination.queue : null;
      const id =
        destination.kind === 'once'
          ? `once/${message.id}`
          : recordId(message.id, queue === null ? { group: '' } : { queue });
      const once = destination.kind === 'once' && { done_at: now(), due: now() + keepMs };
      await write(id, (known) => ({
        ...waiting(times, { type: message.type, blob, queue }),
        ...once,
        letters: known?.letters ?? [],
      }));
      return store.blobs.put(content);
    },
    async done(id, holder) {
      try {
        await write(recordId(id, holder), (known) => known && settled(times, known, holder));
      } catch (error) {
        log.debug({ err: error, id }, 'the end of a large message was not noted; its data is removed later');
      }
    },
    died: (message, letter, holder) =>
      write(recordId(message.id, holder), (known) => {
        const { dataref } = message;
        const check =
          known ??
          (dataref === undefined
            ? undefined
            : waiting(times, { type: message.type, blob: dataref, queue: queueOf(holder) }));
        return check && { ...settled(times, check, holder), letters: [...check.letters, letter].slice(-lettersKept) };
      }),
    replaying: (letter, message, queue) => {
      const { dataref } = message;
      if (dataref === undefined) return Promise.resolve();
      const holder = holderOf(queue);
      return write(recordId(message.id, holder), (known) => ({
        ...waiting(times, { type: message.type, blob: dataref, queue: queueOf(holder) }),
        done_by: (known?.done_by ?? []).filter((each) => !('group' in holder) || each !== holder.group),
        letters: [...new Set([...(known?.letters ?? []), letter])].slice(-lettersKept),
      }));
    },
    async declareGroup(group, patterns) {
      const { groups } = await open();
      const known = await groups.get(group);
      if (known && known.patterns.join() === patterns.join()) return;
      const declared_at = known?.declared_at ?? now();
      await groups.bulk([{ kind: 'put', document: { id: group, patterns: [...patterns], declared_at } }]);
    },
    sweep,
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

interface Times {
  readonly keepMs: number;
  readonly now: () => number;
}

const waiting = ({ keepMs, now }: Times, about: Pick<Fields, 'type' | 'blob' | 'queue'>): Fields => ({
  ...about,
  at: now(),
  done_at: null,
  done_by: [],
  letters: [],
  empty_since: null,
  due: now() + overdueAfter * keepMs,
});

/** K2, K4: the next look is after the time for duplicates, and finds out whether other groups still need it. */
const settled = ({ keepMs, now }: Times, check: Fields, holder: Holder): Fields => ({
  ...check,
  ...('queue' in holder ? { done_at: now() } : { done_by: [...new Set([...check.done_by, holder.group])] }),
  due: now() + keepMs,
});

const groupPrefix = groupQueue('');
/** The holder of the messages in a queue of the broker. */
export const holderOf = (queue: string): Holder =>
  queue.startsWith(groupPrefix) ? { group: queue.slice(groupPrefix.length) } : { queue };
const queueOf = (holder: Holder): string | null => ('queue' in holder ? holder.queue : null);
const recordId = (id: string, holder: Holder): string =>
  'queue' in holder ? `queue/${holder.queue}/${id}` : `event/${id}`;
