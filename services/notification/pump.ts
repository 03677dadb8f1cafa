/**
 * Delivers the events of one subscription to its listener. A durable timer per subscription starts it. After a crash
 * the timer fires again, and the pump continues from the store.
 *
 * P1 An event becomes a delivery before the cursor passes it, so none is lost.
 * P2 An event is attempted only when all earlier events of its subject are delivered or dead.
 * P3 A listener that is down delays no other listener's events, and its own are not all attempted at once.
 * P4 A listener whose events the log dropped gets a notice whatever its filter. The notice has the number of the last
 *    dropped event, so that it is attempted before the events after the gap.
 * P5 When two pumps serve one subscription, one loses at its first write and stops.
 */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change } from '@anneal/store/change.ts';
import { maxStoredAttempts, newDelivery, trim, type Deliveries, type DeliveryDocument } from './deliveries.ts';
import type { EventLog } from './event-log.ts';
import { isOwnNotice, noticeDueAt, withNotice, withoutNotice } from './drops.ts';
import { decide, type DeliveryDecision, type DeliveryOutcome } from './schedule.ts';
import type { SubscriptionDocument, Subscriptions, DroppedRun } from './subscriptions.ts';
import type { WebhookSender } from './webhook.ts';

export interface PumpOptions {
  log: EventLog;
  subscriptions: Subscriptions;
  deliveries: Deliveries;
  sender: WebhookSender;
  secrets: Secrets;
  retrySeconds: readonly number[];
  keepDeliveries: number;
  /** Maximum number of pending deliveries. Further events of a slow listener stay in the log. */
  pendingDeliveries: number;
  now: () => number;
  random: () => number;
  stopping: AbortSignal;
  /** Called with the time of the next run, when there is more to deliver. */
  resume: (subscription: string, at: number) => Promise<void>;
  /** Publishes the event about dropped events, with the same id at every repeat, and returns it. */
  publishDropped: (subscription: SubscriptionDocument, dropped: DroppedRun) => Promise<Envelope>;
}

/** Time limit of one run, shorter than the lease of the timer, so that no second run starts beside it. */
const budgetMs = 5_000;
/** Pause for a failing listener. It ends earlier when the failed delivery is due. */
const restMs = 60_000;

export class Pump {
  readonly #options: PumpOptions;
  /** Subscriptions that got new events in this process during a run. */
  readonly #stirred = new Set<string>();

  constructor(options: PumpOptions) {
    this.#options = options;
  }

  stir(subscription: string): void {
    this.#stirred.add(subscription);
  }

  async run(id: string): Promise<void> {
    const { subscriptions, deliveries, stopping, now, resume, keepDeliveries } = this.#options;
    const end = now() + budgetMs;
    let delivered = false;
    for (;;) {
      const subscription = await subscriptions.get(id);
      if (subscription?.status !== 'active') return;
      this.#stirred.delete(id);
      const pass = await this.#pass(subscription, end);
      delivered ||= pass.ended > 0;
      if (pass.lost) return;
      if (stopping.aborted || now() >= end) {
        await resume(id, now());
        return;
      }
      if (pass.more || this.#stirred.has(id)) continue;
      if (delivered) await trim(deliveries, id, keepDeliveries);
      // Events may have arrived since the last read. The process that stored them has set the timer again.
      if (pass.resumeAt !== undefined) await resume(id, pass.resumeAt);
      return;
    }
  }

  async #pass(
    subscription: SubscriptionDocument,
    end: number,
  ): Promise<{ ended: number; more: boolean; lost: boolean; resumeAt: number | undefined }> {
    const { deliveries, now, stopping, pendingDeliveries: window } = this.#options;
    const resumeNotice = await this.#report(subscription);
    let resumeAt = resumeNotice;
    const where = { subscription_id: subscription.id, status: 'pending' } as const;
    let pending = await deliveries.find({ where, orderBy: ['sequence'], limit: window });
    let behind = false;
    if (pending.length < window) {
      behind = await this.#take(subscription, window - pending.length);
      pending = await deliveries.find({ where, orderBy: ['sequence'], limit: window });
    }
    const waiting = new Set<string>();
    let ended = 0;
    const wait = (subject: string, at: number): void => {
      waiting.add(subject);
      resumeAt = Math.min(resumeAt ?? Infinity, at);
    };
    for (const delivery of pending) {
      if (waiting.has(delivery.subject)) continue; // P2
      const due = delivery.due_at ?? 0;
      if (due > now()) {
        wait(delivery.subject, due);
        continue;
      }
      if (stopping.aborted || now() >= end) return { ended, more: true, lost: false, resumeAt: now() };
      const result = await this.#attempt(subscription, delivery);
      if (result === 'lost') return { ended, more: false, lost: true, resumeAt: undefined };
      if (result.kind === 'gone') return { ended, more: false, lost: true, resumeAt: undefined };
      if (result.kind !== 'again') {
        ended += 1;
        continue;
      }
      const at = now() + result.inMs;
      if (result.wide) {
        // P3: the other deliveries wait too, but at most `restMs`.
        return { ended, more: false, lost: false, resumeAt: Math.min(resumeAt ?? Infinity, at, now() + restMs) };
      }
      wait(delivery.subject, at);
    }
    // A notice that is not due yet may be due now, because the listener is back.
    const more = ended > 0 && (behind || pending.length === window || resumeNotice !== undefined);
    return { ended, more, lost: false, resumeAt };
  }

