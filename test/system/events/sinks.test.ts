/** Subscriptions through the gateway: queues as sinks, and a webhook that confirms over HTTP. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostEvent } from '@anneal/contracts/events.ts';
import { eventually } from '@anneal/runtime/testing.ts';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { openEventWorld, type EventWorld } from './world.ts';

let world: EventWorld | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

const project = '00000000000000000000000000000001';

async function happen({ context }: EventWorld, subject: string, version: number): Promise<string> {
  const data = { host_id: subject, name: subject, status: 'up', facts: {}, version };
  const event = context.mint(hostEvent.up, { data, subject, project });
  await context.bus.publish([event]);
  return event.id;
}

const bodiesOf = async ({ client }: EventWorld, queue: string) =>
  (await client.queues.peek({ queue, limit: 100 })).map(({ body }) => body);

describe('a queue as the sink of a subscription', () => {
  it('has the events, in order per subject, with their ids', async () => {
    world = await openEventWorld();
    await world.client.subscriptions.create({
      name: 'audit',
      url: 'queue:audit?ttl=600',
      types: ['host.#'],
      batchSize: 5,
    });
    const ids: string[] = [];
    for (let version = 1; version <= 12; version += 1) ids.push(await happen(world, `h${version % 2}`, version));
    const found = await eventually(async () => {
      const bodies = world ? await bodiesOf(world, 'audit') : [];
      return bodies.length >= 12 ? (bodies as { id: string; subject: string; data: { version: number } }[]) : undefined;
    });
    expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids));
    for (const host of ['h0', 'h1']) {
      const versions = found.filter(({ subject }) => subject === host).map(({ data }) => data.version);
      expect(versions).toEqual(versions.toSorted((a, b) => a - b));
    }
  });
});

describe('a webhook that must confirm', () => {
  it('confirms with the address that only it receives, without a token', async () => {
    world = await openEventWorld();
    const { client } = world;
    let callback = '';
    const received: string[] = [];
    const server = createServer((request, response) => {
      callback = String(request.headers['webhook-request-callback'] ?? callback);
      if (request.method === 'POST') received.push(String(request.headers['webhook-id']));
      request.resume().on('end', () => response.writeHead(204).end());
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    const { subscription, secret } = await client.subscriptions.create({
      name: 'late',
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      types: ['host.#'],
      confirm: true,
    });
    expect(subscription.status).toBe('unconfirmed');
    expect(JSON.stringify([subscription, secret])).not.toContain('signature=');
    const id = await happen(world, 'h1', 1);
    const wrong = await fetch(callback.replace(/signature=.{5}/, 'signature=AAAAA'));
    expect(wrong.status).toBe(403);
    expect((await fetch(callback, { method: 'POST' })).status).toBe(204);
    await eventually(() => received.length > 0);
    expect(received).toEqual([id]);
    expect(await client.subscriptions.test({ id: subscription.id })).toMatchObject({ status: 204 });
    expect(received).toHaveLength(2);
    expect((await fetch(callback)).status).toBe(204);
  });
});
