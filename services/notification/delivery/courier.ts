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
 *
 * `run-phase.ts` decides how a run ends, `progress.ts` what is sent and what follows; `saving.ts` saves it.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change } from '@anneal/store/change.ts';
import type { EventDocument, EventLog } from '../events/event-log.ts';
import type { DroppedRun, SubscriptionDocument } from '../documents/subscription.ts';
import { loggedAttempt } from './attempt-log.ts';
import type { SubjectItem } from './lanes.ts';
import { LogReader } from './log-reader.ts';
import { reportDropped } from './notice.ts';
import { AllowedPace } from './allowed-pace.ts';
import { DeliveryProgress, mostInMemory } from './progress.ts';
import { closedPhase, courierEnd, withReason, type CourierEnd, type EndReason, type RunPhase } from './run-phase.ts';
import { ProgressSaver, type SaverOptions } from './saving.ts';
import { openSigningKeys, validKeys, type SigningKey } from './signing-keys.ts';
import type { EventSink } from '../sinks/sink.ts';
import { shownAddress } from '../sinks/sink-address.ts';

export interface CourierOptions extends SaverOptions {
  readonly log: EventLog;
  readonly openSink: (subscription: SubscriptionDocument) => EventSink;
  readonly secrets: Secrets;
  readonly newId: () => string;
  readonly retrySeconds: readonly number[];
  /** Maximum number of requests to a listener at the same time. */
  readonly inFlight: number;
  readonly random: () => number;
  readonly stopping: AbortSignal;
  /** The JSON of an event, which all subscriptions share. */
  readonly textOf: (event: Envelope) => string;
  readonly publishDropped: (subscription: SubscriptionDocument, dropped: DroppedRun) => Promise<Envelope>;
  /** One event about several. The same ones have the same id. */
  readonly digestEvent: (subscription: SubscriptionDocument, events: readonly Envelope[]) => Envelope;
}

const saveEveryMs = 200;
const renewEveryMs = 10_000;
/** A run without events ends after this time. A courier in memory needs no timer for the next event. */
const lingerMs = 5_000;
/** The longest sleep. Another replica may change the subscription. */
const sleepMs = 1_000;
/** A listener that is away is attempted with one event at a time. */
const mostInOutage = 32;
/** Events that arrive within this time share a request when the subscription allows it. */
const batchWaitMs = 10;

/** The parts of a run, from the subscription as it was read at the beginning. */
interface OpenRun {
  subscription: SubscriptionDocument;
  readonly keys: readonly SigningKey[];
  readonly progress: DeliveryProgress;
  readonly pace: AllowedPace | undefined;
  readonly reader: LogReader;
  readonly saver: ProgressSaver;
  readonly sink: EventSink;
  /** When the next notice of dropped events is due. */
  readonly notice: number | undefined;
}

export class Courier {
  readonly #options: CourierOptions;
  readonly #id: string;
  readonly #run: string;
  #phase: RunPhase = { kind: 'sending' };
  /** Undefined until the run has read the subscription. */
  #open: OpenRun | undefined;
  readonly #inFlight = new Set<Promise<void>>();
  #dirtySince: number | undefined;
  #activeAt = 0;
  #batchAt = -Infinity;
  #batchTimer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;

  constructor(id: string, options: CourierOptions) {
    this.#id = id;
    this.#options = options;
    this.#run = options.newId();
  }

