/** The notification service: stores the log of events and delivers them to subscribers. */
import { setMaxListeners } from 'node:events';
import { answer, route } from '@anneal/bus/route.ts';
import { definitionsByFile } from '@anneal/contracts/registry.ts';
import { eventKept, queueFilled, subscriptionEvent } from '@anneal/contracts/events.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  deliveryList,
  deliveryReplay,
  eventLog,
  subscriptionCreate,
  subscriptionDelete,
  subscriptionList,
  subscriptionShow,
} from '@anneal/contracts/notification.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import { defineService } from '@anneal/runtime/service.ts';
import { change } from '@anneal/store/change.ts';
import { createTimers } from '@anneal/store/timers.ts';
import { checkUrl } from './address.ts';
import { deliveryView, openDeliveries } from './deliveries.ts';
import { afterRemoval } from './drops.ts';
import { EventLog, type EventDocument } from './event-log.ts';
import { Pump } from './pump.ts';
import { notificationSettings } from './settings.ts';
import {
  createSubscription,
  interested,
  openSubscriptions,
  viewOf,
  type SubscriptionDocument,
} from './subscriptions.ts';
import { createSender } from './webhook.ts';

/** Events that are not stored. They only report that there is something to read. */
const fleeting = new Set<string>([queueFilled.type, eventKept.type]);
const latestShown = 100;
const mostCounted = 1000;

