import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import { resourceTypeList } from '@anneal/contracts/calls/templating.ts';
import { serveQueueMetrics } from './queue-metrics.ts';
import { createTestContext, eventually, type TestContext } from '../testing.ts';

const queue = requestsQueue('templating');
let context: TestContext;
let clock: number;
let lists: number;
let broken: boolean;
let metrics: Registry;
beforeEach(async () => {
  context = await createTestContext({ name: 'gateway' });
  clock = 0;
  lists = 0;
  broken = false;
  metrics = new Registry();
  const { queues, deadLetters } = context.bus;
  const list: typeof queues.list = async (prefix) => {
    lists += 1;
    if (broken) throw new AnnealError('Unavailable', 'no broker');
    return queues.list(prefix);
  };
  serveQueueMetrics({ bus: { queues: { ...queues, list }, deadLetters }, metrics, now: () => new Date(clock) });
});
afterEach(() => context.dispose());

const scrape = async (): Promise<string[]> => {
  clock += 10_000;
  return (await metrics.metrics()).split('\n').filter((line) => line.includes(`queue="${queue}"`));
};

describe('queue metrics', () => {
  it('report waiting messages, messages in flight, consumers and dead letters', async () => {
    await context.bus.queues.declare(queue);
    await context.bus.send({
      queue,
      messages: [1, 2, 3].map(() => context.mint(resourceTypeList, { data: {} })),
    });
    const waiting = await scrape();
    expect(waiting).toEqual(
      expect.arrayContaining([
        `anneal_queue_depth{queue="${queue}"} 3`,
        `anneal_queue_in_flight{queue="${queue}"} 0`,
        `anneal_queue_consumers{queue="${queue}"} 0`,
        expect.stringMatching(/^anneal_queue_oldest_age_seconds\{.*\} [\d.]+/),
      ]),
    );
    const held = Promise.withResolvers<void>();
    const consumer = await context.bus.consume(queue, async () => {
      await held.promise;
      throw new AnnealError('Defect', 'for the test');
    });
    await eventually(async () => (await scrape()).includes(`anneal_queue_in_flight{queue="${queue}"} 3`));
    expect(await scrape()).toContain(`anneal_queue_consumers{queue="${queue}"} 1`);
    held.resolve();
    await eventually(async () => ((await context.bus.deadLetters.list({ limit: 10 })).length === 3 ? true : undefined));
    await consumer.stop();
    expect(await scrape()).toEqual(
      expect.arrayContaining([
        `anneal_queue_depth{queue="${queue}"} 0`,
        `anneal_queue_oldest_age_seconds{queue="${queue}"} 0`,
        `anneal_dead_letters{queue="${queue}"} 3`,
      ]),
    );
    await context.bus.deadLetters.purge({});
    expect((await scrape()).join('\n')).not.toContain('anneal_dead_letters');
  });

  it('query the broker once for all scrapes within a few seconds', async () => {
    await Promise.all([metrics.metrics(), metrics.metrics()]);
    await metrics.metrics();
    expect(lists).toBe(1);
    await scrape();
    expect(lists).toBe(2);
  });

  it('are absent instead of outdated while the broker does not answer', async () => {
    await context.bus.queues.declare(queue);
    expect(await scrape()).not.toEqual([]);
    broken = true;
    expect(await scrape()).toEqual([]);
    broken = false;
    expect(await scrape()).not.toEqual([]);
  });
});
