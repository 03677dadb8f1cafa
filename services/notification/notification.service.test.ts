import { hostEvent, stackEvent } from '@anneal/contracts/events.ts';
import { unknownOrigin } from '@anneal/contracts/origin.ts';
import type { AnnealError } from '@anneal/contracts/errors.ts';
import { deliveryList, deliveryReplay } from '@anneal/contracts/calls/deliveries.ts';
import { eventLog } from '@anneal/contracts/calls/event-log.ts';
import {
  subscriptionAct,
  subscriptionCreate,
  subscriptionDelete,
  subscriptionList,
  subscriptionReplay,
  subscriptionShow,
} from '@anneal/contracts/calls/subscriptions.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { atEnd, cleanUpAll, listen, project, startWorld, subscribe } from './testing/world.ts';

afterEach(cleanUpAll);

describe('a webhook', () => {
  it('carries the unchanged event, signed so that any Standard Webhooks library can verify it', async () => {
    const world = await startWorld();
    const listener = await listen();
    const { secret } = await subscribe(world, listener.url);
    const id = await world.happen('h1', 1);
    const [received] = await eventually(() => (listener.received.length > 0 ? listener.received : undefined));
    expect(new Webhook(secret).verify(received?.body ?? '', received?.headers as Record<string, string>)).toMatchObject(
      {
        specversion: '1.0',
        id,
        type: 'host.up',
        subject: 'h1',
        project,
        data: { host_id: 'h1', version: 1 },
      },
    );
    expect(received?.headers['webhook-id']).toBe(id);
    expect(() =>
      new Webhook(secret).verify(`${received?.body ?? ''} `, received?.headers as Record<string, string>),
    ).toThrow('signature');
  });

  it('reaches only subscriptions to its type and subject', async () => {
    const world = await startWorld();
    const listener = await listen();
    await subscribe(world, listener.url, { types: ['stack.#'] });
    await subscribe(world, listener.url, { subject_prefix: 'h2' });
    await world.happen('h1', 1);
    await world.happen('h2', 1);
    await world.context.bus.publish([
      world.context.mint(stackEvent['create.failed'], {
        project,
        subject: 's1',
        data: {
          origin: unknownOrigin(),
          stack_id: 's1',
          stack_name: 's',
          action: 'CREATE',
          status: 'FAILED',
          reason: 'r',
          traversal: 't',
          version: 1,
        },
      }),
    ]);
    await eventually(() => (listener.received.length >= 2 ? true : undefined));
    expect(listener.received.map(({ event }) => event.subject).sort()).toEqual(['h2', 's1']);
  });

  it('P2: reaches a listener that was away when it is back, in order', async () => {
    const world = await startWorld({
      ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2',
    });
    const away = await listen();
    const { subscription } = await subscribe(world, away.url);
    await away.close();
    for (let version = 1; version <= 12; version += 1) await world.happen(`h${version % 3}`, version);
    await eventually(async () => {
      const { last_failure_at: failed, backlog } = await world.ask(subscriptionShow, { project, id: subscription.id });
      return failed !== null && backlog === 12 ? true : undefined;
    });
    const back = await listen(undefined, away.port);
    await eventually(() => (new Set(back.received.map(({ event }) => event.id)).size === 12 ? true : undefined));
    for (const subject of ['h0', 'h1', 'h2']) {
      const versions = back.received
        .filter(({ event }) => event.subject === subject)
        .map(({ event }) => event.data.version);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    }
    await eventually(async () => {
      const view = await world.ask(subscriptionShow, { project, id: subscription.id });
      return view.backlog === 0 && view.last_success_at !== null ? true : undefined;
    });
  });

  it('is dead after its last attempt, does not block later events, and can be replayed', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.05' });
    let broken = true;
    const listener = await listen(({ event }) => ({ status: broken && event.data.version === 1 ? 400 : 200 }));
    const { subscription } = await subscribe(world, listener.url);
    await world.happen('h1', 1);
    await world.happen('h1', 2);
    const dead = await eventually(async () => {
      const { deliveries } = await world.ask(deliveryList, { project, subscription: subscription.id });
      return deliveries.every(({ status }) => status !== 'pending') && deliveries.length === 2
        ? deliveries.find(({ status }) => status === 'dead')
        : undefined;
    });
    expect(dead.attempts.map(({ status }) => status)).toEqual([400, 400]);
    expect(dead.failure?.message).toContain('2 attempts');
    broken = false;
    await world.ask(deliveryReplay, { project, subscription: subscription.id, delivery: dead.id });
    await eventually(async () => {
      const { deliveries } = await world.ask(deliveryList, { project, subscription: subscription.id });
      return deliveries.every(({ status }) => status === 'delivered') ? true : undefined;
    });
    expect(listener.received.map(({ event }) => event.data.version)).toEqual([1, 1, 2, 1]);
  });

  it('disables its subscription on 410', async () => {
    const world = await startWorld();
    const listener = await listen(() => ({ status: 410 }));
    const { subscription } = await subscribe(world, listener.url, { types: ['host.#'] });
    await world.happen('h1', 1);
    await eventually(async () => {
      const { status } = await world.ask(subscriptionShow, { project, id: subscription.id });
      return status === 'disabled' ? true : undefined;
    });
    await world.happen('h1', 2);
    const { subscriptions } = await world.ask(subscriptionList, { project });
    expect(subscriptions).toMatchObject([{ reason: expect.stringContaining('answered 410') as string, backlog: 2 }]);
    expect(listener.received).toHaveLength(1);
    const page = await eventually(async () => {
      const found = await world.ask(eventLog, { project, types: ['subscription.#'], subject_prefix: '', limit: 10 });
      return found.events.length > 0 ? found : undefined;
    });
    expect(page.events).toMatchObject([
      { type: 'subscription.disabled', subject: subscription.id, data: { url: listener.url } },
    ]);
  });

  it('waits as long as a busy listener requests', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.01,0.01' });
    const listener = await listen((_, count) =>
      count === 1 ? { status: 503, headers: { 'retry-after': '1' } } : { status: 200 },
    );
    const { subscription } = await subscribe(world, listener.url);
    const began = performance.now();
    await world.happen('h1', 1);
    await eventually(() => (listener.received.length === 2 ? true : undefined));
    expect(performance.now() - began).toBeGreaterThan(900);
    expect(subscription.status).toBe('active');
  });

  it('does not follow a redirect', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0' });
    const target = await listen();
    const listener = await listen(() => ({ status: 302, headers: { location: target.url } }));
    await subscribe(world, listener.url);
    await world.happen('h1', 1);
    await eventually(() => (listener.received.length === 2 ? true : undefined));
    expect(target.received).toHaveLength(0);
  });

  it('is not delayed for a healthy listener by another one that is down', async () => {
    const world = await startWorld();
    const down = await listen();
    const up = await listen();
    await subscribe(world, down.url);
    await subscribe(world, up.url);
    await down.close();
    await world.happen('h1', 1);
    await eventually(() => (up.received.length === 1 ? true : undefined));
  });

  it('P1: is delivered after a restart when the service died between storing a refused event and the cursor', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.3,0.3,0.3,0.3,0.3,0.3' });
    let died = 0;
    const listener = await listen(() => ({ status: died === 0 ? 400 : 200 }));
    await subscribe(world, listener.url);
    const disarm = armFault('notification.filed', () => {
      died += 1;
      if (died === 1) throw new Error('died here');
    });
    atEnd(disarm);
    await world.happen('h1', 1);
    await world.happen('h1', 2);
    await eventually(() => (died > 0 ? true : undefined));
    await world.stop();
    disarm();
    await world.start();
    await eventually(() => (listener.received.some(({ event }) => event.data.version === 2) ? true : undefined));
    const versions = listener.received.map(({ event }) => event.data.version);
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  });
});