  /** Takes events that were just stored. False when the run has ended, so that a timer must start the next one. */
  push(kept: readonly EventDocument[]): boolean {
    if (this.#phase.kind === 'closed') return false;
    // A run that has not read its subscription reads the log after that.
    if (!this.#open) return true;
    const { reader, progress } = this.#open;
    const before = progress.lanes.window;
    if (!reader.push(kept)) this.#stir();
    // Events that it does not want keep no run alive, or every run would last as long as events come.
    const hasNew = progress.lanes.window > before;
    if (reader.isBehind || hasNew) this.#activeAt = this.#options.now();
    if (hasNew) this.#send(this.#open);
    return true;
  }

  /** True when the run has given an event up. */
  get hasBuried(): boolean {
    return this.#open?.saver.hasBuried === true;
  }

  /** True when the subscription ends after an event of the log, as its last save or its start read it. */
  get mayEnd(): boolean {
    return this.#open?.subscription.ends_after !== undefined;
  }

  /** Ends the run, because the subscription changed, so that the next run begins with it. False when it has ended. */
  reload(): boolean {
    if (this.#phase.kind === 'closed') return false;
    this.#endBecause({ kind: 'changed' });
    return true;
  }

  /** Delivers until there is nothing to do for a while. `renew` extends the lease of the run. */
  async run(renew: () => Promise<unknown>): Promise<CourierEnd> {
    const { now, subscriptions, stopping } = this.#options;
    const found = await subscriptions.get(this.#id);
    if (found?.status !== 'active') return this.#close({ kind: 'idle', resumeAt: undefined });
    if (found.outage && found.outage.due_at > now() && found.retry_requested !== true)
      return this.#close({ kind: 'idle', resumeAt: found.outage.due_at });
    const open = await this.#load(found);
    this.#open = open;
    const stop = (): void => this.#endBecause({ kind: 'stopped' });
    stopping.addEventListener('abort', stop);
    if (stopping.aborted) stop();
    try {
      await this.#deliver(open, renew);
    } catch (error) {
      this.#endBecause({ kind: 'failed', error });
    } finally {
      stopping.removeEventListener('abort', stop);
      this.#phase = closedPhase(this.#phase);
      await this.#finish(open);
    }
    // An answer in the meantime may have added a reason.
    if (!['lost', 'failed'].includes(this.#why()?.kind ?? '')) await this.#save(open);
    return courierEnd(closedPhase(this.#phase), now());
  }

  #close(why: EndReason): CourierEnd {
    this.#phase = closedPhase(withReason(this.#phase, why));
    return courierEnd(closedPhase(this.#phase), this.#options.now());
  }

  #endBecause(why: EndReason): void {
    this.#phase = withReason(this.#phase, why);
    this.#stir();
  }

  #why(): EndReason | undefined {
    return this.#phase.kind === 'sending' ? undefined : this.#phase.why;
  }

  /** The loop of a run, until it has a reason to end. */
  async #deliver(open: OpenRun, renew: () => Promise<unknown>): Promise<void> {
    const { now } = this.#options;
    let renewAt = now() + renewEveryMs;
    while (this.#phase.kind === 'sending') {
      await this.#fill(open);
      this.#send(open);
      if (now() >= (this.#dirtySince ?? Infinity) + saveEveryMs) await this.#save(open);
      if (now() >= renewAt) {
        await renew();
        renewAt = now() + renewEveryMs;
      }
      const due = this.#nextDue(open);
      const isIdle = this.#inFlight.size === 0 && !open.reader.isBehind && !open.progress.isSendable(now());
      if (isIdle && (due ?? Infinity) > now() + lingerMs && now() >= this.#activeAt + lingerMs)
        return this.#endBecause({ kind: 'idle', resumeAt: due });
      await this.#sleep(
        Math.min(due ?? Infinity, renewAt, (this.#dirtySince ?? Infinity) + saveEveryMs, open.reader.lookAt),
      );
    }
  }

  /** Waits for the requests in flight. Those of a service that stops, and of an older run, are aborted. */
  async #finish({ sink }: OpenRun): Promise<void> {
    clearTimeout(this.#batchTimer);
    if (!this.#mustAbort()) await Promise.all(this.#inFlight);
    await sink.close();
    await Promise.all(this.#inFlight);
  }

  #mustAbort(): boolean {
    return this.#options.stopping.aborted || this.#why()?.kind === 'lost';
  }

  /** Takes over the subscription (P5) and reads its deliveries. */
  async #load(found: SubscriptionDocument): Promise<OpenRun> {
    const { subscriptions, openSink, secrets, now, log, inFlight, retrySeconds, random } = this.#options;
    const { document: subscription = found } = await change(subscriptions, found, (current) => ({
      ...current,
      run: this.#run,
      ...(current.retry_requested === true && { retry_requested: false, outage: null }),
    }));
    const notice = await reportDropped(subscription, this.#options);
    const { cursor, outage, url, drops, on_refusal, condense, allowed_rate: rate } = subscription;
    const pace = rate === undefined ? undefined : new AllowedPace(rate, subscription.paced_until);
    const progress = new DeliveryProgress({
      listener: shownAddress(url),
      cursor,
      outage: outage ?? undefined,
      hasNotice: drops !== undefined,
      onRefusal: on_refusal ?? 'block',
      condense,
      pace,
      inFlight,
      retrySeconds,
      random,
    });
    const mustRetry = found.retry_requested === true;
    const { saver, known } = await ProgressSaver.open(this.#options, {
      subscription,
      run: this.#run,
      progress,
      pace,
      mustRetry,
    });
    this.#activeAt = now();
    return {
      subscription,
      pace,
      keys: openSigningKeys(subscription, secrets),
      progress,
      reader: new LogReader({ log, lanes: progress.lanes, subscription, known, now: now() }),
      saver,
      sink: openSink(subscription),
      notice,
    };
  }

  /** Reads the log up to the limit of events in memory. */
  async #fill(open: OpenRun): Promise<void> {
    const { progress, reader, saver } = open;
    const { now } = this.#options;
    reader.look(now());
    // P2: a stored delivery that is not read yet may be of the same subject.
    if (saver.unread !== 'none') {
      if (saver.unread === 'done' && this.#inFlight.size === 0) this.#endBecause({ kind: 'changed' });
      return;
    }
    const most = progress.outage ? mostInOutage : mostInMemory;
    while (reader.isBehind && progress.lanes.window < most) {
      const hasRead = await reader.read(most);
      if (hasRead && progress.lanes.window === 0) this.#dirtySince ??= now();
      this.#send(open);
    }
  }

  /** Starts as many requests as are allowed now. */
  #send(open: OpenRun): void {
    if (this.#phase.kind !== 'sending') return;
    const { progress, subscription } = open;
    const now = this.#options.now();
    progress.closeWindow(now);
    const most = subscription.batch_size ?? 1;
    const limit = progress.limitAt(now);
    while (this.#inFlight.size < limit && progress.lanes.isReady && progress.isAllowed(now)) {
      if (most > 1 && !progress.outage && progress.lanes.size < most && now < this.#batchAt + batchWaitMs) {
        this.#batchTimer ??= setTimeout(() => {
          this.#batchTimer = undefined;
          this.#send(open);
        }, batchWaitMs);
        return;
      }
      this.#batchAt = now;
      const items = progress.take(most);
      if (items.length === 0) return;
      progress.began(now);
      const attempt = this.#attempt(open, items).catch((error: unknown) => this.#endBecause({ kind: 'failed', error }));
      this.#inFlight.add(attempt);
      void attempt.finally(() => {
        this.#inFlight.delete(attempt);
        this.#send(open);
        if (this.#needsLoop(open)) this.#stir();
      });
    }
  }

  /** True when the loop has more to do than to wait for the next save. */
  #needsLoop({ reader, progress }: OpenRun): boolean {
    if (this.#inFlight.size === 0) return true;
    return reader.isBehind && progress.lanes.window < mostInMemory / 2;
  }

  async #attempt(open: OpenRun, items: readonly SubjectItem[]): Promise<void> {
    const { now, textOf, digestEvent } = this.#options;
    const { subscription, keys, sink, progress } = open;
    const began = now();
    const all = items.map(({ event }) => event);
    const [first, ...rest] = progress.isDigest ? [digestEvent(subscription, all)] : all;
    if (!first) return;
    const outcome = await sink.send({
      id: rest.length === 0 ? first.id : derivedId(`batch\n${all.map(({ id }) => id).join('\n')}`),
      events: [first, ...rest],
      textOf,
      isBatch: (subscription.batch_size ?? 1) > 1,
      keys: validKeys(keys, began),
    });
    // A stop of this service is not a failure of the listener. The next run attempts it again.
    if (this.#mustAbort() && outcome.status === null) return;
    await faultPoint('notification.sent');
    const ended = { outcome, began, now: now() };
    if (this.#dirtySince === undefined) {
      this.#dirtySince = ended.now;
      this.#stir();
    }
    this.#activeAt = ended.now;
    const [item] = items;
    if (item) open.saver.log(loggedAttempt({ ...item, events: items.length }, ended));
    const why = open.progress.ended(items, ended);
    if (why) this.#endBecause(why);
    else if (outcome.error !== null) this.#stir();
  }

  async #save(open: OpenRun): Promise<void> {
    this.#dirtySince = undefined;
    const before = this.#why();
    const { subscription, why } = await open.saver.save(before?.kind === 'disabled' ? before.because : undefined);
    open.subscription = subscription;
    if (why) this.#endBecause(why);
  }

  #nextDue(open: OpenRun): number | undefined {
    const { progress, notice, pace } = open;
    const { now } = this.#options;
    const lane = progress.lanes.awake(now());
    if (progress.lanes.isReady) this.#send(open);
    if (notice !== undefined && notice <= now()) this.#endBecause({ kind: 'changed' });
    const isPaused = progress.lanes.isReady && this.#inFlight.size === 0;
    const times = [lane, notice, progress.windowEnd(now()), isPaused ? progress.outage?.due_at : undefined];
    if (progress.lanes.isReady) times.push(pace?.nextAt);
    const due = Math.min(...times.map((each) => each ?? Infinity));
    return due === Infinity ? undefined : due;
  }

  #stir(): void {
    this.#wake?.();
  }

  async #sleep(until: number): Promise<void> {
    if (this.#phase.kind !== 'sending') return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    const timer = setTimeout(resolve, Math.max(0, Math.min(until - this.#options.now(), sleepMs)));
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      this.#wake = undefined;
    }
  }
}
