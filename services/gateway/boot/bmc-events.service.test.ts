import { on, routeMessages } from '@anneal/bus/consume/route.ts';
import { bmcReported } from '@anneal/contracts/events.ts';
import { bmcEventsPrefix, bmcEventsUrl } from '@anneal/runtime/secrets/bmc-events.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { bmcEventsApp } from '../testing/bmc-events-app.ts';

let context: TestContext;
let app: FastifyInstance;
const heard: unknown[] = [];
beforeEach(async () => {
  context = await createTestContext({ name: 'gateway' });
  heard.length = 0;
  await context.bus.subscribe(
    [bmcReported.type],
    routeMessages([on(bmcReported, async ({ data }) => void heard.push(data))]),
  );
  app = await bmcEventsApp(context);
});
afterEach(async () => {
  await app.close();
  await context.dispose();
});

const post = (url: string, payload: string, type = 'application/json') =>
  app.inject({ method: 'POST', url, payload, headers: { 'content-type': type } });
const own = (address: string): string => new URL(bmcEventsUrl(context.secrets, 'http://gateway/', address)).pathname;

it('passes an event on for the address that it was made for, whatever the body is', async () => {
  const address = 'https://[2001:db8::7]:8443';
  expect((await post(own(address), '{"Events": []}')).statusCode).toBe(204);
  expect((await post(own(address), 'no JSON', 'text/plain')).statusCode).toBe(204);
  await eventually(() => (heard.length === 2 ? true : undefined), { what: 'both events' });
  expect(heard).toEqual([
    { address, event: '{"Events": []}' },
    { address, event: 'no JSON' },
  ]);
});

it('refuses another address with the same MAC, a large body, and slows down guesses', async () => {
  const [mac = ''] = own('https://one').split('/').slice(-2);
  const other = Buffer.from('https://two').toString('base64url');
  expect((await post(own('https://one'), 'x'.repeat(70_000))).statusCode).toBe(413);
  const statuses: number[] = [];
  for (let guess = 0; guess < 25; guess += 1) {
    statuses.push((await post(`${bmcEventsPrefix}/${mac}/${other}`, '{}')).statusCode);
  }
  expect(statuses.slice(0, 20)).toEqual(Array.from({ length: 20 }, () => 404));
  expect(statuses).toContain(429);
  expect((await post(own('https://one'), '{}')).statusCode).toBe(204);
  await eventually(() => (heard.length > 0 ? true : undefined), { what: 'the right event' });
  expect(heard).toEqual([{ address: 'https://one', event: '{}' }]);
});
