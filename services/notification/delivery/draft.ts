/** The delivery that stores an event of a lane. Pure. */
import { shownAddress } from '../sinks/sink-address.ts';
import type { SubscriptionDocument } from '../documents/subscription.ts';
import { deliveryId, type DeliveryDocument } from './deliveries.ts';
import type { SubjectItem } from './lanes.ts';

/** @param fate the time of the next attempt, in milliseconds since the epoch, or that it was given up */
export function deliveryDraft({
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
