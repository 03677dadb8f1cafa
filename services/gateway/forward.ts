/**
 * Requests for identity resources, which version 0.1.0 sent to the gateway. They go on to the identity service, under the
 * same ids. Needed until no installation upgrades from 0.1.0: scheduling sends new ones to the identity service itself.
 */
import type { MessageRoute } from '@anneal/bus/consume/route.ts';
import type { Bus } from '@anneal/bus/port.ts';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { providerRoutes } from '@anneal/provider/routes.ts';

/** Passes each request for a resource on. */
export function forwardedRequests(bus: Pick<Bus, 'send'>): MessageRoute[] {
  const pass = (message: Envelope): Promise<void> =>
    bus.send({ queue: requestsQueue('identity'), messages: [message] });
  return providerRoutes({ take: (_action, message) => pass(message), signal: pass });
}
