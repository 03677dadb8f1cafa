import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { expect, it, onTestFinished } from 'vitest';
import { createLog } from '../observe/log.ts';
import { eventually } from '../testing.ts';
import { useQuickClock } from '../testing/quick-clock.ts';
import { startServices } from './serve.ts';
import { defineService, type ServiceContext } from './service.ts';

interface Check {
  readonly id: string;
  readonly version: number;
  readonly due: number;
  readonly blob: string;
}

useQuickClock({ stepMs: 60_000 });

it.each([
  ['60', true],
  ['86400', false],
])('data of a large message stays in the store for the setting after it was handled: %s s', async (seconds, isGone) => {
  const data = await mkdtemp(join(tmpdir(), 'anneal-claim-check-'));
  let context: ServiceContext | undefined;
  let isHandled = false;
  const service = defineService({
    name: 'templating',
    settings: {},
    async start(own) {
      context = own;
      const consumer = await own.bus.consume(requestsQueue('templating'), async () => {
        isHandled = true;
      });
      return { stop: () => consumer.stop() };
    },
  });
  const running = await startServices({
    services: [service],
    environment: { ANNEAL_DATA: data, ANNEAL_CLAIM_CHECK_SECONDS: seconds },
    log: createLog({ level: 'silent', format: 'json' }),
  });
  onTestFinished(async () => {
    await running.stop();
    await rm(data, { recursive: true, force: true });
  });
  const { bus, mint, store } = context as ServiceContext;
  const large = mint(resourceTypeList, { data: { known: 'x'.repeat(300_000) } });
  await bus.send({ queue: requestsQueue('templating'), messages: [large] });
  await eventually(() => isHandled, { what: 'the message' });
  const indexes = [{ fields: ['due'] }, { fields: ['blob'] }];
  const checks = await store.collection<Check>({ name: 'bus_claim_checks', indexes });
  const [check] = await checks.find({ where: { due: { gte: 0 } } });
  const blob = check?.blob ?? '';
  const until = Date.now() + 3_600_000;
  const isThere = async (): Promise<boolean> => (await store.blobs.getText(blob)) !== undefined;
  expect(await isThere()).toBe(true);
  await eventually(async () => Date.now() > until || !(await isThere()));
  expect(await isThere()).toBe(!isGone);
});
