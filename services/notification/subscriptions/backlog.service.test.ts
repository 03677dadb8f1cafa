import { deliveryList } from '@anneal/contracts/calls/deliveries.ts';
import { subscriptionShow } from '@anneal/contracts/calls/subscriptions.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { EventBacklogs } from './backlog.ts';
import { openDeliveries } from '../delivery/deliveries.ts';
import { EventLog } from '../events/event-log.ts';
import { openSubscriptions } from '../documents/subscription.ts';
import { cleanUpAll, listen, project, startWorld, subscribe, type NotificationWorld } from '../testing/world.ts';

afterEach(cleanUpAll);

/** Measures what is in the store of the service, as a replica does. */
async function openBacklogs({ context: { store } }: NotificationWorld): Promise<EventBacklogs> {
  const nothing = (): Promise<void> => Promise.resolve();
  const events = await EventLog.open({
    store,
    keep: 1000,
    keepMs: Infinity,
    now: () => Date.now(),
    onKept: nothing,
    onTrim: nothing,
    onAppendFailed: () => undefined,
    onTrimFailed: () => undefined,
  });
  return new EventBacklogs({
    subscriptions: await openSubscriptions(store),
    deliveries: await openDeliveries(store),
    events,
  });
}

describe('the backlog of listeners', () => {
  it('K1: is empty for a filter that no event passes, and for a listener that accepts all', async () => {
    const world = await startWorld();
    const backlogs = await openBacklogs(world);
    const listener = await listen();
    await subscribe(world, listener.url);
    await subscribe(world, 'http://127.0.0.1:1/never', { types: ['node.#'] });
    for (let version = 1; version <= 20; version += 1) await world.happen('h1', version);
    await eventually(() => listener.received.length === 20);
    await eventually(async () => (await backlogs.byScheme()).get('http')?.events === 0);
    expect(await backlogs.byScheme()).toEqual(new Map([['http', { events: 0, since: Infinity }]]));
  });

  it('has the events of a listener that is away until it is back', async () => {
    const world = await startWorld({
      ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2,0.2',
    });
    const backlogs = await openBacklogs(world);
    const away = await listen();
    await subscribe(world, away.url);
    await away.close();
    const before = Date.now();
    for (let version = 1; version <= 3; version += 1) await world.happen('h1', version);
    await eventually(async () => (await backlogs.byScheme()).get('http')?.events === 3);
    const { since } = (await backlogs.byScheme()).get('http')!;
    expect(since).toBeGreaterThanOrEqual(before);
    expect(since).toBeLessThanOrEqual(Date.now());

    const back = await listen(undefined, away.port);
    await eventually(() => back.received.length === 3);
    await eventually(async () => (await backlogs.byScheme()).get('http')?.events === 0);
  });

  it('is in the list of deliveries, with the attempts and the time of the next one', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '1,3600' });
    const { subscription } = await subscribe(world, 'http://127.0.0.1:1/away');
    const first = await world.happen('h1', 1);
    const second = await world.happen('h1', 2);
    await eventually(async () => {
      const shown = await world.ask(subscriptionShow, { project, id: subscription.id });
      return shown.backlog === 2 && shown.outage?.attempts === 2;
    });
    const { deliveries } = await world.ask(deliveryList, { project, subscription: subscription.id });
    const refused = { status: null, error: expect.stringContaining('ECONNREFUSED') };
    const next = { status: 'pending', next_attempt_at: expect.any(String) };
    expect(deliveries).toMatchObject([
      { ...next, event_id: second, attempts: [] },
      { ...next, event_id: first, attempts: [refused, refused] },
    ]);
  });
});
