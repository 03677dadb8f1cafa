/**
 * Subscriptions to events: addresses to which the endpoint posts them. Like those of many controllers, they do not survive
 * a restart, and end after deliveries that fail.
 */
import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bodyOf } from './changes.ts';
import { bmcPath, root, type ById, type BmcEndpoint } from './endpoint.ts';
import { notFound, RedfishError } from './errors.ts';
import { collection, redfishResource } from './representation.ts';

export const subscriptionsPath = `${root}/EventService/Subscriptions`;

/** Real controllers have about as many. */
const mostSubscriptions = 10;
const deliveryAttempts = 3;
const deliveryMs = 5_000;

interface Subscription {
  readonly id: string;
  readonly destination: string;
  readonly context: string;
  /** Keeps the events of a subscription in order. */
  sending: Promise<void>;
}

export class EventSubscriptions {
  readonly #all = new Map<string, Subscription>();
  /** In the words of the event service. */
  readonly policy = { DeliveryRetryAttempts: deliveryAttempts, DeliveryRetryIntervalSeconds: 0 };

  ids(): string[] {
    return [...this.#all.keys()];
  }

  /** @throws RedfishError 404 */
  get(id: string, path: string): Subscription {
    const found = this.#all.get(id);
    if (!found) throw notFound(path);
    return found;
  }

  add(destination: string, context: string): Subscription {
    if (this.#all.size >= mostSubscriptions) {
      throw new RedfishError(
        'EventSubscriptionLimitExceeded',
        `The service has ${mostSubscriptions} subscriptions and takes no more.`,
      );
    }
    const subscription = { id: randomUUID(), destination, context, sending: Promise.resolve() };
    this.#all.set(subscription.id, subscription);
    return subscription;
  }

  remove({ id }: Subscription): void {
    this.#all.delete(id);
  }

  send(event: object): void {
    for (const subscription of this.#all.values()) {
      subscription.sending = subscription.sending.then(() => this.#deliver(subscription, event));
    }
  }

  /** The subscription ends after the last attempt of an event that its address does not take. */
  async #deliver(subscription: Subscription, event: object): Promise<void> {
    const { id, destination, context } = subscription;
    for (let attempt = 1; this.#all.has(id); attempt += 1) {
      const isTaken = await fetch(destination, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...event, Context: context }),
        signal: AbortSignal.timeout(deliveryMs),
      }).then(
        ({ ok }) => ok,
        () => false,
      );
      if (isTaken) return;
      if (attempt === deliveryAttempts) this.remove(subscription);
    }
  }
}

export function eventSubscriptionRoutes({ app }: BmcEndpoint, subscriptions: EventSubscriptions): void {
  app.get(subscriptionsPath, () =>
    collection({
      path: subscriptionsPath,
      type: 'EventDestinationCollection',
      name: 'Subscriptions',
      members: subscriptions.ids().map((id) => `${subscriptionsPath}/${id}`),
    }),
  );
  const subscribe = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const { Destination: destination, Protocol: protocol, Context: context } = bodyOf(request.body);
    if (typeof destination !== 'string' || !URL.canParse(destination) || protocol !== 'Redfish') {
      throw new RedfishError(
        'PropertyMissing',
        'A Destination, which is an address, and the Protocol "Redfish" are required.',
        {
          properties: ['Destination', 'Protocol'],
        },
      );
    }
    const made = subscriptions.add(destination, typeof context === 'string' ? context : '');
    return reply.code(201).header('location', `${subscriptionsPath}/${made.id}`).send(showSubscription(made));
  };
  // The standard also lets clients post to the collection's members.
  app.post(subscriptionsPath, subscribe);
  app.post(`${subscriptionsPath}/Members`, subscribe);
  app.get<ById>(`${subscriptionsPath}/:id`, (request) =>
    showSubscription(subscriptions.get(request.params.id, bmcPath(request))),
  );
  app.delete<ById>(`${subscriptionsPath}/:id`, (request, reply) => {
    subscriptions.remove(subscriptions.get(request.params.id, bmcPath(request)));
    return reply.code(204).send();
  });
}

const showSubscription = ({ id, destination, context }: Subscription): object =>
  redfishResource(`${subscriptionsPath}/${id}`, 'v1_14_1.EventDestination', {
    Id: id,
    Name: `Subscription ${id}`,
    Destination: destination,
    Protocol: 'Redfish',
    Context: context,
    EventFormatType: 'Event',
    SubscriptionType: 'RedfishEvent',
    DeliveryRetryPolicy: 'TerminateAfterRetries',
    Status: { State: 'Enabled', Health: 'OK' },
  });
