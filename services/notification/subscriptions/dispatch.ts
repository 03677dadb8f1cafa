/** Connects the log, the subscriptions and the pump: events that are stored or removed wake the subscriptions concerned. */
import { setMaxListeners } from 'node:events';
import type { Envelope } from '@anneal/contracts/envelope.ts';
import { eventKept, subscriptionEvent } from '@anneal/contracts/events.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { derivedId } from '@anneal/runtime/derived-id.ts';
import type { ServiceContext } from '@anneal/runtime/service/service.ts';
import type { SettingsOf } from '@anneal/runtime/service/settings.ts';
import { change } from '@anneal/store/change.ts';
import { createTimers } from '@anneal/store/timers.ts';
import type { AttemptLog } from '../delivery/attempt-log.ts';
import { digestEvent } from '../documents/condense.ts';
import { Couriers, type CouriersOptions } from '../delivery/couriers.ts';
import type { CourierOptions } from '../delivery/courier.ts';
import type { Deliveries } from '../delivery/deliveries.ts';
import type { DeliveryOutcome } from '../sinks/outcome.ts';
import { reportDropped } from '../delivery/notice.ts';
import { afterRemoval, isFirstLoss } from '../documents/drops.ts';
import { EventLog, type EventDocument } from '../events/event-log.ts';
import { removeEnded } from './remove-subscription.ts';
import { mailServerOf } from './confirmation.ts';
import { deliveryMetrics } from '@anneal/runtime/observe/service-metrics.ts';
import { openSink } from '../delivery/open-sink.ts';
import { observedSink } from '../sinks/sink.ts';
import { followStackSinks } from './stack-sinks.ts';
import { shownAddress } from '../sinks/sink-address.ts';
import type { notificationSettings } from '../settings.ts';
import {
  interested,
  subscriptionEnd,
  wantedBy,
  type ReadSubscription,
  type SubscriptionDocument,
  type Subscriptions,
} from '../documents/subscription.ts';

/** The list of active subscriptions is read again after this time. */
const listedMs = 1_000;

export interface Dispatch {
  readonly events: EventLog;
  readonly attempts: AttemptLog;
  /** Delivers to these subscriptions soon, as they are stored now. */
  wake(subscriptions: readonly Pick<SubscriptionDocument, 'id'>[]): Promise<void>;
  /** Sends one event to the listener of a subscription, without the log. */
  test(subscription: SubscriptionDocument, event: Envelope): Promise<DeliveryOutcome>;
  /** Delivers to the subscription no more. */
  forget(subscription: string): Promise<void>;
  /** Aborts the attempts in progress. Their timers repeat them. */
  abort(): void;
  close(): Promise<void>;
}

