import { on, routeMessages } from '@anneal/bus/consume/route.ts';
import { hostEvent, subscriptionEvent, type SubscriptionDroppedData } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import { eventLog } from '@anneal/contracts/calls/event-log.ts';
import { subscriptionAct, subscriptionShow, type SubscriptionView } from '@anneal/contracts/calls/subscriptions.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { afterRemoval, noticeDueAt, noticeEveryMs, withNotice, withoutNotice } from './drops.ts';
import type { EventDocument } from '../events/event-log.ts';
import type { SubscriptionDocument } from './subscription.ts';
import {
  atEnd,
  cleanUpAll,
  listen,
  project,
  startWorld,
  subscribe,
  type ReceivedEvent,
  type NotificationWorld,
} from '../testing/world.ts';

afterEach(cleanUpAll);

const published = 1200;
/** A log of 100 events, and a listener that has at most five deliveries and is retried often. */
const small = {
  ANNEAL_NOTIFICATION_KEEP_EVENTS: '100',
  ANNEAL_NOTIFICATION_PENDING_DELIVERIES: '5',
  ANNEAL_NOTIFICATION_RETRY_SECONDS: Array.from({ length: 100 }, () => '0.2').join(),
};

const noticesOf = (received: readonly ReceivedEvent[], subscription: string) =>
  received
    .map(({ event }) => event as unknown as { id: string; type: string; data: SubscriptionDroppedData })
    .filter(({ type, data }) => type === subscriptionEvent.dropped.type && data.subscription_id === subscription);

const versionsOf = (received: readonly ReceivedEvent[]): number[] =>
  received.flatMap(({ event: { data } }) => ('host_id' in data ? [data.version] : []));

async function publishHosts(world: NotificationWorld): Promise<void> {
  const { bus, mint } = world.context;
  const events = Array.from({ length: published }, (_, index) =>
    mint(hostEvent.up, {
      data: { origin: unknownOrigin(), host_id: 'h', name: 'h', status: 'up', facts: {}, version: index + 1 },
      subject: `h${index % 7}`,
      project,
    }),
  );
  await bus.publish(events);
  await eventually(async () => {
    const page = await world.ask(eventLog, { project, types: ['host.up'], subject_prefix: '', limit: 1 });
    return page.events.at(-1)?.id === events.at(-1)?.id ? true : undefined;
  });
}

/** Waits until an attempt has failed after this moment. */
const failedAgain = (world: NotificationWorld, id: string, after = Date.now()): Promise<SubscriptionView> =>
  eventually(async () => {
    const view = await world.ask(subscriptionShow, { project, id });
    return view.last_failure_at !== null && Date.parse(view.last_failure_at) > after ? view : undefined;
  });

/** Waits until each published event is delivered or reported as dropped. */
async function allAccountedFor(received: readonly ReceivedEvent[], subscription: string): Promise<number> {
  const reported = (): number => {
    const byId = new Map(noticesOf(received, subscription).map(({ id, data }) => [id, data.count]));
    return [...byId.values()].reduce((sum, count) => sum + count, 0);
  };
  const delivered = (): number => new Set(versionsOf(received)).size;
  await eventually(() => (delivered() + reported() === published ? true : undefined), {
    last: () => ({ delivered: delivered(), reported: reported() }),
  });
  return reported();
}

