/** Another value of a setting changes how stacks are stepped and evaluated. */
import { stackAct, stackShow } from '@anneal/contracts/calls/stacks.ts';
import type { Expression } from '@anneal/contracts/plan.ts';
import { defaultEvaluation } from '@anneal/hot/limits.ts';
import { createTestContext, notingStore } from '@anneal/runtime/testing.ts';
import { openStore } from '@anneal/store/open.ts';
import { afterEach, describe, expect, it } from 'vitest';
import {
  callOf,
  literal,
  openHarness,
  planWith,
  project,
  resource,
  type Harness,
  type testSettings,
} from './testing/running-service.ts';

let harness: Harness;
afterEach(() => harness.dispose());

const yaql = (expression: string): Expression => callOf('yaql', { expression, data: {} });
const endless = yaql('generate(0, true, $ + 1).len()');
/** Only the limits of the test end an evaluation. */
async function openUnlimited(settings: Partial<typeof testSettings>): Promise<void> {
  const evaluationLimits = { ...defaultEvaluation, elements: -1, memory: -1, work: Number.MAX_SAFE_INTEGER };
  harness = await openHarness({ context: await createTestContext({ name: 'scheduling', evaluationLimits }), settings });
}

it('EVALUATE_SECONDS and WAITING: an evaluation may take this time, and so many wait for the worker', async () => {
  await openUnlimited({ evaluateSeconds: 0.2, waiting: 1 });
  const outputs = { o: { name: 'o', value: endless } };
  const { id } = await harness.create('s', planWith([], { outputs }));
  const show = async () => (await harness.ask(stackShow, { project, stack: id, outputs: true })).outputs?.[0]?.error;
  const shown = await Promise.all([1, 2, 3].map(() => show().catch(String)));
  expect(shown).toContainEqual(expect.stringContaining('more than 0.2 s of time (ANNEAL_SCHEDULING_EVALUATE_SECONDS)'));
  expect(shown).toContainEqual(
    expect.stringContaining('1 requests of "project p1" already wait for a worker (ANNEAL_SCHEDULING_WAITING)'),
  );
});

it('WORKER_MEMORY_MIB: an evaluation may take this memory', async () => {
  await openUnlimited({ workerMemory: 32 });
  const large = yaql('range(0, 8000000).toList().len()');
  const { id } = await harness.create('s', planWith([resource('r', { value: large })]));
  const { reason } = await harness.settled(id);
  expect(reason).toContain('more than 32 MiB of memory (ANNEAL_SCHEDULING_WORKER_MEMORY_MIB)');
});

it('ROUTE_SECONDS: a resource waits so long for a provider to announce its type', async () => {
  harness = await openHarness({ settings: { routeSeconds: 1 } });
  const began = performance.now();
  const { id } = await harness.create('s', planWith([resource('r', {}, { type: 'No::Such' })]));
  expect((await harness.settled(id)).reason).toContain('No::Such');
  expect(performance.now() - began).toBeGreaterThan(900);
});

/** How often a call of a collection was made. */
async function openCounting(settings: Partial<typeof testSettings>): Promise<(call: string) => number> {
  const calls: string[] = [];
  const store = notingStore(await openStore({ url: 'sqlite::memory:' }), ({ collection, method }) => {
    calls.push(`${collection} ${method}`);
  });
  harness = await openHarness({ context: await createTestContext({ name: 'scheduling', store }), settings });
  return (call) => calls.splice(0).filter((each) => each.startsWith(call)).length;
}
const made = async (name: string): Promise<string> => {
  const { id } = await harness.create(name, planWith([resource('r', { value: literal('x') })]));
  await harness.settled(id);
  return id;
};
const check = (stack: string) => harness.ask(stackAct, { project, stack, action: { kind: 'check' } });

describe('BATCH: so many messages of a shard are in flight, and those of one stack are one step', () => {
  it.each([1, 256])('%d', async (batch) => {
    const countOf = await openCounting({ batch });
    const id = await made('s');
    countOf('');
    await Promise.all(Array.from({ length: 10 }, () => check(id)));
    expect(countOf('scheduling_journal') >= 10).toBe(batch === 1);
  });
});

describe('CACHED_STACKS: so many stacks stay in memory between two steps', () => {
  it.each([1, 16])('%d', async (cachedStacks) => {
    const countOf = await openCounting({ cachedStacks, shards: 1 });
    const ids = [await made('a'), await made('b')];
    countOf('');
    for (const id of [...ids, ...ids]) {
      await check(id);
      await harness.settled(id);
    }
    expect(countOf('scheduling_resources find')).toBe(cachedStacks === 1 ? 4 : 0);
  });
});
