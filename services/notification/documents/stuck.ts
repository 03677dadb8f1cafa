/** Decides which subscriptions deliver nothing until a person does something. Pure. */
import type { StuckSubscription } from '@anneal/contracts/calls/subscriptions.ts';
import type { SubscriptionDocument } from './subscription.ts';

/**
 * The subscriptions that are disabled, and those whose listeners have failed or not agreed since before `since`: a listener
 * that fails for a moment is tried again. A paused one was paused by a person. The longest first.
 */
export const stuckOf = (subscriptions: readonly SubscriptionDocument[], since: string): StuckSubscription[] =>
  subscriptions
    .flatMap((subscription) => {
      const trouble = troubleOf(subscription);
      const { id, name, status } = subscription;
      const isLong = trouble && (status === 'disabled' || trouble.since <= since);
      return isLong ? [{ id, name, status, ...trouble }] : [];
    })
    .toSorted((a, b) => a.since.localeCompare(b.since));

function troubleOf(subscription: SubscriptionDocument): Pick<StuckSubscription, 'reason' | 'since'> | undefined {
  const { status, outage, created_at: created, last_success_at: success, last_error: error } = subscription;
  switch (status) {
    case 'paused':
      return undefined;
    case 'disabled':
      return {
        reason: `is disabled and delivers nothing: ${subscription.reason ?? 'an event of it was refused'}`,
        since: subscription.last_failure_at ?? created,
      };
    case 'unconfirmed':
      return { reason: 'delivers nothing until its listener agrees to receive events', since: created };
    case 'active': {
      if (!outage) return undefined;
      const past = success === null ? 'has never delivered an event' : `has delivered nothing since ${success}`;
      return {
        reason: `${past}: ${error ?? 'its listener does not answer'}`,
        since: new Date(outage.since).toISOString(),
      };
    }
  }
}