  /**
   * Reports dropped events when a notice is due (P4). A repeat after a crash has the same event and delivery.
   * @returns when the next notice is due, in milliseconds since the epoch; undefined when there is nothing to report
   */
  async #report(subscription: SubscriptionDocument): Promise<number | undefined> {
    if (!subscription.drops) return undefined;
    const { id } = subscription;
    const { subscriptions, deliveries, now, publishDropped } = this.#options;
    const { document: noted } = await change(subscriptions, id, (current) =>
      (noticeDueAt(current) ?? Infinity) <= now() ? withNotice(current, now()) : undefined,
    );
    const notice = noted?.drops?.notice;
    if (!noted || !notice) return noted && noticeDueAt(noted);
    const event = await publishDropped(noted, notice);
    const delivery = newDelivery(id, { sequence: notice.sequence, event }, now());
    await deliveries.bulk([{ kind: 'insert', document: delivery }]);
    await faultPoint('notification.reported');
    const { document: after } = await change(subscriptions, id, (current) => withoutNotice(current, notice));
    return after && noticeDueAt(after);
  }

  /** Creates deliveries for the next events in the log. True when there may be more. */
  async #take(subscription: SubscriptionDocument, limit: number): Promise<boolean> {
    const { log, subscriptions, deliveries, now } = this.#options;
    const { id, project, cursor } = subscription;
    const { events, upTo } = await log.read({ project, after: cursor, filter: subscription, limit });
    if (!upTo) return false;
    const wanted = events.filter((each) => !isOwnNotice(subscription, each));
    await deliveries.bulk(wanted.map((event) => ({ kind: 'insert', document: newDelivery(id, event, now()) })));
    await faultPoint('notification.taken');
    // P1. Another pump that took the same events moved the cursor to the same place. Its deliveries have the same ids.
    await change(subscriptions, id, (current) =>
      current.cursor < upTo.sequence ? { ...current, cursor: upTo.sequence } : undefined,
    );
    return events.length === limit;
  }

  async #attempt(subscription: SubscriptionDocument, delivery: DeliveryDocument): Promise<DeliveryDecision | 'lost'> {
    const { sender, secrets, now, random, retrySeconds, deliveries, stopping } = this.#options;
    const began = now();
    const outcome = await sender.send({
      url: subscription.url,
      secret: secrets.open(subscription.secret) as unknown as string,
      event: delivery.event,
      signal: stopping,
    });
    // A stop of this service is not a failure of the listener. Attempt the delivery again after the start.
    if (stopping.aborted && outcome.status === null) return 'lost';
    await faultPoint('notification.sent');
    const tries = delivery.tries + 1;
    const decision = decide({ outcome, tries, retrySeconds, random: random() });
    const after = await deliveries.replace(
      {
        ...delivery,
        ...fateOf(decision, { outcome, tries, now: now(), url: subscription.url }),
        tries,
        attempts: [
          ...delivery.attempts,
          { at: new Date(began).toISOString(), status: outcome.status, error: outcome.error, ms: now() - began },
        ].slice(-maxStoredAttempts),
      },
      delivery.version,
    );
    await this.#note(subscription.id, decision, outcome);
    return after ? decision : 'lost'; // P5
  }

  /** Records the health of the listener, which the subscription shows. */
  async #note(id: string, decision: DeliveryDecision, { error }: DeliveryOutcome): Promise<void> {
    const { subscriptions, now } = this.#options;
    const at = new Date(now()).toISOString();
    const noted =
      decision.kind === 'delivered'
        ? { last_success_at: at }
        : {
            last_failure_at: at,
            last_error: error,
            ...(decision.kind === 'gone' && { status: 'disabled' as const }),
          };
    await change(subscriptions, id, (current) => ({ ...current, ...noted }));
  }
}

function fateOf(
  decision: DeliveryDecision,
  { outcome, tries, now, url }: { outcome: DeliveryOutcome; tries: number; now: number; url: string },
): Pick<DeliveryDocument, 'status' | 'due_at' | 'failure'> {
  switch (decision.kind) {
    case 'delivered':
      return { status: 'delivered', due_at: null, failure: null };
    case 'again':
      return { status: 'pending', due_at: now + decision.inMs, failure: null };
    case 'gone':
    case 'dead': {
      const { origin } = new URL(url);
      const why = outcome.error ?? 'it failed';
      return {
        status: 'dead',
        due_at: null,
        failure: {
          code: decision.kind === 'gone' ? 'Conflict' : 'Unavailable',
          message:
            decision.kind === 'gone'
              ? `The listener at ${origin} answered 410 (no more events); the subscription is disabled.`
              : `The listener at ${origin} did not accept the event in ${tries} attempts. Last attempt: ${why}.`,
          remedy: 'Fix the listener, then replay the delivery; the replay also enables the subscription again.',
          details: { tries, status: outcome.status },
        },
      };
    }
  }
}
