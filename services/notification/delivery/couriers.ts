/** The couriers that run in this process, at most one for each subscription. */
import type { Envelope } from '@anneal/contracts/envelope.ts';
import type { EventDocument } from '../events/event-log.ts';
import { Courier, type CourierOptions } from './courier.ts';
import { trim } from './deliveries.ts';
import { sendOnce } from './send-once.ts';
import type { DeliveryOutcome } from '../sinks/outcome.ts';
import type { SubscriptionDocument } from '../documents/subscription.ts';
import { signingKeys } from './signing-keys.ts';

export interface CouriersOptions extends Omit<CourierOptions, 'textOf'> {
  /** Called with the time of the next run, when there is more to deliver. */
  readonly resume: (subscription: string, at: number) => Promise<void>;
  /** Publishes that a run has disabled the subscription. */
  readonly announceDisabled: (subscription: string) => Promise<void>;
  /** Called after each run that leaves nothing to do for a subscription that ends. */
  readonly onEnded: (subscription: string) => Promise<void>;
}

export class Couriers {
  readonly #options: CouriersOptions;
  readonly #running = new Map<string, Courier>();
  readonly #texts = new WeakMap<Envelope, string>();
  readonly #textOf = (event: Envelope): string => {
    const known = this.#texts.get(event);
    if (known !== undefined) return known;
    const text = JSON.stringify(event);
    this.#texts.set(event, text);
    return text;
  };

  constructor(options: CouriersOptions) {
    this.#options = options;
  }

  /** Passes events that were just stored to all running couriers. Returns the subscriptions that have one. */
  push(kept: readonly EventDocument[]): Set<string> {
    const took = new Set<string>();
    for (const [id, courier] of this.#running) if (courier.push(kept)) took.add(id);
    return took;
  }

  /** Makes a running courier begin again with the stored subscription. False when none runs here. */
  reload(subscription: string): boolean {
    return this.#running.get(subscription)?.reload() ?? false;
  }

  /** Sends one event to the listener, whatever the state of the subscription. */
  async test(subscription: SubscriptionDocument, event: Envelope): Promise<DeliveryOutcome> {
    const { openSink, secrets, now, stopping } = this.#options;
    const isBatch = (subscription.batch_size ?? 1) > 1;
    const keys = signingKeys(subscription, { secrets, now: now() });
    const request = { id: event.id, events: [event], textOf: this.#textOf, isBatch, keys } as const;
    return sendOnce(openSink(subscription), request, stopping);
  }

  /** Delivers until the subscription is idle. The handler of its timer. */
  async run(id: string, renew: () => Promise<unknown>): Promise<void> {
    const { resume, announceDisabled, onEnded, deliveries, keepDeliveries } = this.#options;
    for (;;) {
      const courier = new Courier(id, { ...this.#options, textOf: this.#textOf });
      this.#running.set(id, courier);
      const end = await courier.run(renew).finally(() => this.#running.delete(id));
      if (end.disabled) await announceDisabled(id);
      if (end.again) continue;
      if (end.resumeAt !== undefined) await resume(id, end.resumeAt);
      if (courier.hasBuried) await trim(deliveries, id, keepDeliveries);
      if (end.resumeAt === undefined && courier.mayEnd) await onEnded(id);
      return;
    }
  }
}