export async function openDispatch(
  context: ServiceContext,
  settings: SettingsOf<typeof notificationSettings>,
  {
    subscriptions,
    deliveries,
    attempts,
  }: { subscriptions: Subscriptions; deliveries: Deliveries; attempts: AttemptLog },
): Promise<Dispatch> {
  const { store, log } = context;
  const now = (): number => context.now().getTime();
  const stopping = new AbortController();
  setMaxListeners(0, stopping.signal);
  const active = new ActiveSubscriptions(subscriptions, now);
  const arm = (ids: readonly string[]): Promise<void> =>
    timers.set(ids.map((id) => ({ id, dueAt: now(), data: null })));
  const wake: Dispatch['wake'] = async (concerned) => {
    active.forget();
    const idle = concerned.filter(({ id }) => !couriers.reload(id));
    if (idle.length > 0) await arm(idle.map(({ id }) => id));
  };
  const forget = async (id: string): Promise<void> => {
    active.forget();
    couriers.reload(id);
    await timers.cancel([id]);
  };
  const onKept = async (kept: readonly EventDocument[]): Promise<void> => {
    for (const { id } of await followStackSinks({ context, subscriptions }, kept)) {
      active.forget();
      couriers.reload(id);
    }
    const listed = await active.list();
    // In the same turn: a courier that ends after this takes the events, and one that ended before has no timer yet.
    const took = couriers.push(kept);
    const idle = interested(
      listed.filter(({ document }) => !took.has(document.id)),
      kept,
    );
    // A listener that is away has a timer for its next attempt.
    const due = idle.filter(({ outage }) => !outage || outage.due_at <= now());
    if (due.length > 0) await arm(due.map(({ id }) => id));
    await announce(context, kept);
  };
  const onTrim = async (old: readonly EventDocument[]) =>
    wake(await lostBy(context, { subscriptions, deliveries }, old));
  const events = await openLog(context, settings, { onKept, onTrim });
  const couriers = openCouriers(context, settings, {
    log: events,
    subscriptions,
    deliveries,
    attempts,
    stopping: stopping.signal,
    resume: (id, at) => timers.set([{ id, dueAt: at, data: null }]),
    async announceDisabled(id) {
      active.forget();
      await announceStatus(context, subscriptions, id);
    },
    onEnded: (id) => removeEnded({ subscriptions, deliveries, dispatch: { attempts, forget } }, id),
  });
  const timers = await createTimers({
    store,
    collection: 'notification_timers',
    permission: context.bus.permission,
    now,
    // The courier renews it. A run that a crash interrupts is resumed after it.
    leaseMs: 30_000,
    fire: ({ id }, lease) => couriers.run(id, () => lease.renew()),
    onError: (error, timer) =>
      log.error({ err: error, subscription: timer.id }, 'delivery to a subscription failed; retrying'),
  });

  // A crash may have left runs that no process would resume before their lease ends, and a change without its event.
  await wake((await active.list()).map(({ document }) => document));
  await announceMissed(context, subscriptions);
  return {
    events,
    attempts,
    wake,
    test: (subscription, event) => couriers.test(subscription, event),
    forget,
    abort: () => stopping.abort(),
    close: () => timers.stop(),
  };
}

const openLog = (
  { store, log, now }: ServiceContext,
  settings: SettingsOf<typeof notificationSettings>,
  own: Pick<Parameters<typeof EventLog.open>[0], 'onKept' | 'onTrim'>,
): Promise<EventLog> =>
  EventLog.open({
    ...own,
    store,
    keep: settings.keepEvents,
    keepMs: settings.keepSeconds * 1000,
    now: () => now().getTime(),
    onAppendFailed: (error, ms) => log.warn({ err: error }, `events not stored; storing them again in ${ms} ms`),
    onTrimFailed: (error) =>
      log.warn({ err: error }, 'old events not removed from the log; retrying after the next events'),
  });

function openCouriers(
  context: ServiceContext,
  settings: SettingsOf<typeof notificationSettings>,
  own: Pick<
    CouriersOptions,
    'log' | 'subscriptions' | 'deliveries' | 'attempts' | 'stopping' | 'resume' | 'announceDisabled' | 'onEnded'
  >,
): Couriers {
  const observe = deliveryMetrics(context.metrics);
  return new Couriers({
    ...own,
    retrySeconds: settings.retrySeconds,
    keepDeliveries: settings.keepDeliveries,
    pendingDeliveries: settings.pendingDeliveries,
    inFlight: settings.inFlight,
    secrets: context.secrets,
    newId: context.newId,
    openSink(subscription) {
      const { url } = subscription;
      const sink = openSink(subscription, {
        bus: context.bus,
        mint: context.mint,
        secrets: context.secrets,
        gatewayUrl: context.gatewayUrl,
        timeoutMs: settings.timeoutMs,
        allowPrivate: settings.allowPrivate,
        connections: settings.inFlight,
        mailServer: mailServerOf(settings),
      });
      return observedSink(sink, (request) => observe({ url, ...request }));
    },
    now: () => context.now().getTime(),
    random: Math.random,
    publishDropped: (subscription, dropped) => publishDropped(context, subscription, dropped),
    digestEvent: (subscription, events) => digestEvent(context.mint, subscription, events),
    publishDead: (subscription, item) => publishDead(context, subscription, item),
  });
}

/** The active subscriptions, read at most once a second. Another replica may have made some in the meantime. */
class ActiveSubscriptions {
  readonly #subscriptions: Subscriptions;
  readonly #now: () => number;
  #listed: Promise<ReadSubscription[]> | undefined;
  #until = 0;

  constructor(subscriptions: Subscriptions, now: () => number) {
    this.#subscriptions = subscriptions;
    this.#now = now;
  }

