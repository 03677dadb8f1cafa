/** Events that a listener refuses for good. */
import { deliveryList, deliveryReplay } from '@anneal/contracts/calls/deliveries.ts';
import { subscriptionDelete, subscriptionList } from '@anneal/contracts/calls/subscriptions.ts';
import { armFault, disarmFaults } from '@anneal/runtime/fault.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { cleanUpAll, listen, project, startWorld, subscribe, type ReceivedEvent } from './testing/world.ts';

afterEach(async () => {
  disarmFaults();
  await cleanUpAll();
});

interface DeadLetter {
  type: string;
  subject: string;
  data: { reason: string; tries: number; attempts: { status: number }[]; event: ReceivedEvent['event'] };
}
const letterOf = ({ body }: ReceivedEvent): DeadLetter => JSON.parse(body) as DeadLetter;

describe('an event that a listener refuses', () => {
  it('goes to the dead-letter sink after its retries, with reason and attempts; its subject waits, and it can be replayed', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.1' });
    let refuses = true;
    const listener = await listen(({ event }) => ({ status: refuses && event.data.version === 1 ? 422 : 204 }));
    const buried = await listen();
    const { subscription, secret } = await subscribe(world, listener.url, { dead_letter: buried.url });
    const id = await world.happen('h1', 1);
    await world.happen('h1', 2);
    const [letter] = await eventually(() => (buried.received.length > 0 ? buried.received : undefined));
    expect(letter && letterOf(letter)).toMatchObject({
      type: 'subscription.event.dead',
      subject: subscription.id,
      data: {
        reason: 'the listener answered 422',
        tries: 2,
        attempts: [{ status: 422 }, { status: 422 }],
        event: { id, subject: 'h1', data: { version: 1 } },
      },
    });
    new Webhook(secret).verify(letter?.body ?? '', letter?.headers as Record<string, string>);
    await eventually(() => listener.received.length === 3);
    expect(listener.received.map(({ event }) => event.data.version)).toEqual([1, 1, 2]);

    const { deliveries } = await world.ask(deliveryList, { project, subscription: subscription.id });
    const dead = deliveries.find(({ status }) => status === 'dead');
    refuses = false;
    await world.ask(deliveryReplay, { project, subscription: subscription.id, delivery: dead?.id ?? '' });
    await eventually(() => listener.received.at(-1)?.event.data.version === 1 && listener.received.length === 4);
    expect(buried.received).toHaveLength(1);
  });

  it('is dead at the first refusal when the subscription skips, and delays its subject no more', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '3600,3600' });
    const listener = await listen(({ event }) => ({ status: event.data.version === 1 ? 404 : 204 }));
    const buried = await listen();
    await subscribe(world, listener.url, { dead_letter: buried.url, on_refusal: 'skip' });
    for (const version of [1, 2, 3]) await world.happen('h1', version);
    await eventually(() => listener.received.length === 3 && buried.received.length === 1);
    expect(listener.received.map(({ event }) => event.data.version)).toEqual([1, 2, 3]);
    expect(buried.received.map((each) => letterOf(each).data.tries)).toEqual([1]);
  });

  it('is not lost when the service dies before the event is stored as dead', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.1' });
    const listener = await listen(({ event }) => ({ status: event.data.version === 1 ? 400 : 204 }));
    const buried = await listen();
    await subscribe(world, listener.url, { dead_letter: buried.url, on_refusal: 'skip' });
    await world.happen('h0', 0);
    await eventually(() => listener.received.length === 1);
    // The dead letter is published, and nothing of it is stored.
    let deaths = 0;
    armFault('notification.buried', () => {
      deaths += 1;
      if (buried.received.length > 0 || deaths > 20) return;
      throw new Error('killed');
    });
    await world.happen('h1', 1);
    await world.happen('h1', 2);
    await eventually(() => buried.received.length > 0 && listener.received.at(-1)?.event.data.version === 2, {
      last: () => [buried.received.length, listener.received.map(({ event }) => event.data.version)],
    });
    expect(deaths).toBeGreaterThan(1);
    expect(new Set(buried.received.map((each) => letterOf(each).data.event.data.version))).toEqual(new Set([1]));
  });

  it('does not become a dead letter of a dead letter, also with a listener of all events', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.05' });
    const listener = await listen(() => ({ status: 400 }));
    const { subscription } = await subscribe(world, listener.url, {
      dead_letter: listener.url,
      on_refusal: 'skip',
    });
    const other = await listen(() => ({ status: 400 }));
    await subscribe(world, other.url, { dead_letter: other.url, on_refusal: 'skip' });
    await world.happen('h1', 1);
    await eventually(async () => {
      const lists = await Promise.all(
        [`${subscription.id}-dead`, subscription.id].map((id) =>
          world.ask(deliveryList, { project, subscription: id }),
        ),
      );
      return lists.every(({ deliveries }) => deliveries.some(({ status }) => status === 'dead'));
    });
    // The event; its dead letter to the sink with one retry; and the dead letter of the other subscription.
    await eventually(() => listener.received.length === 4, { last: () => listener.received.length });
    const { subscriptions } = await world.ask(subscriptionList, { project });
    expect(subscriptions).toHaveLength(4);
    await world.ask(subscriptionDelete, { project, id: subscription.id });
    expect((await world.ask(subscriptionList, { project })).subscriptions).toHaveLength(2);
  });
});
