/**
 * Counts the events that the log removed before a subscription could deliver them. Pure.
 *
 * The log counts before it removes. The count and the cursor are one write, so a repeated removal counts nothing twice.
 * The count is never too low. It may include events that a pump takes from the log at the same moment.
 *
 * A notice passes through three states. `unreported` grows with each removal until a notice is due. Then it becomes the
 * `notice` to send, whose numbers and id do not change, so that a crash repeats the same notice. Once the notice is
 * durable, it is cleared.
 */
import { subscriptionEvent } from '@anneal/contracts/events.ts';
import type { Dropped } from '@anneal/contracts/calls/subscriptions.ts';
import type { EventDocument } from '../events/event-log.ts';
import { wantedBy, type SubscriptionDocument, type DroppedRun } from './subscription.ts';

/** A listener that stays behind gets this many milliseconds of losses in one notice, so that notices do not fill the log. */
export const noticeEveryMs = 3_600_000;

/** The subscription after the log has removed these events, or undefined when it loses none of them. */
export function afterRemoval(
  subscription: SubscriptionDocument,
  removed: readonly EventDocument[],
): SubscriptionDocument | undefined {
  const { cursor, ahead = [], drops } = subscription;
  const wants = wantedBy(subscription);
  const settled = new Set(ahead);
  const lost = removed.filter(
    (each) => each.sequence > cursor && !settled.has(each.sequence) && wants(each) && !isOwnNotice(subscription, each),
  );
  const [first] = lost;
  const last = lost.at(-1);
  if (!first || !last) return undefined;
  const run = { count: lost.length, since: first.event.time, last: last.event.time };
  return {
    ...subscription,
    cursor: last.sequence,
    drops: {
      total: joined(drops?.total, run),
      unreported: { ...joined(drops?.unreported, run), sequence: last.sequence },
      notice: drops?.notice ?? null,
      reported_at: drops?.reported_at ?? null,
    },
  };
}

const joined = (before: Dropped | null | undefined, run: Dropped): Dropped => ({
  count: (before?.count ?? 0) + run.count,
  since: before?.since ?? run.since,
  last: run.last,
});

/**
 * The time from which the next notice is due, in milliseconds since the epoch; undefined when there is none to send.
 * A notice is due when the listener is back after a failure, and otherwise at most once in {@link noticeEveryMs}.
 */
export function noticeDueAt(subscription: SubscriptionDocument): number | undefined {
  const { drops, last_success_at: success, last_failure_at: failure } = subscription;
  if (!drops) return undefined;
  if (drops.notice) return 0;
  if (!drops.unreported) return undefined;
  if (drops.reported_at === null) return 0;
  const failed = failure === null ? -Infinity : Date.parse(failure);
  const isBack = success !== null && Date.parse(success) >= failed && failed >= drops.reported_at;
  return isBack ? 0 : drops.reported_at + noticeEveryMs;
}

/**
 * Whether a subscription that is not active must report its first loss now. No courier runs for it, so its operator would
 * learn of the loss only after it is resumed. Its later losses are reported then.
 */
export const isFirstLoss = ({ status, drops, last_success_at: success }: SubscriptionDocument): boolean =>
  status !== 'active' &&
  drops?.unreported != null &&
  drops.notice === null &&
  (drops.reported_at === null || (success !== null && Date.parse(success) >= drops.reported_at));

/** The subscription with a notice to send: the one in progress, or all that is not reported yet. */
export function withNotice(subscription: SubscriptionDocument, now: number): SubscriptionDocument {
  const { drops } = subscription;
  if (!drops?.unreported || drops.notice) return subscription;
  return { ...subscription, drops: { ...drops, notice: drops.unreported, unreported: null, reported_at: now } };
}

/** The subscription after its notice is durable. */
export function withoutNotice(subscription: SubscriptionDocument, sent: DroppedRun): SubscriptionDocument {
  const { drops } = subscription;
  if (drops?.notice?.sequence !== sent.sequence) return subscription;
  return { ...subscription, drops: { ...drops, notice: null } };
}

/** True for a notice about this subscription. It goes to the listener without the log, or to the dead-letter sink. */
export const isOwnNotice = ({ id }: { readonly id: string }, { event }: Pick<EventDocument, 'event'>): boolean =>
  (event.type === subscriptionEvent.dropped.type || event.type === subscriptionEvent.dead.type) && event.subject === id;
