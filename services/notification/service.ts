/** The notification service: stores the log of events and delivers them to subscribers. */
import { eventKept, queueFilled } from '@anneal/contracts/events.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { definitionsByFile } from '@anneal/contracts/registry.ts';
import { defineService } from '@anneal/runtime/service/service.ts';
import { openAttempts } from './delivery/attempt-log.ts';
import { openDeliveries } from './delivery/deliveries.ts';
import { openDispatch } from './dispatch.ts';
import { SubscriptionRequests } from './requests.ts';
import { notificationSettings } from './settings.ts';
import { openSubscriptions } from './subscriptions.ts';

/** Events that are not stored. They only report that there is something to read. */
const fleeting = new Set<string>([queueFilled.type, eventKept.type]);

export const notificationService = defineService({
  name: 'notification',
  settings: notificationSettings,
  async start(context, settings) {
    const { bus, store } = context;
    const subscriptions = await openSubscriptions(store);
    const deliveries = await openDeliveries(store);
    const attempts = await openAttempts(store);
    const dispatch = await openDispatch(context, settings, { subscriptions, deliveries, attempts });
    const requests = new SubscriptionRequests({ context, settings, subscriptions, deliveries, dispatch });
    const consumer = await bus.consume(requestsQueue('notification'), requests.handler());

    const kept = (definitionsByFile['events'] ?? []).map(({ type }) => type).filter((type) => !fleeting.has(type));
    const listener = await bus.subscribe(
      kept,
      async ({ message }) => {
        await dispatch.events.append({ ...message, project: message.project ?? adminProject.id });
      },
      // A single writer keeps the log in the order of the bus. Concurrency lets it write many events at once.
      { group: 'notification', singleActive: true, concurrency: 128 },
    );

    return {
      async stop() {
        await listener.stop();
        await dispatch.events.settled();
        dispatch.abort();
        await consumer.stop();
        await dispatch.close();
      },
    };
  },
});
