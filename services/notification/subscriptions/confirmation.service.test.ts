/** Listeners that agree before they receive events, and test events. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  subscriptionAct,
  subscriptionConfirm,
  subscriptionShow,
  subscriptionTest,
} from '@anneal/contracts/calls/subscriptions.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { atEnd, cleanUpAll, listen, project, startWorld, subscribe } from '../testing/world.ts';

afterEach(cleanUpAll);

/** A webhook that answers the validation with this origin, or without one. */
async function listenWith(origin: () => string | undefined, rate?: string) {
  const asked: IncomingHttpHeaders[] = [];
  const received: { headers: IncomingHttpHeaders; body: string; at: number }[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      if (request.method !== 'OPTIONS') {
        received.push({ headers: request.headers, body, at: performance.now() });
        response.writeHead(204).end();
        return;
      }
      asked.push(request.headers);
      const allowed = origin();
      response
        .writeHead(200, {
          ...(allowed !== undefined && { 'webhook-allowed-origin': allowed }),
          ...(rate !== undefined && { 'webhook-allowed-rate': rate }),
        })
        .end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  atEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, asked, received };
}

describe('a webhook that must confirm', () => {
  it('receives everything since the subscription when it agrees at once', async () => {
    const world = await startWorld({ ANNEAL_NOTIFICATION_CONFIRM: 'true' });
    const listener = await listenWith(() => '127.0.0.1');
    const { subscription } = await subscribe(world, listener.url);
    expect(subscription.status).toBe('active');
    expect(listener.asked[0]?.['webhook-request-origin']).toBe('127.0.0.1');
    await world.happen('h1', 1);
    await eventually(() => listener.received.length === 1);
  });

  it('gets no more requests a minute than it has allowed, also after a restart, and all events in the end', async () => {
    const world = await startWorld();
    const listener = await listenWith(() => '*', '120');
    const { subscription } = await subscribe(world, listener.url, { confirm: true });
    expect(subscription.allowed_rate).toBe(120);
    for (let count = 1; count <= 16; count += 1) await world.happen('h1', count);
    await eventually(() => listener.received.length >= 12);
    await world.stop();
    await world.start();
    // The restart may repeat the event whose request was in flight.
    const versions = (): Set<number> =>
      new Set(listener.received.map(({ body }) => (JSON.parse(body) as { data: { version: number } }).data.version));
    await eventually(() => versions().size >= 16, { last: () => listener.received.length });
    expect([...versions()]).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
    // Twelve at once, then one each 550 ms.
    const [first, last] = [listener.received[0]?.at ?? 0, listener.received[15]?.at ?? 0];
    expect(last - first).toBeGreaterThan(2_000);
  });

  it('may allow any rate with `*`, and allows one with the callback too', async () => {
    const world = await startWorld();
    const any = await subscribe(world, (await listenWith(() => '*', '*')).url, { confirm: true });
    expect(any.subscription).toMatchObject({ status: 'active', allowed_rate: null });
    const listener = await listenWith(() => undefined);
    const { id } = (await subscribe(world, listener.url, { confirm: true })).subscription;
    const { searchParams } = new URL(String(listener.asked[0]?.['webhook-request-callback']));
    const proof = { expires: Number(searchParams.get('expires')), signature: searchParams.get('signature') ?? '' };
    await world.ask(subscriptionConfirm, { id, ...proof, rate: 30 });
    expect(await world.ask(subscriptionShow, { project, id })).toMatchObject({ status: 'active', allowed_rate: 30 });
  });

  it('receives nothing until it requests the callback, and then all that waited', async () => {
    const world = await startWorld();
    const listener = await listenWith(() => undefined);
    const { subscription } = await subscribe(world, listener.url, { confirm: true });
    expect(subscription).toMatchObject({ status: 'unconfirmed', last_error: expect.stringContaining('127.0.0.1') });
    const { id } = subscription;
    await world.happen('h1', 1);
    await eventually(async () => (await world.ask(subscriptionShow, { project, id })).backlog === 1);
    for (const verb of ['resume', 'retry', 'pause'] as const) {
      await expect(world.ask(subscriptionAct, { project, id, verb })).rejects.toThrow('has not confirmed it');
    }
    const callback = new URL(String(listener.asked[0]?.['webhook-request-callback']));
    expect(callback.pathname).toBe(`/api/v1/subscriptions/${id}/confirm`);
    const expires = Number(callback.searchParams.get('expires'));
    const signature = callback.searchParams.get('signature') ?? '';
    for (const wrong of [
      { id, expires: expires + 1, signature },
      { id, expires: 1, signature },
      { id: 'other', expires, signature },
      { id, expires, signature: signature.slice(0, -2) },
    ]) {
      await expect(world.ask(subscriptionConfirm, wrong)).rejects.toMatchObject({ code: 'Forbidden' });
    }
    expect(listener.received).toEqual([]);
    expect(await world.ask(subscriptionConfirm, { id, expires, signature })).toEqual({ project });
    await eventually(() => listener.received.length === 1);
    expect(await world.ask(subscriptionConfirm, { id, expires, signature })).toEqual({ project });
    expect(await world.ask(subscriptionShow, { project, id })).toMatchObject({ status: 'active', last_error: null });
  });

  it('is asked again by a test, which then sends a signed test event to it alone', async () => {
    const world = await startWorld();
    let allowed: string | undefined = 'other.example';
    const listener = await listenWith(() => allowed);
    const { subscription, secret } = await subscribe(world, listener.url, { confirm: true });
    const { id } = subscription;
    const refused = await world.ask(subscriptionTest, { project, id });
    expect(refused).toMatchObject({ status: 200, subscription: { status: 'unconfirmed' } });
    expect(refused.error).toContain('WebHook-Allowed-Origin');
    expect(listener.received).toEqual([]);
    allowed = '*';
    const tested = await world.ask(subscriptionTest, { project, id });
    expect(tested).toMatchObject({ status: 204, error: null, subscription: { status: 'active', backlog: 0 } });
    const [first] = listener.received;
    expect(new Webhook(secret).verify(first?.body ?? '', first?.headers as Record<string, string>)).toMatchObject({
      type: 'subscription.tested',
      subject: id,
    });
  });

  it('cannot be another sink', async () => {
    const world = await startWorld();
    await expect(subscribe(world, 'queue:q', { confirm: true })).rejects.toThrow('it is neither a webhook nor mail');
    const { subscription } = await subscribe(await startWorld({ ANNEAL_NOTIFICATION_CONFIRM: 'true' }), 'queue:q');
    expect(subscription.status).toBe('active');
  });
});

it('a test shows the answer of a listener that refuses, and of one that is away', async () => {
  const world = await startWorld({ ANNEAL_NOTIFICATION_TIMEOUT_MS: '500' });
  const listener = await listen(() => ({ status: 403 }));
  const { subscription } = await subscribe(world, listener.url);
  const test = () => world.ask(subscriptionTest, { project, id: subscription.id });
  expect(await test()).toMatchObject({ status: 403, error: 'the listener answered 403' });
  await listener.close();
  expect(await test()).toMatchObject({ status: null, error: expect.stringContaining('ECONNREFUSED') });
});
