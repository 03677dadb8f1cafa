/**
 * Decides what one run of a courier sends next, and what follows each answer. Pure: the caller passes times and
 * answers, sends the requests and saves the results.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { SubscriptionDocument } from '../documents/subscription.ts';
import { storedAttempt, type EndedAttempt } from './attempt-log.ts';
import { maxStoredAttempts } from './deliveries.ts';
import type { Condensing } from '../documents/condense.ts';
import { EventLanes, type SubjectItem } from './lanes.ts';
import { afterFailure, type Outage } from '../documents/outage.ts';
import type { AllowedPace } from './allowed-pace.ts';
import type { EndReason } from './run-phase.ts';
import { decide, type OnRefusal } from './schedule.ts';
import { isAccepted, isWide, type DeliveryOutcome } from '../sinks/outcome.ts';

export type ListenerHealth = Partial<Pick<SubscriptionDocument, 'last_success_at' | 'last_failure_at' | 'last_error'>>;

/** Results since the last save. */
export interface UnsavedProgress {
  /** Events with a stored delivery that the listener has accepted. */
  readonly delivered: readonly SubjectItem[];
  readonly dead: readonly SubjectItem[];
  /** Events that are attempted again later. */
  readonly changed: readonly SubjectItem[];
  readonly health: ListenerHealth;
}

interface ProgressOptions {
  /** Where the events go, in words of errors. */
  readonly listener: string;
  readonly cursor: number;
  readonly outage: Outage | undefined;
  /** True when a notice of dropped events waits for the listener (P4). */
  readonly hasNotice: boolean;
  readonly onRefusal: OnRefusal;
  /** Absent: as fast as the listener answers. */
  readonly pace?: AllowedPace | undefined;
  /** Absent: every event is sent by itself, or in a batch. */
  readonly condense?: Condensing | undefined;
  readonly inFlight: number;
  readonly retrySeconds: readonly number[];
  /** From 0 to 1, another one at each call. */
  readonly random: () => number;
}

/** Late events are collected for this time at least. */
const collectMs = 1_000;

/** The most events of the log in memory, and so in one window. */
export const mostInMemory = 1_000;

export class DeliveryProgress {
  readonly lanes: EventLanes;
  readonly #options: ProgressOptions;
  #outage: Outage | undefined;
  /** Maximum number of requests at the same time. It adapts to the listener. */
  #limit: number;
  /** Subjects whose attempts failed since the latest success. */
  readonly #failing = new Set<string>();
  #lastSuccess = -Infinity;
  /** When the listener last answered with a `Retry-After`. */
  #pauseAskedAt = -Infinity;
  /** The running window: its first event, and when this run had it. */
  #window: { readonly first: Envelope; readonly since: number } | undefined;
  #health: ListenerHealth = {};
  readonly #changed = new Set<SubjectItem>();
  #delivered: SubjectItem[] = [];
  #dead: SubjectItem[] = [];

  constructor(options: ProgressOptions) {
    this.#options = options;
    this.#outage = options.outage;
    this.#limit = options.inFlight;
    this.lanes = new EventLanes(options.cursor, { holds: options.condense !== undefined });
  }

  get outage(): Outage | undefined {
    return this.#outage;
  }

  /** True when one message is about all events of a window. */
  get isDigest(): boolean {
    return this.#options.condense?.mode === 'digest';
  }