  list(): Promise<ReadSubscription[]> {
    const now = this.#now();
    if (this.#listed && now < this.#until && now >= this.#until - listedMs) return this.#listed;
    const listed = this.#subscriptions
      .find({ where: { status: 'active' } })
      .then((found) => found.filter((each) => subscriptionEnd(each) > now))
      .then((found) => found.map((document) => ({ document, wants: wantedBy(document) })));
    this.#listed = listed;
    this.#until = now + listedMs;
    listed.catch(() => this.forget());
    return listed;
  }

  /** Makes the next call read the store. */
  forget(): void {
    this.#listed = undefined;
  }
}

/** Publishes the changes that a crash left without their event. */
async function announceMissed(context: ServiceContext, subscriptions: Subscriptions): Promise<void> {
  for (const { id, unannounced } of await subscriptions.find({ where: { status: 'disabled' } })) {
    if (unannounced === true) await announceStatus(context, subscriptions, id);
  }
}

/** Publishes that a subscription was disabled. A repeat has the same id. */
async function announceStatus({ bus, mint }: ServiceContext, subscriptions: Subscriptions, id: string): Promise<void> {
  const found = await subscriptions.get(id);
  if (found?.unannounced !== true) return;
  const { name, project, url, reason = null, version, last_error: lastError } = found;
  await bus.publish([
    mint(subscriptionEvent.disabled, {
      id: derivedId(`disabled\n${id}\n${version}`),
      data: { subscription_id: id, subscription_name: name, url, reason: reason ?? '', last_error: lastError, version },
      subject: id,
      project,
    }),
  ]);
  await change(subscriptions, found, (current) => ({ ...current, unannounced: false }));
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
  const [own, others] = await Promise.all([
    subscriptions.find({ where: { project: { in: projects } } }),
    subscriptions.find({ where: { events_project: { in: projects } } }),
  ]);
  for (const found of new Map([...own, ...others].map((each) => [each.id, each])).values()) {
    if (!afterRemoval(found, old)) continue;
    const { document: counted } = await change(subscriptions, found.id, (current) => afterRemoval(current, old));
    if (counted) behind.push(counted);
  }
  for (const { id, drops } of behind) {
    log.warn(
      { subscription: id, dropped: drops?.total.count },
      'events removed from the log before their delivery; the listener gets a notice',
    );
  }
  return behind;
}

/** Counts the losses, and reports the first one of a subscription that no courier serves. Returns the others. */
async function lostBy(
  context: ServiceContext,
  { subscriptions, deliveries }: { subscriptions: Subscriptions; deliveries: Deliveries },
  old: readonly EventDocument[],
): Promise<SubscriptionDocument[]> {
  const behind = await countDropped(subscriptions, context.log, old);
  const now = (): number => context.now().getTime();
  const reporting = { subscriptions, deliveries, now, publishDropped: publishDropped.bind(undefined, context) };
  for (const each of behind.filter(isFirstLoss)) await reportDropped(each, reporting);
  return behind.filter(({ status }) => status === 'active');
}

async function publishDropped(
  { bus, mint }: ServiceContext,
  { id, name, project, version }: Parameters<CourierOptions['publishDropped']>[0],
  { sequence, ...dropped }: Parameters<CourierOptions['publishDropped']>[1],
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

async function publishDead(
  { bus, mint }: ServiceContext,
  { id, name, project, url, version }: Parameters<CourierOptions['publishDead']>[0],
  { event, attempts, tries }: Parameters<CourierOptions['publishDead']>[1],
): Promise<void> {
  // A dead letter that the dead-letter sink refuses does not become another one.
  if (event.type === subscriptionEvent.dead.type) return;
  const last = attempts.at(-1);
  const reason = last?.error ?? 'The listener did not accept the event.';
  await bus.publish([
    mint(subscriptionEvent.dead, {
      id: derivedId(`dead\n${id}\n${event.id}\n${last?.at ?? ''}`),
      data: {
        subscription_id: id,
        subscription_name: name,
        url: shownAddress(url),
        reason,
        tries,
        attempts: [...attempts],
        event: event as unknown as JsonObject,
        version,
      },
      subject: id,
      project,
    }),
  ]);
}
