/** Saves the progress of one run of a courier: first the deliveries, then the attempts, then the cursor (P1). */
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change } from '@anneal/store/change.ts';
import type { BulkOperation } from '@anneal/store/port.ts';
import { isOwnNotice } from '../documents/drops.ts';
import type { SubscriptionDocument, Subscriptions } from '../documents/subscription.ts';
import { AttemptRing, type Attempt, type AttemptLog } from './attempt-log.ts';
import { type Deliveries, type DeliveryDocument, deliveryId } from './deliveries.ts';
import { subjectItem, type SubjectItem } from './lanes.ts';
import type { AllowedPace } from './allowed-pace.ts';
import type { DeliveryProgress } from './progress.ts';
import type { EndReason } from './run-phase.ts';
import { shownAddress } from '../sinks/sink-address.ts';

export interface SaverOptions {
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly attempts: AttemptLog;
  readonly keepDeliveries: number;
  /** Maximum number of stored deliveries of a subscription. Further events of a failing subject stay in the log. */
  readonly pendingDeliveries: number;
  readonly now: () => number;
  /** Publishes that a listener refused an event for good. A repeat for the same attempt has the same id. */
  readonly publishDead: (subscription: SubscriptionDocument, item: SubjectItem) => Promise<void>;
}

/** The subscription after a save, and why the run must end, if it must. */
export interface SaveResult {
  readonly subscription: SubscriptionDocument;
  readonly why: EndReason | undefined;
}

interface OpenedSaver {
  readonly subscription: SubscriptionDocument;
  readonly run: string;
  readonly progress: DeliveryProgress;
  readonly pace: AllowedPace | undefined;
}

export class ProgressSaver {
  readonly #options: SaverOptions;
  readonly #run: string;
  readonly #progress: DeliveryProgress;
  readonly #pace: AllowedPace | undefined;
  readonly #ring: AttemptRing;
  #subscription: SubscriptionDocument;
  /** Stored deliveries in memory. */
  #stored = 0;
  /** True when the store has more deliveries than the memory. */
  #hasMore = false;
  #hasBuried = false;

  private constructor(
    options: SaverOptions,
    { subscription, run, progress, pace, ring }: OpenedSaver & { ring: AttemptRing },
  ) {
    this.#options = options;
    this.#subscription = subscription;
    this.#run = run;
    this.#progress = progress;
    this.#pace = pace;
    this.#ring = ring;
  }

  /** Reads the stored deliveries into the lanes. Returns the numbers of the log that need no delivery any more. */
  static async open(
    options: SaverOptions,
    given: OpenedSaver & { mustRetry: boolean },
  ): Promise<{ saver: ProgressSaver; known: Set<number> }> {
    const { deliveries, attempts, pendingDeliveries, keepDeliveries } = options;
    const { subscription, progress, mustRetry } = given;
    const { id, ahead = [], attempts_number: last = 0 } = subscription;
    const stored = await deliveries.find({
      where: { subscription_id: id, status: 'pending' },
      orderBy: ['sequence'],
      limit: pendingDeliveries,
    });
    const ring = await AttemptRing.open(attempts, { subscription: id, keep: keepDeliveries, last });
    const saver = new ProgressSaver(options, { ...given, ring });
    const known = new Set(ahead);
    for (const each of stored) {
      progress.lanes.add(subjectItem(each, mustRetry ? { ...each, due_at: 0 } : each));
      if (!isOwnNotice(subscription, each)) known.add(each.sequence);
    }
    saver.#stored = stored.length;
    saver.#hasMore = stored.length === pendingDeliveries;
    return { saver, known };
  }

