/** The flow of events to one listener that is slow, away, or refuses events. */
import { attemptList, deliveryList } from '@anneal/contracts/calls/deliveries.ts';
import {
  subscriptionAct,
  subscriptionReplay,
  subscriptionRotate,
  subscriptionShow,
} from '@anneal/contracts/calls/subscriptions.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import {
  cleanUpAll,
  listen,
  listenSlowly,
  project,
  startWorld,
  subscribe,
  type NotificationWorld,
} from '../testing/world.ts';

useQuickClock();
afterEach(cleanUpAll);

const versionsOf = (received: readonly { event: { subject: string; data: { version: number } } }[], subject: string) =>
  received.filter(({ event }) => event.subject === subject).map(({ event }) => event.data.version);

describe('the events of a subscription', () => {
  it('end their run when only others keep coming, so that a thousand subscribers do not all run for each event', async () => {
    const world = await startWorld();
    const listener = await listen();
    await subscribe(world, listener.url, { subject_prefix: 'mine' });
    await world.happen('mine', 1);
    await eventually(() => listener.received.length === 1);
    // A run keeps its timer until it ends.
    const timers = await world.context.store.collection({ name: 'notification_timers', indexes: [] });
    let others = 0;
    await eventually(
      async () => {
        others += 1;
        await world.happen('other', others);
        return (await timers.count({})) === 0 ? true : undefined;
      },
      { what: 'the end of the run', last: () => others },
    );
    expect(others).toBeGreaterThan(5);
    await world.happen('mine', 2);
    await eventually(() => listener.received.length === 2);
  });

  it('P2: are sent concurrently up to the limit, each subject in order', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_IN_FLIGHT: '4' });
    const listener = await listenSlowly();
    await subscribe(world, listener.url);
    for (const version of [1, 2, 3]) {
      for (const subject of ['a', 'b', 'c', 'd', 'e', 'f']) await world.happen(subject, version);
    }
    // All 18 events are stored; the listener has answered none.
    await eventually(() => (listener.open.length === 4 ? true : undefined));
    expect(new Set(listener.open.map(({ event }) => event.subject)).size).toBe(4);
    let most = 0;
    await eventually(() => {
      most = Math.max(most, listener.open.length);
      const subjects = listener.open.map(({ event }) => event.subject);
      expect(new Set(subjects).size).toBe(subjects.length);
      listener.open.at(-1)?.answer(204);
      return listener.received.length === 18 && listener.open.length === 0 ? true : undefined;
    });
    expect(most).toBeLessThanOrEqual(4);
    for (const subject of ['a', 'b', 'c', 'd', 'e', 'f'])
      expect(versionsOf(listener.received, subject)).toEqual([1, 2, 3]);
  });

  it('P2: pass an event of another subject that has no answer, and are not sent again after a restart', async () => {
    const world = await startWorld();
    const listener = await listenSlowly();
    const { subscription } = await subscribe(world, listener.url);
    await world.happen('slow', 1);
    await eventually(() => listener.open.length === 1);
    for (const version of [1, 2, 3, 4, 5]) await world.happen('h1', version);
    await eventually(() => {
      listener.open.find(({ event }) => event.subject === 'h1')?.answer(204);
      return versionsOf(listener.received, 'h1').length === 5 && listener.open.length === 1;
    });
    // The five are saved as delivered, the slow one is not.
    await eventually(async () => {
      const { backlog } = await world.ask(subscriptionShow, { project, id: subscription.id });
      return backlog === 1;
    });
    await world.stop();
    await world.start();
    await eventually(() => versionsOf(listener.received, 'slow').length === 2);
    listener.open.at(-1)?.answer(204);
    await eventually(async () => {
      const { backlog } = await world.ask(subscriptionShow, { project, id: subscription.id });
      return backlog === 0;
    });
    expect(versionsOf(listener.received, 'h1')).toEqual([1, 2, 3, 4, 5]);
  });

  it('P3: are all sent at the first success after the listener refused several, before their times', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '3600,3600' });
    let refuses = true;
    const listener = await listen(() => ({ status: refuses ? 404 : 204 }));
    await subscribe(world, listener.url);
    for (const subject of ['a', 'b', 'c']) for (const version of [1, 2]) await world.happen(subject, version);
    await eventually(() => (listener.received.length === 3 ? true : undefined));
    refuses = false;
    await world.happen('d', 1);
    await eventually(() => (listener.received.length === 10 ? true : undefined), {
      last: () => listener.received.length,
    });
    for (const subject of ['a', 'b', 'c']) expect(versionsOf(listener.received, subject)).toEqual([1, 1, 2]);
  });

  it('P3: are attempted one at a time while the listener is away, and all at once when it is back', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.4,0.4,0.4,0.4,0.4,60' });
    const away = await listen();
    const { subscription } = await subscribe(world, away.url);
    await away.close();
    for (let version = 1; version <= 200; version += 1) await world.happen(`h${version % 20}`, version);
    const view = await eventually(async () => {
      const shown = await world.ask(subscriptionShow, { project, id: subscription.id });
      return (shown.next_attempt_at ?? null) !== null && shown.backlog === 200 ? shown : undefined;
    });
    expect(view.last_error).toContain('ECONNREFUSED');
    const back = await listen(undefined, away.port);
    await eventually(() => (new Set(back.received.map(({ event }) => event.id)).size === 200 ? true : undefined));
    for (let host = 0; host < 20; host += 1) {
      const versions = versionsOf(back.received, `h${host}`);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    }
  });

  it('continue when the listener always fails with 500 for one of them', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '1,1,1' });
    const listener = await listen(({ event }) => ({ status: event.subject === 'bad' ? 500 : 200 }));
    const { subscription } = await subscribe(world, listener.url);
    await world.happen('bad', 1);
    for (let version = 1; version <= 20; version += 1) await world.happen(`h${version}`, version);
    await eventually(async () => {
      const { deliveries } = await world.ask(deliveryList, { project, subscription: subscription.id });
      return deliveries.filter(({ status }) => status === 'dead').length === 1 ? true : undefined;
    });
    await eventually(async () => {
      const shown = await world.ask(subscriptionShow, { project, id: subscription.id });
      return shown.backlog === 0 && shown.status === 'active' ? true : undefined;
    });
    expect(listener.received.filter(({ event }) => event.subject !== 'bad')).toHaveLength(20);
  });
});

