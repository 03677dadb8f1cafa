/**
 * The log of events, in the order in which they were stored.
 *
 * L1 Sequence numbers have no gaps: a number is used only when the previous one is in the store, so that a reader that
 *    has seen n never finds a smaller one later.
 * L2 An event is stored once, by its id, however often it arrives.
 * L3 When two writers use the same number, one is refused and takes the next.
 * L4 An event is removed only after each subscription that has not read it has counted it as dropped.
 * L5 Events are stored in the order of the calls. One that cannot be stored now delays those behind it, so that the
 *    order of a subject stays; one that never can is refused alone.
 */
import { uuidSource } from '@anneal/contracts/readers/uuid.ts';
import { isoMoment } from '@anneal/contracts/readers/moment.ts';
import { setTimeout as delay } from 'node:timers/promises';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { defaultBackoff } from '@anneal/bus/connect/backoff.ts';
import { AnnealError, isUnknown, kindOf } from '@anneal/contracts/errors.ts';
import type { EventGap } from '@anneal/contracts/calls/subscriptions.ts';
import { matcherOf } from '@anneal/bus/pattern.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { parseFilters, type EventPredicate } from './event-filter.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { RecentEvents } from './recent-events.ts';

export interface EventDocument extends Document {
  readonly sequence: number;
  readonly project: string;
  readonly event: Envelope;
}

export interface Filter {
  readonly types: readonly string[];
  readonly subject_prefix: string;
  /** In the dialects of the CloudEvents Subscriptions API; an event must pass all. Absent: none. */
  readonly filters?: readonly Json[] | undefined;
}

/** Every id of an event is a UUID or contains one. */
const uuid = new RegExp(uuidSource, 'i');

const noEventId = (after: string): AnnealError =>
  new AnnealError(
    'InvalidRequest',
    `Cannot start after the event "${after.slice(0, 100)}": this is no id of an event.`,
    {
      details: { remedy: 'Use the `id` of an event that you received, or `beginning` for all stored events.' },
    },
  );

/** Where to begin reading. */
export interface LogStart {
  readonly number: number;
  readonly hasGap: boolean;
}

interface EventLogOptions {
  store: Store;
  /** The most events in the log. */
  keep: number;
  /** Older events are removed, when further ones arrive. */
  keepMs: number;
  now: () => number;
  /** Called with new events when they are durable. */
  onKept: (kept: readonly EventDocument[]) => Promise<void>;
  /** Called before the oldest events are removed, and again with the same ones when their removal is interrupted. */
  onTrim: (old: readonly EventDocument[]) => Promise<void>;
  /** Called when events could not be stored. They are tried again after this time. */
  onAppendFailed: (error: unknown, afterMs: number) => void;
  /** Called when the oldest events could not be removed. They are removed after the next events. */
  onTrimFailed: (error: unknown) => void;
}

interface Appended {
  readonly event: Envelope;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

const trimEvery = 500;
const readAtOnce = 500;
const mostAttempts = 20;
const recentMs = 500;
const atOnce = 200;
const slowestRetryMs = 2_000;

export function filterOf({ types, subject_prefix: prefix, filters = [] }: Filter): EventPredicate {
  const matches = matcherOf(types);
  const passes = parseFilters(filters);
  return (event) => matches(event.type) && (event.subject ?? '').startsWith(prefix) && passes(event);
}

export class EventLog {
  readonly #events: Collection<EventDocument>;
  readonly #limits: Pick<EventLogOptions, 'keep' | 'keepMs' | 'now'>;
  readonly #onKept: EventLogOptions['onKept'];
  readonly #onTrim: EventLogOptions['onTrim'];
  readonly #onAppendFailed: EventLogOptions['onAppendFailed'];
  readonly #onTrimFailed: EventLogOptions['onTrimFailed'];
  readonly #stopping = new AbortController();
  readonly #newest = new RecentEvents<EventDocument>();
  #waiting: Appended[] = [];
  /** So many of those that wait are stored one by one, to find the one that cannot be stored. */
  #alone = 0;
  #appending: Promise<void> | undefined;
  #writing = false;
  #last: number | undefined;
  #trimmedAt = 0;
  #recent: { readonly at: number; readonly number: Promise<number> } | undefined;

  private constructor(events: Collection<EventDocument>, options: EventLogOptions) {
    this.#events = events;
    this.#limits = options;
    this.#onKept = options.onKept;
    this.#onTrim = options.onTrim;
    this.#onAppendFailed = options.onAppendFailed;
    this.#onTrimFailed = options.onTrimFailed;
  }

  static async open(options: EventLogOptions): Promise<EventLog> {
    const events = await options.store.collection<EventDocument>({
      name: 'notification_events',
      indexes: [{ fields: ['sequence'], unique: true }, { fields: ['project', 'sequence'] }],
    });
    return new EventLog(events, options);
  }

