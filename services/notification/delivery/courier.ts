/**
 * Delivers the events of one subscription to its listener. A durable timer per subscription starts a run. After a crash
 * the timer fires again, and the next run continues from the store.
 *
 * P1 An event is delivered, or stored as a delivery of its own, before the cursor passes it, so none is lost. The cursor
 *    is saved some times per second, not per event: after a crash the events since the last save are sent again.
 * P2 An event is attempted only when all earlier events of its subject are delivered or dead. Subjects do not wait for
 *    each other.
 * P3 A listener that is down delays no other listener's events, because each run has its own connections. Its own events
 *    are not all attempted at once; the first success releases them all.
 * P4 A listener whose events the log dropped gets a notice whatever its filter.
 * P5 When two runs serve one subscription, the older one stops at its next save.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change } from '@anneal/store/change.ts';
import type { BulkOperation } from '@anneal/store/port.ts';
import { isOwnNotice } from '../drops.ts';
import type { EventDocument, EventLog } from '../event-log.ts';
import { wantedBy, type DroppedRun, type SubscriptionDocument, type Subscriptions } from '../subscriptions.ts';
import { AttemptRing, type AttemptLog } from './attempt-log.ts';
import { maxStoredAttempts, type Deliveries, type DeliveryDocument } from './deliveries.ts';
import { deliveryDraft } from './draft.ts';
import { subjectItem, EventLanes, type SubjectItem } from './lanes.ts';
import { reportDropped } from './notice.ts';
import { afterFailure, type Outage } from './outage.ts';
import { decide, isWide, type DeliveryOutcome } from './schedule.ts';
import { batchType, signingKey, singleType, type WebhookSender } from './webhook.ts';

export interface CourierOptions {
  readonly log: EventLog;
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly attempts: AttemptLog;
  readonly openSender: () => WebhookSender;
  readonly secrets: Secrets;
  readonly newId: () => string;
  readonly retrySeconds: readonly number[];
  readonly keepDeliveries: number;
  /** Maximum number of stored deliveries of a subscription. Further events of a failing subject stay in the log. */
  readonly pendingDeliveries: number;
  /** Maximum number of requests to a listener at the same time. */
  readonly inFlight: number;
  readonly now: () => number;
  readonly random: () => number;
  readonly stopping: AbortSignal;
  /** The JSON of an event, which all subscriptions share. */
  readonly textOf: (event: Envelope) => string;
  readonly publishDropped: (subscription: SubscriptionDocument, dropped: DroppedRun) => Promise<Envelope>;
}

/** The end of a run: when the next one must begin, if at all. */
export interface CourierEnd {
  readonly resumeAt: number | undefined;
  /** True when the run ended because the subscription changed: another one must begin now. */
  readonly again: boolean;
  /** True when the run has disabled the subscription. */
  readonly disabled: boolean;
}

const saveEveryMs = 200;
const renewEveryMs = 10_000;
/** A run without events ends after this time. A courier in memory needs no timer for the next event. */
const lingerMs = 5_000;
/** Another replica may store events that this process does not see. */
const lookEveryMs = 1_000;
/** The most events of the log in memory. */
const mostInMemory = 1_000;
/** A listener that is away is attempted with one event at a time. */
const mostInOutage = 32;
/** Events that arrive within this time share a request when the subscription allows it. */
const batchWaitMs = 10;

export class Courier {
  readonly #options: CourierOptions;
  readonly #id: string;
  readonly #run: string;
  #subscription!: SubscriptionDocument;
  #wants: (document: EventDocument) => boolean = () => false;
  #keys: { key: Uint8Array; until: number }[] = [];
  #lanes = new EventLanes(0);
  #ring!: AttemptRing;
  #sender!: WebhookSender;
  /** Numbers of events from the log that are settled, or stored as a delivery. */
  readonly #known = new Set<number>();
  readonly #inFlight = new Set<Promise<void>>();
  #limit: number;
  #outage: Outage | undefined;
  /** Subjects whose attempts failed since the latest success. */
  readonly #failing = new Set<string>();
  #lastSuccess = -Infinity;
  #health: Partial<Pick<SubscriptionDocument, 'last_success_at' | 'last_failure_at' | 'last_error'>> = {};
  #disabledBecause: string | undefined;

  /** Stored deliveries in memory, and whether the store has more. */
  #stored = 0;
  #hasMoreStored = false;
  readonly #changed = new Set<SubjectItem>();
  readonly #delivered: SubjectItem[] = [];
  readonly #dead: SubjectItem[] = [];