describe('an operator', () => {
  const ids = { id: '', project };
  const backlogOf = async (world: NotificationWorld, id: string) =>
    (await world.ask(subscriptionShow, { project, id })).backlog;

  it('pauses and resumes a subscription, which then receives what it missed', async () => {
    const world = await startWorld();
    const listener = await listen();
    const { subscription } = await subscribe(world, listener.url);
    const target = { ...ids, id: subscription.id };
    await world.happen('h1', 1);
    await eventually(() => listener.received.length === 1);
    expect(await world.ask(subscriptionAct, { ...target, verb: 'pause' })).toMatchObject({ status: 'paused' });
    await world.happen('h1', 2);
    await eventually(async () => (await backlogOf(world, subscription.id)) === 1);
    await expect(world.ask(subscriptionAct, { ...target, verb: 'retry' })).rejects.toThrow('it is paused');
    expect(listener.received).toHaveLength(1);
    expect(await world.ask(subscriptionAct, { ...target, verb: 'resume' })).toMatchObject({ status: 'active' });
    await eventually(() => listener.received.length === 2);
    expect(versionsOf(listener.received, 'h1')).toEqual([1, 2]);
  });

  it('retries what waits before its time, and reads each request in the log', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '3600,3600' });
    let refuses = true;
    const listener = await listen(() => ({ status: refuses ? 422 : 204 }));
    const { subscription } = await subscribe(world, listener.url);
    await world.happen('h1', 1);
    await eventually(() => listener.received.length === 1);
    refuses = false;
    await world.ask(subscriptionAct, { ...ids, id: subscription.id, verb: 'retry' });
    await eventually(() => listener.received.length === 2);
    const attempts = await eventually(async () => {
      const found = await world.ask(attemptList, { project, id: subscription.id, limit: 10 });
      return found.attempts.length === 2 ? found.attempts : undefined;
    });
    expect(attempts).toMatchObject([
      { status: 204, error: null, event_type: 'host.up', subject: 'h1', events: 1 },
      { status: 422, error: 'the listener answered 422' },
    ]);
  });

  it('replays a range of events between ids or times, in order', async () => {
    const world = await startWorld();
    const listener = await listen();
    const { subscription } = await subscribe(world, listener.url, { types: ['host.#'] });
    const events: string[] = [];
    for (const version of [1, 2, 3, 4]) events.push(await world.happen('h1', version));
    await eventually(async () => (await backlogOf(world, subscription.id)) === 0);
    const target = { ...ids, id: subscription.id };
    const [first = '', second = '', third = ''] = events;
    expect(await world.ask(subscriptionReplay, { ...target, from: second, to: third })).toEqual({ events: 2 });
    await eventually(() => listener.received.length === 6);
    expect(versionsOf(listener.received, 'h1')).toEqual([1, 2, 3, 4, 2, 3]);
    const timeOf = (id: string): string => {
      const { body = '{}' } = listener.received.find(({ event }) => event.id === id) ?? {};
      return (JSON.parse(body) as { time: string }).time;
    };
    // At once, while the deliveries of the first replay are not removed.
    await world.ask(subscriptionReplay, { ...target, from: timeOf(first), to: timeOf(events.at(-1) ?? '') });
    await eventually(() => listener.received.length === 10);
    expect(versionsOf(listener.received.slice(6), 'h1')).toEqual([1, 2, 3, 4]);
    await expect(world.ask(subscriptionReplay, { ...target, from: 'yesterday' })).rejects.toThrow('yesterday');
  });

  it('rotates the secret; both sign for a while, and then only the new one', async () => {
    const world = await startWorld();
    const listener = await listen();
    const { subscription, secret: old } = await subscribe(world, listener.url);
    const rotate = (seconds: number) =>
      world.ask(subscriptionRotate, { ...ids, id: subscription.id, keep_seconds: seconds });
    const { secret: second } = await rotate(3600);
    await world.happen('h1', 1);
    const [first] = await eventually(() => (listener.received.length === 1 ? listener.received : undefined));
    const verify = (secret: string, received = first) =>
      new Webhook(secret).verify(received?.body ?? '', received?.headers as Record<string, string>);
    expect(verify(old)).toMatchObject({ subject: 'h1' });
    expect(verify(second)).toMatchObject({ subject: 'h1' });
    const { secret: third } = await rotate(0);
    await world.happen('h1', 2);
    await eventually(() => listener.received.length === 2);
    expect(verify(third, listener.received[1])).toMatchObject({ subject: 'h1' });
    expect(() => verify(second, listener.received[1])).toThrow('signature');
  });

  it('limits a subscription to events that pass its filters, and a filter with mistakes is refused', async () => {
    const world = await startWorld();
    const listener = await listen();
    const filters = [{ any: [{ exact: { subject: 'h2' } }, { exact: { 'data.version': '3' } }] }];
    const { subscription } = await subscribe(world, listener.url, { filters });
    expect(subscription.filters).toEqual(filters);
    for (const version of [1, 2, 3]) for (const subject of ['h1', 'h2']) await world.happen(subject, version);
    await eventually(() => listener.received.length === 4);
    expect(versionsOf(listener.received, 'h1')).toEqual([3]);
    expect(versionsOf(listener.received, 'h2')).toEqual([1, 2, 3]);
    await expect(subscribe(world, listener.url, { filters: [{ exact: {} }] })).rejects.toThrow('filters[0].exact');
    await expect(subscribe(world, listener.url, { types: ['stak.#'] })).rejects.toThrow('Did you mean stack.#?');
  });
});

