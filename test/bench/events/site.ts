/** The notification service in this process with a counted bus and store, and a listener in another process. */
import { hostEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { eventLog } from '@anneal/contracts/calls/event-log.ts';
import {
  subscriptionAct,
  subscriptionCreate,
  subscriptionDelete,
  subscriptionList,
} from '@anneal/contracts/calls/subscriptions.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { notificationService } from '@anneal/notification/service.ts';
import { readSettings } from '@anneal/runtime/service/settings.ts';
import { createTestContext, eventually } from '@anneal/runtime/testing.ts';
import { countedBus, countedStore, noCounts, type Counts } from '../counted.ts';
import { BenchChild } from '../hosts/child.ts';
import type { ListenerAnswer, ListenerQuestion } from './listener-process.ts';

export type EventListenerChild = BenchChild<ListenerQuestion, ListenerAnswer>;

const project = 'bench';

export interface EventSite {
  readonly counts: Counts;
  readonly listener: EventListenerChild;
  readonly url: string;
  /** Makes the subscriptions, and returns the call that deletes them. `own`: each wants the events of one host. */
  subscribe(parameters: {
    count: number;
    batchSize: number;
    own?: boolean;
    url?: string;
  }): Promise<() => Promise<void>>;
  /** Publishes one event for each version, over the subjects in turn. */
  publish(versions: readonly number[], subjects: number): Promise<void>;
  /** Pauses or resumes the subscriptions. */
  pause(isPaused: boolean): Promise<void>;
  /** Resolves when the log has the event of this version as its newest one. */
  stored(version: number): Promise<void>;
  close(): Promise<void>;
}

export async function openEventListener(): Promise<{ listener: EventListenerChild; url: string }> {
  const listener: EventListenerChild = new BenchChild('../events/listener-process.ts', {});
  const { url } = await listener.answer('ready');
  return { listener, url };
}

export async function openEventSite(): Promise<EventSite> {
  const { listener, url } = await openEventListener();
  const context = await createTestContext({ name: 'notification' });
  const counts = noCounts();
  const counted = { ...context, bus: countedBus(context.bus, counts), store: countedStore(context.store, counts) };
  const settings = readSettings(notificationService.settings, {
    ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'true',
    ANNEAL_NOTIFICATION_MAX_SUBSCRIPTIONS: '2000',
  });
  const running = await notificationService.start(counted, settings);
  const { bus, mint, newId } = context;
  const queue = requestsQueue('notification');
  return {
    counts,
    listener,
    url,
    async subscribe({ count, batchSize, own = false, url: to = url }) {
      const ids = Array.from({ length: count }, () => newId());
      for (const [index, id] of ids.entries()) {
        const data = { id, project, name: id, url: `${to}/${index}`, types: ['host.#'], subject_prefix: '' };
        const filters = own ? { filters: [{ exact: { subject: `host${index}` } }] } : {};
        const message = mint(subscriptionCreate, { project, data: { ...data, ...filters, batch_size: batchSize } });
        await bus.request({ queue, call: subscriptionCreate, message });
      }
      return async () => {
        for (const id of ids) {
          const message = mint(subscriptionDelete, { project, data: { project, id } });
          await bus.request({ queue, call: subscriptionDelete, message });
        }
      };
    },
    async pause(isPaused) {
      const verb = isPaused ? ('pause' as const) : ('resume' as const);
      const listing = mint(subscriptionList, { project, data: { project } });
      const { subscriptions } = await bus.request({ queue, call: subscriptionList, message: listing });
      for (const { id } of subscriptions) {
        const message = mint(subscriptionAct, { project, data: { project, id, verb } });
        await bus.request({ queue, call: subscriptionAct, message });
      }
    },
    stored: (version) =>
      eventually(
        async () => {
          const data = { project, types: ['host.#'], subject_prefix: '', limit: 1 };
          const { events } = await bus.request({ queue, call: eventLog, message: mint(eventLog, { project, data }) });
          return (events[0]?.data as { version?: number } | undefined)?.version === version ? true : undefined;
        },
        { within: 120_000, what: 'the events being stored' },
      ).then(() => undefined),
    publish: (versions, subjects) =>
      bus.publish(
        versions.map((version) => {
          const subject = `host${version % subjects}`;
          const data = {
            origin: unknownOrigin(),
            host_id: subject,
            name: subject,
            status: 'up',
            facts: { kernel: '6.18' },
            version,
          };
          return mint(hostEvent.up, { project, subject, data });
        }),
      ),
    async close() {
      await running.stop();
      await context.dispose();
      await listener.stop();
    },
  };
}
