/** Deliveries: one event for one subscription, with all attempts. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { Failure } from '@anneal/contracts/errors.ts';
import type { DeliveryView } from '@anneal/contracts/calls/deliveries.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import type { EventDocument } from '../events/event-log.ts';
import type { SubscriptionDocument } from '../documents/subscription.ts';
import type { Attempt } from './attempt-log.ts';

export interface DeliveryDocument extends Document {
  readonly subscription_id: string;
  /** Sequence number of the event in the log. Deliveries are created in this order. */
  readonly sequence: number;
  /** Deliveries of the same subject wait for each other. */
  readonly subject: string;
  /** A copy, because the log may drop the event before the listener is back. */
  readonly event: Envelope;
  readonly status: DeliveryView['status'];
  /** AttemptLog since it was created or replayed. */
  readonly tries: number;
  readonly attempts: DeliveryView['attempts'];
  /** Milliseconds since the epoch. */
  readonly due_at: number | null;
  readonly failure: Failure | null;
}

export type Deliveries = Collection<DeliveryDocument>;

export const maxStoredAttempts = 20;

export const openDeliveries = (store: Store): Promise<Deliveries> =>
  store.collection<DeliveryDocument>({
    name: 'notification_deliveries',
    indexes: [{ fields: ['subscription_id', 'status', 'sequence'] }, { fields: ['subscription_id', 'sequence'] }],
  });

/** Derived, so that a repeated creation has no effect. */
export const deliveryId = (subscription: string, event: string): string => `${subscription}:${event}`;

/** The event of a delivery of this subscription. */
export const eventOfDelivery = (subscription: string, delivery: string): string =>
  delivery.startsWith(`${subscription}:`) ? delivery.slice(subscription.length + 1) : '';

export const newDelivery = (
  subscription: string,
  { sequence, event }: Pick<EventDocument, 'sequence' | 'event'>,
  now: number,
): Omit<DeliveryDocument, 'version'> => ({
  id: deliveryId(subscription, event.id),
  subscription_id: subscription,
  sequence,
  // An event without a subject needs no order.
  subject: event.subject ?? event.id,
  event,
  status: 'pending',
  tries: 0,
  attempts: [],
  due_at: now,
  failure: null,
});

export const deliveryView = (document: DeliveryDocument): DeliveryView => ({
  id: document.id,
  subscription_id: document.subscription_id,
  event_id: document.event.id,
  event_type: document.event.type,
  status: document.status,
  attempts: document.attempts,
  next_attempt_at: document.due_at === null ? null : new Date(document.due_at).toISOString(),
  failure: document.failure,
});

/** A request as a delivery of its first event. */
export const viewOfAttempt = (subscription: string, attempt: Attempt): DeliveryView => {
  const { at, status, error, ms, event_id: event, event_type: type } = attempt;
  return {
    id: deliveryId(subscription, event),
    subscription_id: subscription,
    event_id: event,
    event_type: type,
    status: error === null ? 'delivered' : 'pending',
    attempts: [{ at, status, error, ms }],
    next_attempt_at: null,
    failure: null,
  };
};

/** An event that only the log has, as a delivery with its attempts among the latest. */
export const viewOfWaiting = (
  { id: subscription, outage }: Pick<SubscriptionDocument, 'id' | 'outage'>,
  { id: event, type }: Envelope,
  latest: readonly Attempt[],
): DeliveryView => ({
  id: deliveryId(subscription, event),
  subscription_id: subscription,
  event_id: event,
  event_type: type,
  status: 'pending',
  attempts: latest
    .filter((attempt) => attempt.event_id === event)
    .toReversed()
    .map(({ at, status, error, ms }) => ({ at, status, error, ms })),
  next_attempt_at: outage ? new Date(outage.due_at).toISOString() : null,
  failure: null,
});

/** Removes the oldest finished deliveries beyond `keep`. */
export async function trim(deliveries: Deliveries, subscription: string, keep: number): Promise<void> {
  for (const status of ['delivered', 'dead'] as const) {
    const where = { subscription_id: subscription, status };
    const surplus = (await deliveries.count(where)) - keep;
    if (surplus <= 0) continue;
    const oldest = await deliveries.find({ where, orderBy: ['sequence'], limit: Math.min(surplus, 1000) });
    await deliveries.bulk(oldest.map(({ id }) => ({ kind: 'remove', id })));
  }
}