  #isBehind = true;
  #isStirred = false;
  #isClosed = false;
  #isEnding = false;
  #isLost = false;
  #mustReload = false;
  #dirtySince: number | undefined;
  #activeAt = 0;
  #lookAt = 0;
  #batchAt = -Infinity;
  #batchTimer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;
  #failure: unknown;

  constructor(id: string, options: CourierOptions) {
    this.#id = id;
    this.#options = options;
    this.#run = options.newId();
    this.#limit = options.inFlight;
  }

  /** Takes events that were just stored. False when the run has ended, so that a timer must start the next one. */
  push(kept: readonly EventDocument[]): boolean {
    if (this.#isClosed) return false;
    this.#isStirred = true;
    this.#activeAt = this.#options.now();
    if (this.#isBehind || this.#lanes.window >= mostInMemory) {
      this.#isBehind = true;
      return true;
    }
    for (const document of kept) {
      if (document.sequence <= this.#lanes.readUpTo) continue;
      if (document.sequence > this.#lanes.readUpTo + 1) {
        this.#isBehind = true;
        this.#stir();
        break;
      }
      this.#consider(document);
    }
    this.#send();
    return true;
  }

  /** Ends the run, because the subscription changed, so that the next run begins with it. False when it has ended. */
  reload(): boolean {
    if (this.#isClosed) return false;
    this.#mustReload = true;
    this.#stir();
    return true;
  }

  /** Delivers until there is nothing to do for a while. `renew` extends the lease of the run. */
  async run(renew: () => Promise<unknown>): Promise<CourierEnd> {
    const { now } = this.#options;
    const found = await this.#options.subscriptions.get(this.#id);
    if (found?.status !== 'active') return this.#end(undefined);
    if (found.outage && found.outage.due_at > now() && found.retry_requested !== true)
      return this.#end(found.outage.due_at);
    const notice = await this.#load(found);
    const { stopping } = this.#options;
    const stir = (): void => this.#stir();
    stopping.addEventListener('abort', stir);
    let resumeAt: number | undefined;
    let renewAt = now() + renewEveryMs;
    try {
      while (!this.#mustEnd()) {
        await this.#fill();
        this.#send();
        if (now() >= (this.#dirtySince ?? Infinity) + saveEveryMs) await this.#save();
        if (now() >= renewAt) {
          await renew();
          renewAt = now() + renewEveryMs;
        }
        if (this.#mustEnd()) break;
        const due = this.#nextDue(notice);
        const isIdle = this.#inFlight.size === 0 && !this.#isBehind && !this.#isSendable();
        if (isIdle && (due ?? Infinity) > now() + lingerMs && now() >= this.#activeAt + lingerMs) {
          resumeAt = due;
          break;
        }
        await this.#sleep(
          Math.min(due ?? Infinity, renewAt, (this.#dirtySince ?? Infinity) + saveEveryMs, this.#lookAt),
        );
      }
    } finally {
      this.#isClosed = true;
      stopping.removeEventListener('abort', stir);
      await this.#finish();
    }
    if (this.#isLost) return this.#end(undefined);
    await this.#save();
    return this.#end(resumeAt);
  }

  #end(resumeAt: number | undefined): CourierEnd {
    this.#isClosed = true;
    const { stopping, now } = this.#options;
    const again = this.#mustReload && !this.#isLost && !stopping.aborted;
    return {
      resumeAt: stopping.aborted && !this.#isLost ? now() : resumeAt,
      again,
      disabled: this.#disabledBecause !== undefined && !this.#isLost,
    };
  }

  #mustEnd(): boolean {
    if (this.#failure !== undefined) throw this.#failure;
    return this.#isLost || this.#mustReload || this.#options.stopping.aborted || this.#disabledBecause !== undefined;
  }

  /** Waits for the requests in flight. Those of a service that stops, and of an older run, are aborted. */
  async #finish(): Promise<void> {
    this.#isEnding = true;
    clearTimeout(this.#batchTimer);
    if (!this.#options.stopping.aborted && !this.#isLost) await Promise.all(this.#inFlight);
    await this.#sender.close();
    await Promise.all(this.#inFlight);
  }

  /** Takes over the subscription (P5) and reads its deliveries. Returns when the next notice is due. */
  async #load(found: SubscriptionDocument): Promise<number | undefined> {
    const { subscriptions, deliveries, attempts, openSender, secrets, pendingDeliveries, keepDeliveries, now } =
      this.#options;
    const { document } = await change(subscriptions, found, (current) => ({
      ...current,
      run: this.#run,
      ...(current.retry_requested === true && { retry_requested: false, outage: null }),
    }));
    this.#subscription = document ?? found;
    const mustRetry = found.retry_requested === true;
    const notice = await reportDropped(this.#subscription, this.#options);
    const stored = await deliveries.find({
      where: { subscription_id: this.#id, status: 'pending' },
      orderBy: ['sequence'],
      limit: pendingDeliveries,
    });
    const { cursor, ahead = [], outage, attempts_number: last = 0 } = this.#subscription;
    this.#wants = wantedBy(this.#subscription);
    const { secret, previous_secret: previous } = this.#subscription;
    this.#keys = [
      { key: signingKey(secrets.open(secret) as unknown as string), until: Infinity },
      ...(previous
        ? [{ key: signingKey(secrets.open(previous.secret) as unknown as string), until: previous.until }]
        : []),
    ];
    this.#outage = outage ?? undefined;
    this.#lanes = new EventLanes(cursor);
    this.#ring = await AttemptRing.open(attempts, { subscription: this.#id, keep: keepDeliveries, last });
    for (const sequence of ahead) this.#known.add(sequence);
    for (const each of stored) {
      this.#lanes.add(subjectItem(each, mustRetry ? { ...each, due_at: 0 } : each));
      if (!isOwnNotice(this.#subscription, each)) this.#known.add(each.sequence);
    }
    this.#stored = stored.length;
    this.#hasMoreStored = stored.length === pendingDeliveries;
    this.#activeAt = now();
    this.#lookAt = now() + lookEveryMs;
    this.#sender = openSender();
    return notice;
  }

  #consider(document: EventDocument): void {
    const { sequence } = document;
    const isNew = !this.#known.has(sequence) && this.#wants(document) && !isOwnNotice(this.#subscription, document);
    if (isNew) this.#lanes.add(subjectItem(document));
    else this.#lanes.advance(sequence);
  }

  /** Reads the log up to the limit of events in memory. */
  async #fill(): Promise<void> {
    const { log, now } = this.#options;
    if (now() >= this.#lookAt) {
      this.#isBehind = true;
      this.#lookAt = now() + lookEveryMs;
    }
    // P2: a stored delivery that is not read yet may be of the same subject.
    if (this.#hasMoreStored) {
      if (this.#stored === 0 && this.#inFlight.size === 0) this.#mustReload = true;
      return;
    }
    const most = this.#outage ? mostInOutage : mostInMemory;
    while (this.#isBehind && this.#lanes.window < most) {
      this.#isStirred = false;
      const limit = Math.min(250, most - this.#lanes.window);
      const { project } = this.#subscription;
      const page = await log.read({ project, after: this.#lanes.readUpTo, filter: this.#subscription, limit });
      for (const document of page.events) this.#consider(document);
      this.#lanes.advance(page.position);
      if (page.upTo && this.#lanes.window === 0) this.#dirtySince ??= now();
      this.#isBehind = this.#isStirred || page.events.length === limit;
      this.#send();
    }
  }

  #isSendable(): boolean {
    return this.#lanes.isReady && (!this.#outage || this.#outage.due_at <= this.#options.now());
  }

  /** Starts as many requests as are allowed now. */
  #send(): void {
    if (this.#isEnding || this.#isClosed || this.#mustReload || this.#disabledBecause !== undefined) return;
    const now = this.#options.now();
    const most = this.#subscription.batch_size ?? 1;
    const limit = !this.#outage ? this.#limit : this.#outage.due_at <= now ? 1 : 0;
    while (this.#inFlight.size < limit && this.#lanes.isReady) {
      if (most > 1 && !this.#outage && this.#lanes.size < most && now < this.#batchAt + batchWaitMs) {
        this.#batchTimer ??= setTimeout(() => {
          this.#batchTimer = undefined;
          this.#send();
        }, batchWaitMs);
        return;
      }
      this.#batchAt = now;
      const items = this.#outage ? this.#lanes.probe(this.#failing) : this.#lanes.take(most);
      if (items.length === 0) return;
      const attempt = this.#attempt(items).catch((error: unknown) => {
        this.#failure = error;
        this.#stir();
      });
      this.#inFlight.add(attempt);
      void attempt.finally(() => {
        this.#inFlight.delete(attempt);
        this.#send();
        if (this.#needsLoop()) this.#stir();
      });
    }
  }

  /** True when the loop has more to do than to wait for the next save. */
  #needsLoop(): boolean {
    if (this.#inFlight.size === 0) return true;
    return this.#isBehind && this.#lanes.window < mostInMemory / 2;
  }

  async #attempt(items: readonly SubjectItem[]): Promise<void> {
    const { now, textOf, stopping } = this.#options;
    const began = now();
    const [first] = items;
    if (!first) return;
    const isBatch = (this.#subscription.batch_size ?? 1) > 1;
    const outcome = await this.#sender.send({
      url: this.#subscription.url,
      keys: this.#keys.filter(({ until }) => until > began).map(({ key }) => key),
      id: items.length === 1 ? first.event.id : derivedId(`batch\n${items.map(({ event }) => event.id).join('\n')}`),
      contentType: isBatch ? batchType : singleType,
      body: isBatch ? `[${items.map(({ event }) => textOf(event)).join(',')}]` : textOf(first.event),
    });
    // A stop of this service is not a failure of the listener. The next run attempts it again.
    if ((stopping.aborted || this.#isLost) && outcome.status === null) return;
    await faultPoint('notification.sent');
    this.#ended(items, outcome, began);
  }

  #ended(items: readonly SubjectItem[], outcome: DeliveryOutcome, began: number): void {
    const { now } = this.#options;
    const at = now();
    const [first] = items;
    if (!first) return;
    if (this.#dirtySince === undefined) {
      this.#dirtySince = at;
      this.#stir();
    }
    this.#activeAt = at;
    const isDelivered = outcome.status !== null && outcome.status >= 200 && outcome.status < 300;
    const attempt = { at: new Date(began).toISOString(), status: outcome.status, error: outcome.error, ms: at - began };
    this.#ring.add({
      ...attempt,
      event_id: first.event.id,
      event_type: first.event.type,
      ...(first.event.subject !== undefined && { subject: first.event.subject }),
      events: items.length,
      sequence: first.sequence,
    });
    if (isDelivered) {
      this.#succeeded(items, at);
      return;
    }
    this.#health = { ...this.#health, last_failure_at: new Date(at).toISOString(), last_error: outcome.error };
    for (const item of items) item.attempts = [...item.attempts, attempt].slice(-maxStoredAttempts);
    if (outcome.status === 410) {
      const { origin } = new URL(this.#subscription.url);
      this.#disabledBecause = `The listener at ${origin} answered 410: it wants no more events.`;
      this.#lanes.putBack(items);
    } else this.#failed(items, outcome, began);
    this.#stir();
  }

  #succeeded(items: readonly SubjectItem[], at: number): void {
    this.#lanes.succeeded(items);
    for (const item of items) {
      if (!item.document) continue;
      this.#changed.delete(item);
      this.#delivered.push(item);
    }
    this.#lastSuccess = at;
    this.#health = { ...this.#health, last_success_at: new Date(at).toISOString() };
    this.#limit = Math.min(this.#options.inFlight, this.#limit + 1);
    // Several subjects failed and now one does not: the listener is back, so the others do not wait for their times.
    if (this.#failing.size > 1) this.#lanes.pullForward(this.#failing);
    this.#failing.clear();
    if (!this.#outage) return;
    this.#outage = undefined;
    // P4: a notice that waited for the listener may be due now.
    if (this.#subscription.drops) this.#mustReload = true;
    this.#stir();
  }

  #failed(items: readonly SubjectItem[], outcome: DeliveryOutcome, began: number): void {
    const { now, random, retrySeconds } = this.#options;
    const at = now();
    for (const { subject } of items) this.#failing.add(subject);
    const [first] = items;
    if (!first) return;
    // The listener worked between two failures of the same event, so the event fails and not the listener.
    const isOwnFault = first.tries > 0 || (first.failedAt < this.#lastSuccess && first.failedAt > -Infinity);
    for (const item of items) item.failedAt = at;
    if (isWide(outcome.status) && !(isOwnFault && items.length === 1)) {
      this.#lanes.putBack(items);
      if (outcome.status === 429 || outcome.status === 503) this.#limit = Math.max(1, Math.floor(this.#limit / 2));
      const failed = { began, now: at, retryAfter: outcome.retryAfter, retrySeconds, random: random() };
      const hasOther = this.#lanes.hasOther(first.subject);
      const outage = afterFailure(this.#outage, { ...failed, hasOther });
      if (outage !== 'ended') {
        this.#outage = outage;
        return;
      }
      const { origin } = new URL(this.#subscription.url);
      this.#disabledBecause = `The listener at ${origin} accepted no event since ${new Date(this.#outage?.since ?? began).toISOString()}. Last attempt: ${outcome.error ?? 'it failed'}.`;
      return;
    }
    if (items.length > 1) {
      for (const item of items) item.alone = true;
      this.#lanes.putBack(items);
      return;
    }
    first.tries += 1;
    const decision = decide({ outcome, tries: first.tries, retrySeconds, random: random() });
    if (decision.kind === 'again') {
      this.#changed.add(first);
      this.#lanes.putBack([first], at + Math.max(1, decision.inMs));
    } else {
      this.#changed.delete(first);
      this.#dead.push(first);
      this.#lanes.giveUp(first);
    }
  }

  /** Stores what happened since the last save: first the deliveries, then the cursor (P1). */
  async #save(): Promise<void> {
    const { deliveries, attempts, subscriptions, pendingDeliveries, now } = this.#options;
    this.#dirtySince = undefined;
    const [delivered, dead] = [this.#delivered.splice(0), this.#dead.splice(0)];
    const unfiled = this.#lanes.unfiled(Math.max(0, pendingDeliveries - this.#stored));
    const filed = unfiled.map(({ item, dueAt }) => ({ item, document: this.#draft(item, dueAt ?? now()) }));
    const operations: BulkOperation<DeliveryDocument>[] = [
      ...filed.map(({ document }) => ({ kind: 'put' as const, document })),
      ...[...this.#changed].flatMap((item) =>
        item.document ? [{ kind: 'put' as const, document: this.#draft(item, this.#lanes.dueAt(item) ?? now()) }] : [],
      ),
      ...dead.map((item) => ({ kind: 'put' as const, document: this.#draft(item, 'dead') })),
      // A delivery that an operator has replayed meanwhile has another version. It stays, and is sent again.
      ...delivered.flatMap(({ document }) =>
        document
          ? [{ kind: 'remove' as const, id: document.id, ...(document.version > 0 && { version: document.version }) }]
          : [],
      ),
    ];
    for (const item of this.#changed) {
      if (item.document && item.document.version > 0)
        item.document = { ...item.document, version: item.document.version + 1 };
    }
    this.#changed.clear();
    if (operations.length > 0) await deliveries.bulk(operations);
    for (const { item, document } of filed) {
      // It may have been delivered while it was stored.
      if (item.isSettled) await deliveries.remove(document.id);
      else {
        item.document = { ...document, version: 0 };
        item.isSettled = true;
        this.#stored += 1;
      }
    }
    for (const item of dead) item.isSettled = true;
    this.#stored -= delivered.length + dead.filter(({ document }) => document).length;
    await faultPoint('notification.filed');
    const ring = this.#ring.write();
    if (ring) await attempts.bulk([ring.operation]);
    const position = this.#lanes.position();
    const reason = this.#disabledBecause;
    const health = this.#health;
    this.#health = {};
    const { document } = await change(subscriptions, this.#id, (current) => {
      if (current.run !== this.#run) return undefined;
      const cursor = Math.max(current.cursor, position.cursor);
      return {
        ...current,
        ...health,
        cursor,
        ahead: position.ahead.filter((each) => each > cursor),
        outage: this.#outage ?? null,
        ...(ring && { attempts_number: ring.number }),
        ...(reason !== undefined && { status: 'disabled' as const, reason, outage: null, unannounced: true }),
      };
    });
    await faultPoint('notification.saved');
    if (document?.run !== this.#run) {
      this.#isLost = true;
      return;
    }
    if (document.status !== 'active' && reason === undefined) this.#mustReload = true;
    // The log has removed events that were not delivered (drops.ts).
    if (document.cursor > position.cursor) this.#lanes.forget(document.cursor);
    this.#subscription = document;
  }

  #draft(item: SubjectItem, fate: number | 'dead'): Omit<DeliveryDocument, 'version'> {
    return deliveryDraft({ subscription: this.#subscription, item, fate });
  }

  #nextDue(notice: number | undefined): number | undefined {
    const { now } = this.#options;
    const lane = this.#lanes.awake(now());
    if (this.#lanes.isReady) this.#send();
    if (notice !== undefined && notice <= now()) this.#mustReload = true;
    const isPaused = this.#lanes.isReady && this.#inFlight.size === 0;
    const times = [lane, notice, isPaused ? this.#outage?.due_at : undefined];
    const due = Math.min(...times.map((each) => each ?? Infinity));
    return due === Infinity ? undefined : due;
  }

  #stir(): void {
    this.#wake?.();
  }

  async #sleep(until: number): Promise<void> {
    const { now, stopping } = this.#options;
    if (stopping.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, Math.max(0, Math.min(until - now(), lookEveryMs)));
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#wake = undefined;
    }
  }
}