  /**
   * When the running window ends: by the time of its first event, so that a restart does not begin it again. Late events,
   * after a restart or an outage, are collected for a moment, so that they do not become a message each.
   */
  windowEnd(now: number): number | undefined {
    const { firstHeld } = this.lanes;
    if (!firstHeld || !this.#options.condense) return undefined;
    if (this.#window?.first !== firstHeld) this.#window = { first: firstHeld, since: now };
    const length = this.#options.condense.seconds * 1000;
    const { since } = this.#window;
    return Math.max(Math.min(Date.parse(firstHeld.time), since) + length, since + Math.min(length, collectMs));
  }

  /** Lets the events of the window go when it has ended, or when it is full. */
  closeWindow(now: number): void {
    const isOver = (this.windowEnd(now) ?? Infinity) <= now || this.lanes.window >= mostInMemory;
    if (this.lanes.firstHeld && isOver) this.lanes.release({ latestOnly: !this.isDigest });
  }

  /** Maximum number of requests at the same time. While the listener is away it is one, at the times of its schedule. */
  limitAt(now: number): number {
    if (!this.#outage) return this.isDigest ? 1 : this.#limit;
    return this.#outage.due_at <= now ? 1 : 0;
  }

  /** Whether the rate that the listener allows leaves room for a request now. */
  isAllowed(now: number): boolean {
    return (this.#options.pace?.nextAt ?? 0) <= now;
  }

  /** Counts a request that begins now. */
  began(now: number): void {
    this.#options.pace?.sent(now);
  }

  isSendable(now: number): boolean {
    return this.lanes.isReady && (!this.#outage || this.#outage.due_at <= now);
  }

  /** Takes the events of the next request. */
  take(most: number): SubjectItem[] {
    if (this.isDigest) return this.lanes.take(mostInMemory);
    return this.#outage ? this.lanes.probe(this.#failing) : this.lanes.take(most);
  }

  /** Decides what follows the answer to a request. Returns why the run must end, if it must. */
  ended(items: readonly SubjectItem[], { outcome, began, now }: EndedAttempt): EndReason | undefined {
    if (isAccepted(outcome.status)) return this.#succeeded(items, { began, now });
    this.#health = { ...this.#health, last_failure_at: new Date(now).toISOString(), last_error: outcome.error };
    const attempt = storedAttempt({ outcome, began, now });
    for (const item of items) item.attempts = [...item.attempts, attempt].slice(-maxStoredAttempts);
    if (outcome.status === 410) {
      this.lanes.putBack(items);
      return {
        kind: 'disabled',
        because: `The listener at ${this.#options.listener} answered 410: it wants no more events.`,
      };
    }
    return this.#failed(items, { outcome, began, now });
  }

  /** Takes the results since the last call. */
  takeUnsaved(): UnsavedProgress {
    const unsaved = { delivered: this.#delivered, dead: this.#dead, changed: [...this.#changed], health: this.#health };
    this.#delivered = [];
    this.#dead = [];
    this.#changed.clear();
    this.#health = {};
    return unsaved;
  }

  #succeeded(
    items: readonly SubjectItem[],
    { began, now: at }: Pick<EndedAttempt, 'began' | 'now'>,
  ): EndReason | undefined {
    this.lanes.succeeded(items);
    for (const item of items) {
      if (!item.document) continue;
      this.#changed.delete(item);
      this.#delivered.push(item);
    }
    this.#lastSuccess = at;
    this.#health = { ...this.#health, last_success_at: new Date(at).toISOString() };
    this.#limit = Math.min(this.#options.inFlight, this.#limit + 1);
    // Several subjects failed and now one does not: the listener is back, so the others do not wait for their times.
    if (this.#failing.size > 1) this.lanes.pullForward(this.#failing);
    this.#failing.clear();
    // The listener has asked for a pause after it got this request, so its answer does not end the pause.
    if (!this.#outage || began <= this.#pauseAskedAt) return undefined;
    this.#outage = undefined;
    // P4: a notice that waited for the listener may be due now.
    return this.#options.hasNotice ? { kind: 'changed' } : undefined;
  }

  #failed(items: readonly SubjectItem[], { outcome, began, now }: EndedAttempt): EndReason | undefined {
    for (const { subject } of items) this.#failing.add(subject);
    const [first] = items;
    if (!first) return undefined;
    // The listener worked between two failures of the same event, so the event fails and not the listener.
    const isOwnFault = first.tries > 0 || (first.failedAt < this.#lastSuccess && first.failedAt > -Infinity);
    for (const item of items) item.failedAt = now;
    if (isWide(outcome.status) && !(isOwnFault && items.length === 1)) {
      return this.#away(first, items, { outcome, began, now });
    }
    if (this.isDigest) {
      this.#refused(items, outcome, now);
      return undefined;
    }
    if (items.length > 1) {
      for (const item of items) item.alone = true;
      this.lanes.putBack(items);
      return undefined;
    }
    this.#refused([first], outcome, now);
    return undefined;
  }

  /** The listener as a whole fails. */
  #away(
    first: SubjectItem,
    items: readonly SubjectItem[],
    { outcome, began, now }: EndedAttempt,
  ): EndReason | undefined {
    const { retrySeconds, random, listener } = this.#options;
    this.lanes.putBack(items);
    if (outcome.status === 429 || outcome.status === 503) this.#limit = Math.max(1, Math.floor(this.#limit / 2));
    if (outcome.retryAfter !== null) this.#pauseAskedAt = now;
    const failed = { began, now, retryAfter: outcome.retryAfter, retrySeconds, random: random() };
    const outage = afterFailure(this.#outage, { ...failed, hasOther: this.lanes.hasOther(first.subject) });
    if (outage === 'ended') {
      const since = new Date(this.#outage?.since ?? began).toISOString();
      return {
        kind: 'disabled',
        because: `The listener at ${listener} accepted no event since ${since}. Last attempt: ${outcome.error ?? 'it failed'}.`,
      };
    }
    this.#outage = outage;
    return undefined;
  }

  /** The listener refuses one event, or a digest with all its events. */
  #refused(items: readonly SubjectItem[], outcome: DeliveryOutcome, now: number): void {
    const { retrySeconds, random, onRefusal } = this.#options;
    for (const item of items) item.tries += 1;
    const tries = Math.max(...items.map((item) => item.tries));
    const decision = decide({ outcome, tries, retrySeconds, random: random(), onRefusal });
    if (decision.kind === 'again') {
      for (const item of items) this.#changed.add(item);
      this.lanes.putBack(items, now + Math.max(1, decision.inMs));
      return;
    }
    for (const item of items) {
      this.#changed.delete(item);
      this.#dead.push(item);
      this.lanes.giveUp(item);
    }
  }
}
