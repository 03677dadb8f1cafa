/** The notification service: stores the log of events and delivers them to subscribers. */
import { adminProject } from '@anneal/contracts/project.ts';
import { routeMessages } from '@anneal/bus/consume/route.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { defineService } from '@anneal/runtime/service/service.ts';
import { serveBacklogs } from './subscriptions/backlog.ts';
import { openAttempts } from './delivery/attempt-log.ts';
import { openDeliveries } from './delivery/deliveries.ts';
import { openDispatch } from './subscriptions/dispatch.ts';
import { SubscriptionRequests } from './requests.ts';
import { storedTypes } from './events/event-types.ts';
import { openMeasuring } from './measuring/measuring.ts';
import { mailRoutes } from './subscriptions/mail-requests.ts';
import { openNotificationQuotas } from './quotas.ts';
import { notificationSettings } from './settings.ts';
import { openSubscriptions } from './documents/subscription.ts';

const stopMs = 5_000;

export const notificationService = defineService({
  name: 'notification',
  settings: notificationSettings,
  async start(context, settings) {
    const { bus, store } = context;
    const subscriptions = await openSubscriptions(store);
    const deliveries = await openDeliveries(store);
    const attempts = await openAttempts(store);
    const dispatch = await openDispatch(context, settings, { subscriptions, deliveries, attempts });
    const quotas = await openNotificationQuotas(context, settings);
    const requests = new SubscriptionRequests({ context, settings, quotas, subscriptions, deliveries, dispatch });
    const measuring = await openMeasuring(context, settings, { quotas, attempts });
    const consumer = await bus.consume(
      requestsQueue('notification'),
      routeMessages([
        ...requests.routes(),
        ...mailRoutes(context, settings),
        ...measuring.routes,
        ...quotas.routes(context, {
          subscriptions: (project) => subscriptions.count({ project }),
          ...measuring.used,
        }),
      ]),
    );

    const listener = await bus.subscribe(
      storedTypes(),
      async ({ message }) => {
        const project = message.project ?? adminProject.id;
        await dispatch.events.append({ ...message, project });
        await measuring.onEvent(message, project);
      },
      // A single writer keeps the log in the order of the bus. Concurrency lets it write many events at once, also those
      // of one stack, because the log keeps the order of the calls.
      { group: 'notification', singleActive: true, concurrency: 128, keepsOrder: true },
    );

    await measuring.announce();
    const stopCounting = serveBacklogs(context, { subscriptions, deliveries, events: dispatch.events });

    return {
      async stop() {
        stopCounting();
        // While the store is away, the log would wait for it. What it has not stored is offered again at the next start.
        await listener.stop({ deadlineMs: stopMs });
        await dispatch.events.stop();
        dispatch.abort();
        await consumer.stop();
        await measuring.close();
        await dispatch.close();
      },
    };
  },
});