describe('a subscription', () => {
  it('is refused for an address that cannot be delivered to, and the error says how to allow it', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_ALLOW_PRIVATE: 'false' });
    for (const url of [
      'http://127.0.0.1:1/',
      'http://[::1]/',
      'http://[::ffff:10.0.0.1]/',
      'http://localhost/',
      'ftp://x/',
    ]) {
      await expect(subscribe(world, url)).rejects.toMatchObject({
        code: 'InvalidRequest',
      } satisfies Partial<AnnealError>);
    }
    await expect(subscribe(world, 'http://192.168.0.1/')).rejects.toThrow('ANNEAL_NOTIFICATION_ALLOW_PRIVATE');
    await expect(subscribe(world, 'http://example.com/', { types: ['stack.*ed'] })).rejects.toThrow('not a pattern');
  });

  it('can start from the beginning of the log, and is deleted with its deliveries', async () => {
    const world = await startWorld();
    await world.happen('h1', 1);
    await world.happen('h1', 2);
    await eventually(async () => {
      const { events } = await world.ask(eventLog, {
        project,
        types: ['#'],
        subject_prefix: '',
        limit: 10,
        after: 'beginning',
      });
      return events.length === 2 ? true : undefined;
    });
    const listener = await listen();
    const { subscription } = await subscribe(world, listener.url, { after: 'beginning' });
    await eventually(() => (listener.received.length === 2 ? true : undefined));
    expect(listener.received.map(({ event }) => event.data.version)).toEqual([1, 2]);
    await world.ask(subscriptionDelete, { project, id: subscription.id });
    await expect(world.ask(subscriptionShow, { project, id: subscription.id })).rejects.toMatchObject({
      code: 'NotFound',
    });
    await expect(world.ask(subscriptionShow, { project: 'other', id: subscription.id })).rejects.toMatchObject({
      code: 'NotFound',
    });
  });
});

