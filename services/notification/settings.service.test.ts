/** Another value of a setting changes what subscribers see. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { attemptList, deliveryList } from '@anneal/contracts/calls/deliveries.ts';
import { subscriptionShow } from '@anneal/contracts/calls/subscriptions.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { cleanUpAll, listen, project, startWorld, subscribe } from './testing/world.ts';

afterEach(cleanUpAll);

it('MAX_SUBSCRIPTIONS: a project has at most so many', async () => {
  const world = await startWorld({ ANNEAL_NOTIFICATION_MAX_SUBSCRIPTIONS: '1' });
  await subscribe(world, 'http://127.0.0.1:1/');
  await expect(subscribe(world, 'http://127.0.0.1:2/')).rejects.toMatchObject({
    code: 'QuotaExceeded',
    message: expect.stringContaining('ANNEAL_NOTIFICATION_MAX_SUBSCRIPTIONS') as string,
  });
});

it('KEEP_DELIVERIES: so many dead deliveries stay', async () => {
  const world = await startWorld({
    ANNEAL_NOTIFICATION_KEEP_DELIVERIES: '3',
    ANNEAL_NOTIFICATION_RETRY_SECONDS: '0.01',
  });
  const listener = await listen(() => ({ status: 400 }));
  const { subscription } = await subscribe(world, listener.url);
  for (let count = 0; count < 8; count += 1) await world.happen(`h${count}`, 1);
  let last: unknown;
  await eventually(
    async () => {
      const { deliveries } = await world.ask(deliveryList, { project, subscription: subscription.id });
      last = [listener.received.length, deliveries.map(({ status }) => status)];
      return listener.received.length === 16 && deliveries.length === 3;
    },
    { what: 'three dead deliveries', last: () => last },
  );
});

it('PENDING_DELIVERIES: so many refused events are stored', async () => {
  const world = await startWorld({
    ANNEAL_NOTIFICATION_PENDING_DELIVERIES: '3',
    ANNEAL_NOTIFICATION_RETRY_SECONDS: '3600',
  });
  const listener = await listen(() => ({ status: 400 }));
  const { subscription } = await subscribe(world, listener.url);
  for (let count = 0; count < 10; count += 1) await world.happen(`h${count}`, 1);
  const name = 'notification_deliveries';
  const indexes = [{ fields: ['subscription_id', 'status', 'sequence'] }];
  const deliveries = await world.context.store.collection<never>({ name, indexes });
  const stored = async () =>
    (await deliveries.find({ where: { subscription_id: subscription.id, status: 'pending' } })).length;
  let last: unknown;
  await eventually(
    async () => {
      last = [listener.received.length, await stored()];
      return listener.received.length === 10 && (await stored()) === 3;
    },
    { what: 'three deliveries', last: () => last },
  );
  // The others wait in the log.
  const { backlog } = await world.ask(subscriptionShow, { project, id: subscription.id });
  expect([backlog, await stored()]).toEqual([10, 3]);
});

it('TIMEOUT_MS: a listener may take this time to answer', async () => {
  const world = await startWorld({ ANNEAL_NOTIFICATION_TIMEOUT_MS: '200', ANNEAL_NOTIFICATION_RETRY_SECONDS: '3600' });
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    silent.closeAllConnections();
    silent.close();
  });
  const { subscription } = await subscribe(world, `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`);
  await world.happen('h', 1);
  const { attempts } = await eventually(async () => {
    const found = await world.ask(attemptList, { project, id: subscription.id, limit: 10 });
    return found.attempts.length > 0 && found;
  });
  // With the default, 15 s.
  expect(attempts[0]?.ms).toBeLessThan(14_000);
});