describe('a listener that falls behind the event log', () => {
  it('P4: receives a notice of all events that it lost, whatever its filter', async () => {
    const world = await startWorld(small);
    const away = await listen();
    const { subscription } = await subscribe(world, away.url, { types: ['host.up'] });
    const { id } = subscription;
    expect(subscription.dropped).toBeNull();
    await away.close();
    await publishHosts(world);
    await failedAgain(world, id);
    const back = await listen(undefined, away.port);
    const reported = await allAccountedFor(back.received, id);

    const { dropped } = await world.ask(subscriptionShow, { project, id });
    expect(dropped?.count).toBe(reported);
    expect(reported).toBeGreaterThan(published / 2);
    // Every program that follows the events of the project can see the loss.
    const page = await world.ask(eventLog, { project, types: ['subscription.#'], subject_prefix: id, limit: 10 });
    const latest = noticesOf(back.received, id).at(-1);
    expect(page.events.map((each) => each.id)).toContain(latest?.id);
  });

  it('L4: receives the same notice when the service dies while it counts, removes or reports', async () => {
    const world = await startWorld(small);
    const away = await listen();
    const { subscription } = await subscribe(world, away.url, { types: ['host.up'] });
    await away.close();
    const died: Record<string, number> = {};
    for (const point of ['notification.counted', 'notification.reported']) {
      atEnd(
        armFault(point, () => {
          died[point] = (died[point] ?? 0) + 1;
          if (died[point] === 1) throw new Error(`died at ${point}`);
        }),
      );
    }
    await publishHosts(world);
    await eventually(() => (Object.keys(died).length === 2 ? true : undefined));
    await world.stop();
    await world.start();
    // The first event after a start makes the log remove what is above its limit.
    const { bus, mint } = world.context;
    const data = { host_id: 'h', name: 'h', status: 'silent', facts: {}, version: 1 };
    await bus.publish([mint(hostEvent.silent, { data, subject: 'h', project })]);
    await eventually(async () => {
      const all = { project, types: ['#'], subject_prefix: '', limit: 1000, after: 'beginning' };
      const { events } = await world.ask(eventLog, all);
      return events.some(({ type }) => type === hostEvent.silent.type) && events.length < 110 ? true : undefined;
    });
    await failedAgain(world, subscription.id);
    const back = await listen(undefined, away.port);
    const reported = await allAccountedFor(back.received, subscription.id);
    const { dropped } = await world.ask(subscriptionShow, { project, id: subscription.id });
    expect(dropped?.count).toBe(reported);
  });

  it('is reported by an event while its subscription is paused, and receives the notices first when it is resumed', async () => {
    const world = await startWorld(small);
    const listener = await listen();
    const { subscription } = await subscribe(world, listener.url, { types: ['host.up'] });
    const { id } = subscription;
    await world.ask(subscriptionAct, { project, id, verb: 'pause' });
    const reports: SubscriptionDroppedData[] = [];
    const watcher = await world.context.bus.subscribe(
      [subscriptionEvent.dropped.type],
      routeMessages([on(subscriptionEvent.dropped, async ({ data }) => void reports.push(data))]),
    );
    atEnd(() => watcher.stop());
    await publishHosts(world);
    const paused = await eventually(async () => {
      const view = await world.ask(subscriptionShow, { project, id });
      return reports.length > 0 && view.dropped ? view : undefined;
    });
    expect(paused).toMatchObject({ status: 'paused', dropped: { since: reports[0]?.since } });
    expect(paused.dropped?.count).toBeGreaterThan(published / 2);
    expect(reports).toHaveLength(1);
    expect(listener.received).toEqual([]);
    await world.ask(subscriptionAct, { project, id, verb: 'resume' });
    const reported = await allAccountedFor(listener.received, id);
    expect(reported).toBe(paused.dropped?.count);
  });

  it('is not reported when it has received all that its filter wants', async () => {
    const world = await startWorld(small);
    const listener = await listen();
    const { subscription } = await subscribe(world, listener.url, { types: ['stack.#'] });
    await publishHosts(world);
    const { dropped } = await world.ask(subscriptionShow, { project, id: subscription.id });
    expect(dropped).toBeNull();
    expect(listener.received).toEqual([]);
  });
});