describe('a subscription to another project', () => {
  it('gets the events of that project only, and counts those that the log drops', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_KEEP_EVENTS: '100' });
    const { context } = world;
    const listener = await listen();
    const data = { host_id: 'h', name: 'h', status: 'up', facts: {}, version: 1 };
    const of = (where: string, count = 1) =>
      Array.from({ length: count }, () => context.mint(hostEvent.up, { data, subject: 'h', project: where }));
    const wanted = { id: context.newId(), project, name: '', types: ['host.#'], subject_prefix: '', url: listener.url };
    const { subscription } = await world.ask(subscriptionCreate, { ...wanted, events_project: 'other' });
    expect(subscription).toMatchObject({ project, events_project: 'other' });
    const [foreign, own] = [of('other', 3), of(project, 3)];
    await context.bus.publish([...own, ...foreign]);
    await eventually(() => (listener.received.length >= 3 ? true : undefined));
    expect(listener.received.map(({ event }) => event.id)).toEqual(foreign.map(({ id }) => id));
    const ids = { project, id: subscription.id };
    // Events above the stored cursor are not replayed, because they are sent anyway.
    const from = foreign[1]?.id ?? '';
    await eventually(async () => (await world.ask(subscriptionReplay, { ...ids, from })).events === 2, {
      what: 'the replay of two events of the other project',
    });
    await world.ask(subscriptionAct, { ...ids, verb: 'pause' });
    await context.bus.publish([...of('other', 5), ...of(project, 600)]);
    // At least: an event that is delivered while the log removes it may count too.
    const isCounted = async () => ((await world.ask(subscriptionShow, ids)).dropped?.count ?? 0) >= 5;
    await eventually(isCounted, { what: 'the count of the dropped events' });
    await expect(world.ask(subscriptionShow, { ...ids, project: 'other' })).rejects.toMatchObject({ code: 'NotFound' });
  });
});

