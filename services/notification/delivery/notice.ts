/** Reports to a listener that the log removed events before it received them. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { faultPoint } from '@anneal/runtime/fault.ts';
import { change } from '@anneal/store/change.ts';
import { noticeDueAt, withNotice, withoutNotice } from '../documents/drops.ts';
import type { DroppedRun, SubscriptionDocument, Subscriptions } from '../documents/subscription.ts';
import { newDelivery, type Deliveries } from './deliveries.ts';

interface NoticeOptions {
  readonly subscriptions: Subscriptions;
  readonly deliveries: Deliveries;
  readonly now: () => number;
  /** Publishes the event about dropped events, with the same id at every repeat, and returns it. */
  readonly publishDropped: (subscription: SubscriptionDocument, dropped: DroppedRun) => Promise<Envelope>;
}

/**
 * Makes a delivery of the notice when one is due. A repeat after a crash has the same event and delivery.
 * @returns when the next notice is due, in milliseconds since the epoch; undefined when there is nothing to report
 */
export async function reportDropped(
  subscription: SubscriptionDocument,
  { subscriptions, deliveries, now, publishDropped }: NoticeOptions,
): Promise<number | undefined> {
  if (!subscription.drops) return undefined;
  const { id } = subscription;
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