const at = (second: number): string => new Date(second * 1000).toISOString();
const subscription: SubscriptionDocument = {
  id: 's1',
  version: 1,
  project,
  name: 's',
  url: 'http://listener.example/',
  types: ['host.#', 'subscription.#'],
  subject_prefix: '',
  secret: {},
  status: 'active',
  cursor: 2,
  created_at: at(0),
  last_success_at: null,
  last_failure_at: null,
  last_error: null,
};
const stored = (sequence: number, more: { type?: string; subject?: string; project?: string } = {}): EventDocument => {
  const { type = 'host.up', subject = 'h' } = more;
  const event = { specversion: '1.0', id: `e${sequence}`, type, source: 't', subject, correlationid: 'c' } as const;
  return {
    id: `e${sequence}`,
    version: 1,
    sequence,
    project: more.project ?? project,
    event: { ...event, time: at(sequence), data: {} },
  };
};

describe('a removal from the log', () => {
  it('counts exactly the wanted events after the cursor, and counts none twice', () => {
    const removed = [
      stored(1),
      stored(2),
      stored(3),
      stored(4, { project: 'other' }),
      stored(5, { type: 'stack.create.completed' }),
      stored(6, { type: subscriptionEvent.dropped.type, subject: 's1' }),
      stored(7, { type: subscriptionEvent.dropped.type, subject: 's2' }),
      stored(8, { type: 'node.enrolled' }),
    ];
    const after = afterRemoval(subscription, removed);
    expect(after).toMatchObject({
      cursor: 7,
      drops: { total: { count: 2, since: at(3), last: at(7) }, unreported: { count: 2, sequence: 7 }, notice: null },
    });
    expect(after && afterRemoval(after, removed)).toBeUndefined();
    expect(after && afterRemoval(after, [...removed, stored(9)])?.drops?.total).toEqual({
      count: 3,
      since: at(3),
      last: at(9),
    });
  });
});

describe('a notice', () => {
  const lost = (before: SubscriptionDocument, sequence: number): SubscriptionDocument => {
    const after = afterRemoval(before, [stored(sequence)]);
    if (!after) throw new Error('nothing was lost');
    return after;
  };
  const send = (before: SubscriptionDocument, now: number): SubscriptionDocument => {
    const sending = withNotice(before, now);
    const notice = sending.drops?.notice;
    if (!notice) throw new Error('there is no notice');
    return withoutNotice(sending, notice);
  };

  it('is due at once, then once an hour, then when the listener is back after a failure', () => {
    expect(noticeDueAt(subscription)).toBeUndefined();
    const first = lost(subscription, 3);
    expect(noticeDueAt(first)).toBe(0);
    const sent = send(first, 10_000);
    expect(noticeDueAt(sent)).toBeUndefined();
    const more = lost(sent, 4);
    expect(noticeDueAt(more)).toBe(10_000 + noticeEveryMs);
    // A slow listener that never failed since the last notice waits for the hour.
    expect(noticeDueAt({ ...more, last_failure_at: at(5), last_success_at: at(20) })).toBe(10_000 + noticeEveryMs);
    expect(noticeDueAt({ ...more, last_failure_at: at(20), last_success_at: at(15) })).toBe(10_000 + noticeEveryMs);
    expect(noticeDueAt({ ...more, last_failure_at: at(20), last_success_at: at(30) })).toBe(0);
  });

  it('keeps its numbers while it is sent, and the next one has only the later events', () => {
    const sending = withNotice(lost(subscription, 3), 10_000);
    const meanwhile = lost(sending, 4);
    expect(withNotice(meanwhile, 20_000)).toBe(meanwhile);
    expect(meanwhile.drops).toMatchObject({
      total: { count: 2 },
      notice: { count: 1, sequence: 3 },
      unreported: { count: 1, since: at(4), sequence: 4 },
    });
    const notice = meanwhile.drops?.notice;
    const sent = notice ? withoutNotice(meanwhile, notice) : meanwhile;
    expect(sent.drops).toMatchObject({ notice: null, unreported: { count: 1, sequence: 4 } });
  });
});