export const notificationService = defineService({
  name: 'notification',
  settings: notificationSettings,
  async start(context, settings) {
    const { bus, store, mint, secrets, log } = context;
    const now = (): number => context.now().getTime();
    const stopping = new AbortController();
    setMaxListeners(0, stopping.signal);

    const subscriptions = await openSubscriptions(store);
    const deliveries = await openDeliveries(store);
    const sender = createSender({
      timeoutMs: settings.timeoutMs,
      allowPrivate: settings.allowPrivate,
      // Listeners compare the time of a signature with their own clocks, so it follows the system clock even when that
      // is set.
      now: Date.now,
    });

    const active = (): Promise<SubscriptionDocument[]> => subscriptions.find({ where: { status: 'active' } });
    const events = await EventLog.open({
      store,
      keep: settings.keepEvents,
      onKept: async (kept) => {
        await stir(interested(await active(), kept));
        await announce(kept);
      },
      onTrim: countDropped,
      onTrimFailed: (error) =>
        log.warn({ err: error }, 'old events not removed from the log; retrying after the next events'),
    });
    const pump = new Pump({
      log: events,
      subscriptions,
      deliveries,
      sender,
      secrets,
      retrySeconds: settings.retrySeconds,
      keepDeliveries: settings.keepDeliveries,
      pendingDeliveries: settings.pendingDeliveries,
      now,
      random: Math.random,
      stopping: stopping.signal,
      resume: (id, at) => timers.set([{ id, dueAt: at, data: null }]),
      async publishDropped({ id, name, project, version }, { sequence, ...dropped }) {
        const event = mint(subscriptionEvent.dropped, {
          id: derivedId(`dropped\n${id}\n${sequence}`),
          data: { ...dropped, subscription_id: id, subscription_name: name, version },
          subject: id,
          project,
        });
        await bus.publish([event]);
        return event;
      },
    });
    const timers = await createTimers({
      store,
      collection: 'notification_timers',
      now,
      // The lease is longer than one attempt. A run that a crash interrupts is resumed after it.
      leaseMs: settings.timeoutMs + 15_000,
      fire: ({ id }) => pump.run(id),
      onError: (error, timer) =>
        log.error({ err: error, subscription: timer.id }, 'delivery to a subscription failed; retrying'),
    });

    async function stir(concerned: readonly Pick<SubscriptionDocument, 'id'>[]): Promise<void> {
      if (concerned.length === 0) return;
      for (const { id } of concerned) pump.stir(id);
      await timers.set(concerned.map(({ id }) => ({ id, dueAt: now(), data: null })));
    }
    /** Counts the events that subscriptions lose when the log removes these. A repeat counts none twice. */
    async function countDropped(old: readonly EventDocument[]): Promise<void> {
      const projects = [...new Set(old.map(({ project }) => project))];
      const behind: SubscriptionDocument[] = [];
      for (const found of await subscriptions.find({ where: { project: { in: projects } } })) {
        if (!afterRemoval(found, old)) continue;
        const { document: counted } = await change(subscriptions, found.id, (current) => afterRemoval(current, old));
        if (counted?.status === 'active') behind.push(counted);
      }
      for (const { id, drops } of behind) {
        log.warn(
          { subscription: id, dropped: drops?.total.count },
          'events removed from the log before their delivery; the listener gets a notice',
        );
      }
      await stir(behind);
    }
    async function announce(kept: readonly EventDocument[]): Promise<void> {
      const projects = new Set(kept.map(({ project }) => project));
      await bus.publish([...projects].map((project) => mint(eventKept, { data: { project }, project })));
    }

    // A crash may have left runs that no process would resume before their lease ends.
    await stir(await active());

    const find = async (project: string, id: string): Promise<SubscriptionDocument> => {
      const found = await subscriptions.get(id);
      if (found?.project === project) return found;
      throw new AnnealError('NotFound', `There is no subscription ${id} in this project.`);
    };
    const view = async (subscription: SubscriptionDocument) => {
      const { id, project, cursor } = subscription;
      const [pending, unread] = await Promise.all([
        deliveries.count({ subscription_id: id, status: 'pending' }),
        events.read({ project, after: cursor, filter: subscription, limit: mostCounted }),
      ]);
      return viewOf(subscription, pending + unread.events.length);
    };

    const consumer = await bus.consume(
      requestsQueue('notification'),
      route([
        answer(context, subscriptionCreate, async ({ data }) => {
          const { after, ...wanted } = data;
          checkUrl(wanted.url, settings);
          const start = after === undefined ? undefined : await events.startOf({ after });
          const gap = after !== undefined && start?.hasGap === true && (await events.gapBehind(after, wanted.project));
          const { document, secret } = await createSubscription({
            subscriptions,
            secrets,
            wanted,
            cursor: start?.number ?? (await events.last()),
            most: settings.maxSubscriptions,
            now: context.now(),
          });
          await stir([document]);
          return { subscription: await view(document), secret, ...(gap && { gap }) };
        }),
        answer(context, subscriptionList, async ({ data: { project } }) => {
          const found = await subscriptions.find({ where: { project }, orderBy: ['created_at'] });
          return { subscriptions: await Promise.all(found.map(view)) };
        }),
        answer(context, subscriptionShow, async ({ data: { project, id } }) => view(await find(project, id))),
        answer(context, subscriptionDelete, async ({ data: { project, id } }) => {
          const found = await find(project, id);
          // Disable it first, so that a running pump creates no new deliveries.
          await change(subscriptions, found, (current) =>
            current.status === 'active' ? { ...current, status: 'disabled' as const } : undefined,
          );
          await timers.cancel([id]);
          for (;;) {
            const some = await deliveries.find({ where: { subscription_id: id }, limit: 500 });
            if (some.length === 0) break;
            await deliveries.bulk(some.map((each) => ({ kind: 'remove', id: each.id })));
          }
          await subscriptions.remove(id);
          return {};
        }),
        answer(context, deliveryList, async ({ data: { project, subscription } }) => {
          await find(project, subscription);
          const latest = await deliveries.find({
            where: { subscription_id: subscription },
            orderBy: ['sequence'],
            descending: true,
            limit: latestShown,
          });
          return { deliveries: latest.map(deliveryView) };
        }),
        answer(context, deliveryReplay, async ({ data: { project, subscription: id, delivery } }) => {
          const subscription = await find(project, id);
          const found = await deliveries.get(delivery);
          if (found?.subscription_id !== id) {
            throw new AnnealError('NotFound', `There is no delivery ${delivery} of subscription ${id}.`);
          }
          const again = await deliveries.replace(
            { ...found, status: 'pending', tries: 0, due_at: now(), failure: null },
            found.version,
          );
          if (!again)
            throw new AnnealError('Conflict', `Cannot replay delivery ${delivery}: an attempt is in progress.`);
          await change(subscriptions, subscription, (current) =>
            current.status === 'disabled' ? { ...current, status: 'active' as const } : undefined,
          );
          await stir([subscription]);
          return deliveryView(again);
        }),
        answer(context, eventLog, async ({ data: { project, after, position, types, subject_prefix, limit } }) => {
          const filter = { types, subject_prefix };
          if (after === undefined) {
            const newest = await events.newest({ project, filter, limit });
            return { events: newest.map(({ event }) => event) };
          }
          const start = await events.startOf({ after, position });
          const page = await events.read({ project, after: start.number, filter, limit });
          return {
            events: page.events.map(({ event }) => event),
            ...(page.upTo && { cursor: page.upTo.id }),
            position: page.position,
            ...(start.hasGap && { gap: await events.gapBehind(after, project) }),
          };
        }),
      ]),
    );

    const kept = (definitionsByFile['events'] ?? []).map(({ type }) => type).filter((type) => !fleeting.has(type));
    const listener = await bus.subscribe(
      kept,
      async ({ message }) => {
        await events.append({ ...message, project: message.project ?? adminProject.id });
      },
      // A single writer keeps the log in the order of the bus. Concurrency lets it write many events at once.
      { group: 'notification', singleActive: true, concurrency: 128 },
    );

    return {
      async stop() {
        await listener.stop();
        await events.settled();
        stopping.abort();
        await consumer.stop();
        await timers.stop();
        await sender.close();
      },
    };
  },
});
