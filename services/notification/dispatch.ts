/** Connects the log, the subscriptions and the pump: events that are stored or removed wake the subscriptions concerned. */
import { setMaxListeners } from 'node:events';
import { eventKept, subscriptionEvent } from '@anneal/contracts/events.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { change } from '@anneal/store/change.ts';
import { createTimers } from '@anneal/store/timers.ts';
import type { Deliveries } from './deliveries.ts';
import { afterRemoval } from './drops.ts';
import { EventLog, type EventDocument } from './event-log.ts';
import { Pump, type PumpOptions } from './pump.ts';
import type { notificationSettings } from './settings.ts';
import { interested, type SubscriptionDocument, type Subscriptions } from './subscriptions.ts';
import { createSender } from './webhook.ts';

export interface Dispatch {
  readonly events: EventLog;
  /** Delivers to these subscriptions soon. */
  wake(subscriptions: readonly Pick<SubscriptionDocument, 'id'>[]): Promise<void>;
  /** Delivers to the subscription no more. */
  forget(subscription: string): Promise<void>;
  /** Aborts the attempts in progress. Their timers repeat them. */
  abort(): void;
  close(): Promise<void>;
}

export async function openDispatch(
  context: ServiceContext,
  settings: SettingsOf<typeof notificationSettings>,
  { subscriptions, deliveries }: { subscriptions: Subscriptions; deliveries: Deliveries },
): Promise<Dispatch> {
  const { store, secrets, log } = context;
  const now = (): number => context.now().getTime();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const sender = createSender({
    timeoutMs: settings.timeoutMs,
    allowPrivate: settings.allowPrivate,
    // Listeners compare the time of a signature with their own clocks, so it follows the system clock even when that
    // is set.
    now: Date.now,
  });

  const wake: Dispatch['wake'] = async (concerned) => {
    if (concerned.length === 0) return;
    for (const { id } of concerned) pump.stir(id);
    await timers.set(concerned.map(({ id }) => ({ id, dueAt: now(), data: null })));
  };
  const active = (): Promise<SubscriptionDocument[]> => subscriptions.find({ where: { status: 'active' } });
  const events = await EventLog.open({
    store,
    keep: settings.keepEvents,
    onKept: async (kept) => {
      await wake(interested(await active(), kept));
      await announce(context, kept);
    },
    onTrim: async (old) => wake(await countDropped(subscriptions, log, old)),
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
    publishDropped: (subscription, dropped) => publishDropped(context, subscription, dropped),
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

  // A crash may have left runs that no process would resume before their lease ends.
  await wake(await active());
  return {
    events,
    wake,
    forget: (id) => timers.cancel([id]),
    abort: () => stopping.abort(),
    async close() {
      await timers.stop();
      await sender.close();
    },
  };
}

/** Reports to the clients that follow the log of a project that there is something to read. */
async function announce({ bus, mint }: ServiceContext, kept: readonly EventDocument[]): Promise<void> {
  const projects = new Set(kept.map(({ project }) => project));
  await bus.publish([...projects].map((project) => mint(eventKept, { data: { project }, project })));
}

/**
 * Counts the events that subscriptions lose when the log removes these. A repeat counts none twice. Returns the active
 * subscriptions that lose some.
 */
async function countDropped(
  subscriptions: Subscriptions,
  log: ServiceContext['log'],
  old: readonly EventDocument[],
): Promise<SubscriptionDocument[]> {
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
  return behind;
}

async function publishDropped(
  { bus, mint }: ServiceContext,
  { id, name, project, version }: Parameters<PumpOptions['publishDropped']>[0],
  { sequence, ...dropped }: Parameters<PumpOptions['publishDropped']>[1],
) {
  const event = mint(subscriptionEvent.dropped, {
    id: derivedId(`dropped\n${id}\n${sequence}`),
    data: { ...dropped, subscription_id: id, subscription_name: name, version },
    subject: id,
    project,
  });
  await bus.publish([event]);
  return event;
}