describe('the event log', () => {
  it('L2: stores an event once, however often it arrives, and pages after any event', async () => {
    const world = await startWorld();
    const kept: unknown[] = [];
    await world.context.bus.subscribe(['event.kept'], async ({ message }) => void kept.push(message.project));
    const { context } = world;
    const data = { host_id: 'h', name: 'h', status: 'up', facts: {}, version: 1 };
    const events = Array.from({ length: 5 }, () => context.mint(hostEvent.up, { data, subject: 'h', project }));
    const foreign = context.mint(hostEvent.up, { data, subject: 'h', project: 'other' });
    await context.bus.publish([...events, ...events, foreign]);
    const read = async (after?: string, limit = 100) => {
      const page = await world.ask(eventLog, {
        project,
        types: ['host.*'],
        subject_prefix: '',
        limit,
        ...(after !== undefined && { after }),
      });
      return page.events.map(({ id }) => id);
    };
    const ids = events.map(({ id }) => id);
    await eventually(async () => ((await read('beginning')).length === 5 ? true : undefined));
    expect(await read('beginning')).toEqual(ids);
    expect(await read(ids[1])).toEqual(ids.slice(2));
    expect(await read(ids[1], 2)).toEqual(ids.slice(2, 4));
    expect(await read(undefined, 2)).toEqual(ids.slice(3));
    expect(await read(ids[4])).toEqual([]);
    // Wakes the clients that follow the log of either project.
    await eventually(() => kept.includes(project) && kept.includes('other'), { what: 'the events', last: () => kept });
  });

  it('removes the oldest events above its limit', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_KEEP_EVENTS: '100' });
    const { context } = world;
    const data = { host_id: 'h', name: 'h', status: 'up', facts: {}, version: 1 };
    const events = Array.from({ length: 700 }, () => context.mint(hostEvent.up, { data, subject: 'h', project }));
    await context.bus.publish(events);
    const read = () =>
      world.ask(eventLog, { project, types: ['#'], subject_prefix: '', limit: 1000, after: 'beginning' });
    const last = events.at(-1)?.id;
    await eventually(async () => {
      const page = await read();
      return page.events.at(-1)?.id === last && page.events.length < 400 ? true : undefined;
    });
    expect((await read()).gap).toBeUndefined();
  });

  it('removes the events that are older than its age limit, and keeps younger ones whatever the number', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_KEEP_SECONDS: '3600' });
    const { context } = world;
    const data = { host_id: 'h', name: 'h', status: 'up', facts: {}, version: 1 };
    const minted = Array.from({ length: 600 }, () => context.mint(hostEvent.up, { data, subject: 'h', project }));
    const time = new Date(Date.now() - 7_200_000).toISOString();
    const events = minted.map((each, index) => (index < 300 ? { ...each, time } : each));
    await context.bus.publish(events);
    const left = await eventually(async () => {
      const all = { project, types: ['#'], subject_prefix: '', limit: 1000, after: 'beginning' };
      const page = await world.ask(eventLog, all);
      return page.events.at(-1)?.id === events.at(-1)?.id && page.events.length < 600 ? page.events : undefined;
    });
    expect(left.map(({ id }) => id)).toEqual(events.slice(300).map(({ id }) => id));
  });

  it('refuses to start after a text that is no id of an event, and stores no subscription that does', async () => {
    const world = await startWorld();
    const wanted = { project, types: ['#'], subject_prefix: '', after: 'nonsense' };
    const refused = { code: 'InvalidRequest', message: expect.stringContaining('"nonsense"') as string };
    await expect(world.ask(eventLog, { ...wanted, limit: 1 })).rejects.toMatchObject(refused);
    const made = { ...wanted, id: world.context.newId(), name: '', url: 'queue:q' };
    await expect(world.ask(subscriptionCreate, made)).rejects.toMatchObject(refused);
    expect(await world.ask(subscriptionList, { project })).toEqual({ subscriptions: [] });
    // The id of a context's event contains a UUID behind other text.
    const after = `context.applied:${world.context.newId()}:3`;
    expect(await world.ask(eventLog, { ...wanted, after, limit: 1 })).toMatchObject({ gap: { after } });
  });

  it('reports a gap to a client that starts after a removed event, unless the client had read the events behind it', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_KEEP_EVENTS: '100' });
    const { context } = world;
    const data = { host_id: 'h', name: 'h', status: 'up', facts: {}, version: 1 };
    const mine = context.mint(hostEvent.up, { data, subject: 'h', project });
    await context.bus.publish([mine]);
    const read = (after: string, position?: number) =>
      world.ask(eventLog, {
        project,
        types: ['#'],
        subject_prefix: '',
        limit: 1000,
        after,
        ...(position !== undefined && { position }),
      });
    await eventually(async () => ((await read('beginning')).events.length === 1 ? true : undefined));
    const before = await read(mine.id);
    expect(before).toEqual({ events: [], position: 1 });
    const others = Array.from({ length: 700 }, () => context.mint(hostEvent.up, { data, subject: 'h', project: 'p2' }));
    await context.bus.publish(others);
    const isRemoved = async () => ((await read('beginning')).events.length === 0 ? true : undefined);
    await eventually(isRemoved, { what: 'the removal of the event' });
    const gap = { after: mine.id, oldest: null };
    expect(await read(mine.id)).toMatchObject({ events: [], gap });
    expect(await read(mine.id, before.position)).toMatchObject({ gap });
    const { position } = await read('beginning');
    expect(await read(mine.id, position)).toEqual({ events: [], position: expect.any(Number) as number });
    const next = context.mint(hostEvent.up, { data, subject: 'h', project });
    await context.bus.publish([next]);
    const found = await eventually(async () => {
      const page = await read(mine.id);
      return page.events.length > 0 ? page : undefined;
    });
    expect(found).toMatchObject({ events: [{ id: next.id }], gap: { after: mine.id, oldest: next.time } });
    const listener = await listen();
    const made = await world.ask(subscriptionCreate, {
      id: '00000000-0000-4000-8000-000000000001',
      project,
      name: 'late',
      url: listener.url,
      types: ['#'],
      subject_prefix: '',
      after: mine.id,
    });
    expect(made.gap).toEqual({ after: mine.id, oldest: next.time });
  });
});