  /** Resolves when the event is stored. Events are stored in the order of the calls, concurrent ones in one write. */
  append(event: Envelope): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ event, resolve, reject });
    if (!this.#writing) {
      this.#writing = true;
      this.#appending = this.#appendWaiting();
    }
    return promise;
  }

  async #appendWaiting(): Promise<void> {
    // Wait one turn of the event loop, so that events that arrive together are written together.
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
    let failures = 0;
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, this.#alone > 0 ? 1 : atOnce);
      this.#alone = Math.max(0, this.#alone - batch.length);
      try {
        const kept = await this.#keepAll(batch.map(({ event }) => event));
        this.#newest.add(kept);
        await this.#onKept(kept);
        for (const { resolve } of batch) resolve();
        failures = 0;
      } catch (error) {
        this.#last = undefined;
        failures += 1;
        await this.#notStored(batch, { error, failures });
        continue;
      }
      // The events are durable, so a failed removal must not make the bus deliver them again.
      await this.#trim().catch((error: unknown) => {
        this.#trimmedAt = 0;
        this.#onTrimFailed(error);
      });
    }
    // Reset it in the same turn as the last check for waiting events, so that the next `append` starts a new write.
    this.#writing = false;
  }

  /** L5 */
  async #notStored(
    batch: readonly Appended[],
    { error, failures }: { error: unknown; failures: number },
  ): Promise<void> {
    const mayHelp = kindOf(error) === 'retry' && !isUnknown(error);
    if (this.#stopping.signal.aborted || (!mayHelp && batch.length === 1)) {
      for (const { reject } of batch) reject(error);
      return;
    }
    this.#waiting.unshift(...batch);
    if (!mayHelp) {
      this.#alone = batch.length;
      return;
    }
    const afterMs = Math.min(slowestRetryMs, defaultBackoff(failures));
    this.#onAppendFailed(error, afterMs);
    await delay(afterMs, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  async #keepAll(events: readonly Envelope[]): Promise<EventDocument[]> {
    const kept: EventDocument[] = [];
    let left = [...new Map(events.map((event) => [event.id, event])).values()];
    for (let attempt = 0; attempt < mostAttempts && left.length > 0; attempt += 1) {
      // Look up a single event only when its insert is refused, because it leaves no gap. Events often arrive singly.
      const before = attempt === 0 && left.length === 1 ? [] : await this.#events.getMany(left.map(({ id }) => id));
      const known = new Set(before.map(({ id }) => id));
      // L2; report events of an earlier run again, because it may have died before it reported them.
      kept.push(...before);
      left = left.filter(({ id }) => !known.has(id));
      const base = (this.#last ??= await this.last());
      const drafts = left.map((event, index) => ({
        id: event.id,
        sequence: base + 1 + index,
        project: event.project ?? '',
        event,
      }));
      // L1, L3: the first refused insert ends the run of numbers. Retry the rest after it.
      const outcomes = await this.#events.bulk(drafts.map((document) => ({ kind: 'insert', document })));
      const refused = outcomes.findIndex((outcome) => outcome !== 'done');
      const done = drafts.filter((_, index) => outcomes[index] === 'done');
      kept.push(...done.map((draft) => ({ ...draft, version: 1 })));
      left = left.filter((_, index) => outcomes[index] !== 'done');
      this.#last = refused < 0 ? base + drafts.length : undefined;
    }
    if (left.length > 0) {
      throw new AnnealError('Unavailable', 'Another replica wrote to the event log at the same time; try again.');
    }
    return kept.sort((a, b) => a.sequence - b.sequence);
  }

  /** An event of a project that the log still has. */
  async get(id: string, project: string): Promise<EventDocument | undefined> {
    const found = await this.#events.get(id);
    return found?.project === project ? found : undefined;
  }

  /** The highest number in the log; 0 while it is empty. */
  async last(): Promise<number> {
    const [newest] = await this.#events.find({ where: {}, orderBy: ['sequence'], descending: true, limit: 1 });
    return newest?.sequence ?? 0;
  }

  /** The same, at most {@link recentMs} old: a thousand readers that look for events of other replicas share one read. */
  recentLast(): Promise<number> {
    const now = this.#limits.now();
    if (!this.#recent || Math.abs(now - this.#recent.at) > recentMs) {
      const number = this.last();
      this.#recent = { at: now, number };
      number.catch(() => (this.#recent = undefined));
    }
    return this.#recent.number;
  }

  /**
   * The number after which to read, for `beginning` or the id of an event, and whether the log has removed events behind
   * it. Without `position`, the log cannot find out what it removed behind a removed event: it begins at the oldest
   * event, and reports a gap.
   * @throws AnnealError InvalidRequest for a text that can be the id of no event
   */
  async startOf({ after, position }: { after: string; position?: number | undefined }): Promise<LogStart> {
    if (after === 'beginning') return { number: 0, hasGap: false };
    const known = await this.#events.get(after);
    if (known) return { number: known.sequence, hasGap: false };
    if (position === undefined) {
      if (!uuid.test(after)) throw noEventId(after);
      return { number: 0, hasGap: true };
    }
    const [oldest] = await this.#events.find({ where: {}, orderBy: ['sequence'], limit: 1 });
    return { number: position, hasGap: oldest !== undefined && oldest.sequence > position + 1 };
  }

  /** Reports a gap behind an event that is not in the log any more. */
  async gapBehind(after: string, project: string): Promise<EventGap> {
    const [oldest] = await this.#events.find({ where: { project }, orderBy: ['sequence'], limit: 1 });
    return { after, oldest: oldest?.event.time ?? null };
  }

  /** Events of a project after a number, and the number up to which the log was read. */
  async read(parameters: {
    project: string;
    after: number;
    filter: Filter;
    limit: number;
  }): Promise<{ events: EventDocument[]; upTo: EventDocument | undefined; position: number }> {
    const { project, filter, limit } = parameters;
    const fits = filterOf(filter);
    const events: EventDocument[] = [];
    let upTo: EventDocument | undefined;
    // Read it first: an event with a smaller number is already stored (L1).
    const last = await this.last();
    const inMemory = this.#newest.between(parameters.after, last)?.filter((each) => each.project === project);
    for (;;) {
      const page =
        inMemory ??
        (await this.#events.find({
          where: { project, sequence: { gt: upTo?.sequence ?? parameters.after } },
          orderBy: ['sequence'],
          limit: readAtOnce,
        }));
      for (const document of page) {
        upTo = document;
        if (fits(document.event)) events.push(document);
        if (events.length === limit) return { events, upTo, position: document.sequence };
      }
      if (inMemory || page.length < readAtOnce) {
        return { events, upTo, position: Math.max(last, upTo?.sequence ?? 0) };
      }
    }
  }

  /**
   * The number before the first event of a range, or of its last event. An edge is the id of an event, or a time.
   * @throws AnnealError NotFound for an event that the log does not have; InvalidRequest for another text
   */
  async edge(text: string, { project, side }: { project: string; side: 'from' | 'to' }): Promise<number> {
    const known = await this.get(text, project);
    if (known) return side === 'from' ? known.sequence - 1 : known.sequence;
    const at = isoMoment(text);
    if (at === undefined) {
      throw new AnnealError(
        'NotFound',
        `Cannot begin or end at ${text}: the log has no event with this id, and it is not a time such as 2030-01-01T00:00:00Z.`,
      );
    }
    return this.#numberBefore(at + (side === 'from' ? 0 : 1));
  }

  /** The number of the last event before a time. Numbers and times grow together, so half of the rest is left out each time. */
  async #numberBefore(at: number): Promise<number> {
    const [first] = await this.#events.find({ where: {}, orderBy: ['sequence'], limit: 1 });
    let [low, high] = [(first?.sequence ?? 1) - 1, await this.last()];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      const [found] = await this.#events.find({
        where: { sequence: { gte: middle } },
        orderBy: ['sequence'],
        limit: 1,
      });
      if (found && Date.parse(found.event.time) < at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /**
   * The newest matching events, or the newest before an event; oldest first. None are before an event that the log has
   * removed, because it loses only its beginning.
   * @throws AnnealError InvalidRequest for a text that can be the id of no event
   */
  async newest(parameters: {
    project: string;
    filter: Filter;
    limit: number;
    before?: string | undefined;
  }): Promise<EventDocument[]> {
    const { project, filter, limit } = parameters;
    const fits = filterOf(filter);
    const events: EventDocument[] = [];
    let before =
      parameters.before === undefined
        ? Number.MAX_SAFE_INTEGER
        : (await this.startOf({ after: parameters.before })).number;
    for (;;) {
      const page = await this.#events.find({
        where: { project, sequence: { lt: before } },
        orderBy: ['sequence'],
        descending: true,
        limit: Math.min(readAtOnce, Math.max(limit, 10)),
      });
      for (const document of page) {
        before = document.sequence;
        if (fits(document.event)) events.push(document);
        if (events.length === limit) return events.reverse();
      }
      if (page.length === 0) return events.reverse();
    }
  }

  async #trim(): Promise<void> {
    const last = this.#last ?? 0;
    if (last - this.#trimmedAt < trimEvery) return;
    this.#trimmedAt = last;
    const { keep, keepMs, now } = this.#limits;
    const oldest = new Date(now() - keepMs).toISOString();
    const isKept = ({ sequence, event }: EventDocument): boolean => sequence > last - keep && event.time >= oldest;
    const first = (limit: number): Promise<EventDocument[]> =>
      this.#events.find({ where: {}, orderBy: ['sequence'], limit });
    for (;;) {
      // Mostly nothing is old: look at one event before reading hundreds.
      if ((await first(1)).every(isKept)) return;
      const found = await first(readAtOnce);
      // The log loses only its beginning, so an event that is too young keeps those behind it.
      const end = found.findIndex(isKept);
      const old = end < 0 ? found : found.slice(0, end);
      if (old.length === 0) return;
      await this.#onTrim(old); // L4
      await faultPoint('notification.counted');
      await this.#events.bulk(old.map(({ id }) => ({ kind: 'remove', id })));
      this.#newest.remove(old.at(-1)?.sequence ?? 0);
    }
  }

  /** Refuses what it cannot store now. Resolves when every appended event is stored or refused. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#appending;
  }
}
