/** Subscriptions that condense the events of a window. */
import { deliveryList } from '@anneal/contracts/calls/deliveries.ts';
import { subscriptionShow } from '@anneal/contracts/calls/subscriptions.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUpAll, listen, project, startWorld, subscribe, type NotificationWorld } from '../testing/world.ts';

useQuickClock();
afterEach(cleanUpAll);

interface Digest {
  readonly type: string;
  readonly subject: string;
  readonly data: {
    readonly count: number;
    readonly types: Record<string, number>;
    readonly events: { readonly subject: string; readonly data: { readonly version: number } }[];
  };
}
const backlogOf = async (world: NotificationWorld, id: string): Promise<number> =>
  (await world.ask(subscriptionShow, { project, id })).backlog;

describe('a subscription that condenses', () => {
  it('sends of each subject the latest event of the window, and the others never', async () => {
    const world = await startWorld();
    const listener = await listen();
    const { subscription } = await subscribe(world, listener.url, { condense: 'latest', window_seconds: 3 });
    for (const version of [1, 2, 3]) for (const subject of ['a', 'b']) await world.happen(subject, version);
    await eventually(() => listener.received.length >= 2);
    await eventually(async () => (await backlogOf(world, subscription.id)) === 0);
    await world.happen('a', 4);
    await eventually(() => listener.received.length >= 3);
    const seen = listener.received.map(({ event }) => `${event.subject} ${event.data.version}`);
    expect(new Set(seen)).toEqual(new Set(['a 3', 'b 3', 'a 4']));
    expect(seen).toHaveLength(3);
  });

  it('sends one digest with the counts and all events of the window, in order per subject', async () => {
    const world = await startWorld();
    const listener = await listen();
    const { subscription } = await subscribe(world, listener.url, { condense: 'digest', window_seconds: 3 });
    for (const version of [1, 2, 3]) for (const subject of ['a', 'b']) await world.happen(subject, version);
    await eventually(() => listener.received.length > 0);
    const [digest] = listener.received.map(({ event }) => event as unknown as Digest);
    expect(digest).toMatchObject({
      type: 'subscription.digest',
      subject: subscription.id,
      data: { count: 6, types: { 'host.up': 6 } },
    });
    const versions = digest?.data.events.filter(({ subject }) => subject === 'a').map(({ data }) => data.version);
    expect(versions).toEqual([1, 2, 3]);
    await eventually(async () => (await backlogOf(world, subscription.id)) === 0);
    expect(listener.received).toHaveLength(1);
  });

  it('attempts a refused digest again as a whole, and gives all its events up together', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.2' });
    const listener = await listen(() => ({ status: 400 }));
    const { subscription } = await subscribe(world, listener.url, { condense: 'digest', window_seconds: 3 });
    for (const subject of ['a', 'b', 'c']) await world.happen(subject, 1);
    const deliveries = await eventually(async () => {
      const found = await world.ask(deliveryList, { project, subscription: subscription.id });
      const dead = found.deliveries.filter(({ status }) => status === 'dead');
      return dead.length === 3 ? dead : undefined;
    });
    expect(deliveries.map(({ attempts }) => attempts.length)).toEqual([2, 2, 2]);
    const digests = listener.received.map(({ event }) => (event as unknown as Digest).data.count);
    expect(digests).toEqual([3, 3]);
  });

  it('is refused with a form that has no digest, and with a window that nothing uses', async () => {
    const world = await startWorld();
    const { url } = await listen();
    await expect(subscribe(world, url, { condense: 'digest', batch_size: 5 })).rejects.toThrow(/one CloudEvent/);
    await expect(subscribe(world, url, { window_seconds: 5 })).rejects.toThrow(/needs condense/);
  });
});
