/**
 * The latest delivery attempts of a subscription, or of the actions of an alarm: a ring of documents with some dozen
 * attempts each, so that an attempt costs no write of its own. A document that is written again replaces the oldest one.
 */
import type { attemptSchema, DeliveryView } from '@anneal/contracts/calls/deliveries.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { z } from 'zod';
import type { BulkOperation, Collection, Document, Store } from '@anneal/store/port.ts';
import type { DeliveryOutcome } from '../sinks/outcome.ts';

export type Attempt = z.infer<typeof attemptSchema>;

/** An attempt with its times, in milliseconds since the epoch. */
export interface EndedAttempt {
  readonly outcome: DeliveryOutcome;
  readonly began: number;
  readonly now: number;
}

export interface AttemptsDocument extends Document {
  /** Or an alarm. */
  readonly subscription_id: string;
  /** Grows with each document of the subscription. */
  readonly number: number;
  readonly attempts: readonly Attempt[];
}

export type AttemptLog = Collection<AttemptsDocument>;

/** A document is full when it has this many attempts. */
const perDocument = 25;

export const openAttempts = (store: Store): Promise<AttemptLog> =>
  store.collection<AttemptsDocument>({
    name: 'notification_attempts',
    indexes: [{ fields: ['subscription_id', 'number'] }],
  });

/** An attempt as a delivery stores it. */
export const storedAttempt = ({ outcome, began, now }: EndedAttempt): DeliveryView['attempts'][number] => ({
  at: new Date(began).toISOString(),
  status: outcome.status,
  error: outcome.error,
  ms: now - began,
});

/** An attempt as the log stores it: it names the first of its events. */
export const loggedAttempt = (
  { event, sequence, events }: { readonly event: Envelope; readonly sequence: number; readonly events: number },
  ended: EndedAttempt,
): Attempt => ({
  ...storedAttempt(ended),
  event_id: event.id,
  event_type: event.type,
  ...(event.subject !== undefined && { subject: event.subject }),
  events,
  sequence,
});

/** The writer of one run of a courier, or of the actions of one alarm that are due together. */
export class AttemptRing {
  readonly #subscription: string;
  readonly #slots: number;
  #number: number;
  #open: Attempt[] = [];
  #fresh = 0;

  private constructor(subscription: string, slots: number, last: AttemptsDocument | number) {
    this.#subscription = subscription;
    this.#slots = slots;
    this.#number = typeof last === 'number' ? last + 1 : last.number;
    if (typeof last !== 'number') this.#open = [...last.attempts];
  }

  /** @param last the number of the latest document of earlier runs. The ring fills it up before it begins another. */
  static async open(
    attempts: AttemptLog,
    { subscription, keep, last }: { subscription: string; keep: number; last: number },
  ): Promise<AttemptRing> {
    const slots = Math.ceil(keep / perDocument) + 1;
    const latest = last > 0 ? await attempts.get(`${subscription}:${last % slots}`) : undefined;
    const isOpen = latest?.number === last && latest.attempts.length < perDocument;
    return new AttemptRing(subscription, slots, isOpen ? latest : last);
  }

  add(attempt: Attempt): void {
    this.#open.push(attempt);
    this.#fresh += 1;
  }

  /** The write that stores the attempts since the last call; undefined when there are none. */
  write(): { operation: BulkOperation<AttemptsDocument>; number: number } | undefined {
    if (this.#fresh === 0) return undefined;
    const number = this.#number;
    const operation: BulkOperation<AttemptsDocument> = {
      kind: 'put',
      document: {
        id: `${this.#subscription}:${number % this.#slots}`,
        subscription_id: this.#subscription,
        number,
        attempts: this.#open,
      },
    };
    this.#fresh = 0;
    if (this.#open.length >= perDocument) {
      this.#open = [];
      this.#number += 1;
    }
    return { operation, number };
  }
}

/** The latest attempts, the newest first. */
export async function latestAttempts(attempts: AttemptLog, subscription: string, limit: number): Promise<Attempt[]> {
  const documents = await attempts.find({
    where: { subscription_id: subscription },
    orderBy: ['number'],
    descending: true,
    limit: Math.ceil(limit / perDocument) + perDocument,
  });
  return documents.flatMap((each) => each.attempts.toReversed()).slice(0, limit);
}

/** Removes the attempts of a deleted subscription. */
export async function removeAttempts(attempts: AttemptLog, subscription: string): Promise<void> {
  const documents = await attempts.find({ where: { subscription_id: subscription } });
  await attempts.bulk(documents.map(({ id }) => ({ kind: 'remove', id })));
}