  /**
   * P2: `left` when the store has deliveries that are not read; one may be of the subject of an event in the log. `done`
   * when all that were read are settled, so the next run must read those.
   */
  get unread(): 'none' | 'left' | 'done' {
    if (!this.#hasMore) return 'none';
    return this.#stored === 0 ? 'done' : 'left';
  }

  /** True when this run has given an event up, so that the store may have more dead deliveries than it keeps. */
  get hasBuried(): boolean {
    return this.#hasBuried;
  }

  log(attempt: Attempt): void {
    this.#ring.add(attempt);
  }

  /** Saves what happened since the last save. A repeat after a crash stores the same. */
  async save(disabledBecause: string | undefined): Promise<SaveResult> {
    const { health, ...unsaved } = this.#progress.takeUnsaved();
    // First, so that a crash cannot lose it: the event is still to be attempted.
    if (this.#subscription.dead_letter !== undefined) {
      for (const item of unsaved.dead) await this.#options.publishDead(this.#subscription, item);
    }
    await faultPoint('notification.buried');
    await this.#saveDeliveries(unsaved);
    await faultPoint('notification.filed');
    const ring = this.#ring.write();
    if (ring) await this.#options.attempts.bulk([ring.operation]);
    const position = this.#progress.lanes.position();
    const { document } = await change(this.#options.subscriptions, this.#subscription, (current) => {
      if (current.run !== this.#run) return undefined;
      const cursor = Math.max(current.cursor, position.cursor);
      return {
        ...current,
        ...health,
        cursor,
        ahead: position.ahead.filter((each) => each > cursor),
        outage: this.#progress.outage ?? null,
        ...(this.#pace && { paced_until: this.#pace.sentUntil }),
        ...(ring && { attempts_number: ring.number }),
        ...(disabledBecause !== undefined && {
          status: 'disabled' as const,
          reason: disabledBecause,
          outage: null,
          unannounced: true,
        }),
      };
    });
    await faultPoint('notification.saved');
    if (document?.run !== this.#run) return { subscription: this.#subscription, why: { kind: 'lost' } };
    // The log has removed events that were not delivered (drops.ts).
    if (document.cursor > position.cursor) this.#progress.lanes.forget(document.cursor);
    this.#subscription = document;
    const hasChanged = document.status !== 'active' && disabledBecause === undefined;
    return { subscription: document, why: hasChanged ? { kind: 'changed' } : undefined };
  }

  async #saveDeliveries({
    delivered,
    dead,
    changed,
  }: {
    delivered: readonly SubjectItem[];
    dead: readonly SubjectItem[];
    changed: readonly SubjectItem[];
  }): Promise<void> {
    const { deliveries, pendingDeliveries, now } = this.#options;
    const { lanes } = this.#progress;
    const unfiled = lanes.unfiled(Math.max(0, pendingDeliveries - this.#stored));
    const filed = unfiled.map(({ item, dueAt }) => ({ item, document: this.#draft(item, dueAt ?? now()) }));
    const operations: BulkOperation<DeliveryDocument>[] = [
      ...filed.map(({ document }) => ({ kind: 'put' as const, document })),
      ...changed.flatMap((item) =>
        item.document ? [{ kind: 'put' as const, document: this.#draft(item, lanes.dueAt(item) ?? now()) }] : [],
      ),
      ...dead.map((item) => ({ kind: 'put' as const, document: this.#draft(item, 'dead') })),
      // A delivery that an operator has replayed meanwhile has another version. It stays, and is sent again.
      ...delivered.flatMap(({ document }) =>
        document
          ? [{ kind: 'remove' as const, id: document.id, ...(document.version > 0 && { version: document.version }) }]
          : [],
      ),
    ];
    for (const item of changed) {
      if (item.document && item.document.version > 0)
        item.document = { ...item.document, version: item.document.version + 1 };
    }
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
    if (dead.length > 0) this.#hasBuried = true;
    this.#stored -= delivered.length + dead.filter(({ document }) => document).length;
  }

  #draft(item: SubjectItem, fate: number | 'dead'): Omit<DeliveryDocument, 'version'> {
    return deliveryDraft({ subscription: this.#subscription, item, fate });
  }
}

/**
 * The delivery that stores an event of a lane.
 * @param fate the time of the next attempt, in milliseconds since the epoch, or that it was given up
 */
function deliveryDraft({
  subscription: { id, url },
  item,
  fate,
}: {
  subscription: Pick<SubscriptionDocument, 'id' | 'url'>;
  item: SubjectItem;
  fate: number | 'dead';
}): Omit<DeliveryDocument, 'version'> {
  const { sequence, subject, event, tries, attempts, document } = item;
  const last = attempts.at(-1);
  return {
    id: document?.id ?? deliveryId(id, event.id),
    subscription_id: id,
    sequence,
    subject,
    event,
    tries,
    attempts,
    ...(fate === 'dead'
      ? {
          status: 'dead',
          due_at: null,
          failure: {
            code: 'Unavailable',
            message: `The listener at ${shownAddress(url)} did not accept the event in ${tries} attempts. Last attempt: ${last?.error ?? 'it failed'}.`,
            remedy: 'Fix the listener, then replay the delivery; the replay also enables the subscription again.',
            details: { tries, status: last?.status ?? null },
          },
        }
      : { status: 'pending', due_at: fate, failure: null }),
  };
}