describe('a subscription with batches', () => {
  it('receives arrays of events, signed as one message, and one by one those of a refused array', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.1' });
    const sizes: number[] = [];
    const listener = await listen(({ body }) => {
      const events = JSON.parse(body) as { data: { version: number } }[];
      sizes.push(events.length);
      return { status: events.some(({ data }) => data.version === 7) ? 400 : 204 };
    });
    const { subscription, secret } = await subscribe(world, listener.url, { batch_size: 10 });
    await Promise.all(Array.from({ length: 30 }, (_, index) => world.happen(`h${index % 5}`, index + 1)));
    await eventually(async () => {
      const shown = await world.ask(subscriptionShow, { project, id: subscription.id });
      return shown.backlog === 0 ? true : undefined;
    });
    expect(Math.max(...sizes)).toBeGreaterThan(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(10);
    const [first] = listener.received;
    expect(first?.headers['content-type']).toContain('application/cloudevents-batch+json');
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers as Record<string, string>)).toBeInstanceOf(
      Array,
    );
    const accepted = listener.received.flatMap(({ body }) => {
      const events = JSON.parse(body) as { subject: string; data: { version: number } }[];
      return events.some(({ data }) => data.version === 7) ? [] : events;
    });
    expect(accepted).toHaveLength(29);
    for (const subject of ['h0', 'h2', 'h4']) {
      const versions = accepted.filter((each) => each.subject === subject).map(({ data }) => data.version);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    }
    const { deliveries } = await world.ask(deliveryList, { project, subscription: subscription.id });
    expect(deliveries.filter(({ status }) => status === 'dead')).toHaveLength(1);
  });
});
