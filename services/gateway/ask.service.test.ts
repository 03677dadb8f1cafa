import { on, routeMessages } from '@anneal/bus/consume/route.ts';
import type { Bus } from '@anneal/bus/port.ts';
import { queueShow } from '@anneal/contracts/calls/queues.ts';
import { questionAbandoned, resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAsk } from './ask.ts';

let context: TestContext;
beforeEach(async () => {
  context = await createTestContext({ name: 'gateway' });
});
afterEach(() => context.dispose());

it('names the setting of the time limit that a silent service exceeded', async () => {
  const ask = createAsk({ ...context, answerTimeoutMs: 20, compileTimeoutMs: 30 });
  await expect(ask('templating', resourceTypeList, { data: {} })).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringContaining('20 ms (ANNEAL_GATEWAY_ANSWER_TIMEOUT_MS)') as string,
  });
  await expect(ask('templating', resourceTypeList, { data: {}, compiles: true })).rejects.toMatchObject({
    message: expect.stringContaining('30 ms (ANNEAL_GATEWAY_COMPILE_TIMEOUT_MS)') as string,
  });
});

it('says that the broker is away, when that is why a service does not answer', async () => {
  const { bus, mint, secrets } = context;
  const lost = 'The connection to amqp://broker is lost: ECONNREFUSED.';
  const away = Object.assign(Object.create(bus) as Bus, {
    check: () => Promise.reject(new AnnealError('Unavailable', lost)),
  });
  const ask = createAsk({ bus: away, mint, secrets, answerTimeoutMs: 20, compileTimeoutMs: 30, waitsForBroker: true });
  await expect(ask('templating', resourceTypeList, { data: {} })).rejects.toMatchObject({
    code: 'Unavailable',
    message: expect.stringMatching(new RegExp(`_TIMEOUT_MS\\)\\. ${lost}$`)) as string,
  });
});

it('says that no process of the service shows a sign of life, when that is why it does not answer', async () => {
  const silence = (service: string): string => `No process of ${service} lives.`;
  const ask = createAsk({ ...context, silence, answerTimeoutMs: 20, compileTimeoutMs: 30 });
  await expect(ask('templating', resourceTypeList, { data: {} })).rejects.toMatchObject({
    message: expect.stringMatching(/_TIMEOUT_MS\)\. No process of templating lives\.$/) as string,
  });
});

it('lets templating drop the work of a question when its client disconnects', async () => {
  const dropped: unknown[] = [];
  await context.bus.subscribe(
    ['template.abandoned'],
    routeMessages([on(questionAbandoned, async ({ data }) => void dropped.push(data.question))]),
  );
  const asked: string[] = [];
  const consumer = await context.bus.consume(requestsQueue('templating'), async ({ message }) => {
    asked.push(message.id);
  });
  const client = new AbortController();
  const ask = createAsk({ ...context, answerTimeoutMs: 600_000, compileTimeoutMs: 600_000 });
  const answer = ask('templating', resourceTypeList, { data: {}, signal: client.signal });
  const refused = expect(answer).rejects.toThrow('aborted');
  await eventually(() => asked.length > 0, { what: 'the question' });
  client.abort();
  await refused;
  await eventually(() => dropped.length > 0, { what: 'the event' });
  expect(dropped).toEqual(asked);
  await consumer.stop();
});

it('refuses data that the contract of a service does not allow as the request of the client, and sends nothing', async () => {
  const ask = createAsk({ ...context, answerTimeoutMs: 20, compileTimeoutMs: 30 });
  const data = { project: 'p', queue: 7 } as never;
  await expect(ask('configuration', queueShow, { data })).rejects.toMatchObject({
    code: 'InvalidRequest',
    mistakes: [{ code: 'InvalidField', path: 'queue' }],
  });
  expect(await context.bus.queues.list('anneal.configuration')).toEqual([]);
});
