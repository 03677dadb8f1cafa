import { queueShow } from '@anneal/contracts/calls/configuration.ts';
import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import { createTestContext, type TestContext } from '@anneal/runtime/testing.ts';
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

it('refuses data that the contract of a service does not allow as the request of the client, and sends nothing', async () => {
  const ask = createAsk({ ...context, answerTimeoutMs: 20, compileTimeoutMs: 30 });
  const data = { project: 'p', queue: 7 } as never;
  await expect(ask('configuration', queueShow, { data })).rejects.toMatchObject({
    code: 'InvalidRequest',
    mistakes: [{ code: 'InvalidField', path: 'queue' }],
  });
  expect(await context.bus.queues.list('anneal.configuration')).toEqual([]);
});
