/** Deletes a subscription with its deliveries, attempts and its subscription for dead letters. A repeat has no effect. */
import { change } from '@anneal/store/change.ts';
import { removeAttempts, type AttemptLog } from '../delivery/attempt-log.ts';
import type { Deliveries } from '../delivery/deliveries.ts';
import { deadLetterId, type SubscriptionDocument, type Subscriptions } from '../documents/subscription.ts';

export interface RemovalOptions {
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly dispatch: { readonly attempts: AttemptLog; forget(subscription: string): Promise<void> };
}

export async function removeSubscription(options: RemovalOptions, found: SubscriptionDocument): Promise<void> {
  const { deliveries, dispatch, subscriptions } = options;
  const { id } = found;
  // Disable it first, so that a running courier creates no new deliveries.
  await change(subscriptions, found, (current) =>
    current.status === 'active' ? { ...current, status: 'disabled' as const } : undefined,
  );
  await dispatch.forget(id);
  for (;;) {
    const some = await deliveries.find({ where: { subscription_id: id }, limit: 500 });
    if (some.length === 0) break;
    await deliveries.bulk(some.map((each) => ({ kind: 'remove', id: each.id })));
  }
  await removeAttempts(dispatch.attempts, id);
  // Before its parent, so that a repeat after a crash finds it.
  const deadLetters = found.dead_letter === undefined ? undefined : await subscriptions.get(deadLetterId(id));
  if (deadLetters) await removeSubscription(options, deadLetters);
  await subscriptions.remove(id);
}

/** Deletes a subscription that has ended and whose listener has received all. Called after each run of its courier. */
export async function removeEnded(options: RemovalOptions, id: string): Promise<void> {
  const found = await options.subscriptions.get(id);
  if (found?.ends_after === undefined || found.status !== 'active' || found.cursor < found.ends_after) return;
  if ((await options.deliveries.count({ subscription_id: id, status: 'pending' })) > 0) return;
  await removeSubscription(options, found);
}
