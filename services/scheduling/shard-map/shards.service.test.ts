import type { Envelope } from '@anneal/contracts/envelope.ts';
import { requestsQueue, shardQueue } from '@anneal/contracts/queues.ts';
import { providerAnnounced, resourceResponse, type ResourceRequest } from '@anneal/contracts/resource.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { afterEach, describe, expect, it } from 'vitest';
import { openSchedulingCollections } from '../collections.ts';
import { openShards } from './shards.ts';
import { schedulingService } from '../service.ts';
import { shardOf } from './shard-of.ts';
import { literal, openHarness, planWith, resource, testSettings } from '../testing/running-service.ts';

useQuickClock();
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const log = { info: () => undefined, warn: () => undefined };

async function scene() {
  const context = await createTestContext({ name: 'scheduling' });
  cleanups.push(() => context.dispose());
  const collections = await openSchedulingCollections(context.store);
  const open = async (wanted?: number) => {
    const shards = await openShards({
      collection: collections.shards,
      journal: collections.journal,
      wanted,
      log,
      retryMs: 10,
    });
    cleanups.push(() => shards.stop());
    return shards;
  };
  return { collections, open };
}

describe('the number of shards', () => {
  it('is 64 in a new system, 8 in a system from before the store kept it, and that of the settings in both', async () => {
    expect((await (await scene()).open()).count).toBe(64);
    expect((await (await scene()).open(16)).count).toBe(16);
    const old = await scene();
    await old.collections.journal.insert({ id: 's', shard: 3, sequence: 4, open: false, record: null });
    expect((await old.open()).count).toBe(8);
  });

  it('never shrinks, and grows only to a multiple', async () => {
    const { open } = await scene();
    expect((await open(8)).count).toBe(8);
    expect((await open(4)).count).toBe(8);
    expect((await open()).count).toBe(8);
    await expect(open(12)).rejects.toMatchObject({ code: 'InvalidRequest', message: expect.stringContaining('16') });
    expect((await open(16)).count).toBe(16);
  });

  it('S1, S3, S4: moves the stacks of a shard to their new shards at once when its owner has written the moves', async () => {
    const { open } = await scene();
    const late = await open(2);
    const shards = await open(4);
    const ids = Array.from({ length: 40 }, (_, n) => `stack-${n}`);
    const [from0, from1] = [0, 1].map((n) => ids.filter((id) => shardOf(id, 2) === n));
    for (const id of ids) expect(shards.of(id)).toBe(shardOf(id, 2));
    let entered = false;
    const two = shards.enter(2, () => Promise.reject(new Error('not its business'))).then(() => (entered = true));
    let moves = 0;
    await shards.enter(0, async () => {
      expect(entered).toBe(false);
      moves += 1;
    });
    await two;
    await shards.enter(0, () => Promise.reject(new Error('twice')));
    expect(moves).toBe(1);
    for (const id of from0 ?? []) expect(shards.of(id)).toBe(shardOf(id, 4));
    for (const id of from1 ?? []) expect(shards.of(id)).toBe(shardOf(id, 2));
    for (const id of ids) expect(late.of(id)).toBe(shardOf(id, 2));
    await shards.enter(1, () => Promise.resolve());
    for (const id of ids) expect(shards.of(id)).toBe(shardOf(id, 4));
    expect((await open(8)).count).toBe(8);
  });

  it('S1: repeats a failed move until it succeeds', async () => {
    const { open } = await scene();
    await open(1);
    const shards = await open(2);
    let tries = 0;
    await shards.enter(0, async () => {
      tries += 1;
      if (tries < 3) throw new Error('the store is away');
    });
    expect(tries).toBe(3);
  });
});

/** A provider that keeps its requests until the test lets it answer. */
async function openProvider(context: TestContext) {
  const queue = 'test.slow';
  const asked: Envelope<ResourceRequest>[] = [];
  await context.bus.consume(queue, async ({ message }) => void asked.push(message as Envelope<ResourceRequest>));
  const definition = { type: 'Test::Slow', properties: { value: { type: 'Any' as const } }, attributes: {} };
  const message = context.mint(providerAnnounced, { data: { provider: 'test', queue, types: [definition] } });
  await context.bus.send({ queue: requestsQueue('scheduling'), messages: [message] });
  const answerAll = async (): Promise<void> => {
    for (const request of asked.splice(0)) {
      const { resource: of, stack, fence } = request.data;
      const action = request.type.replace('resource.', '') as 'create';
      const data = { resource_id: of.id, stack_id: stack.id, action, fence, status: 'complete' as const };
      const reply = context.mint(resourceResponse, { id: `${request.id}:done`, cause: request, data });
      await context.bus.send({ queue: request.replyto ?? '', messages: [reply] });
    }
  };
  return { asked, answerAll };
}

it('S2: shards grow while stacks are in progress, with requests in flight and requests held back', async () => {
  const settings = { shards: 2, projectRequests: 8 };
  const harness = await openHarness({ settings });
  cleanups.push(() => harness.dispose());
  const { context } = harness;
  const { asked, answerAll } = await openProvider(context);
  const things = Array.from({ length: 3 }, (_, n) => resource(`r${n}`, { value: literal(n) }, { type: 'Test::Slow' }));
  const stacks = await Promise.all(
    Array.from({ length: 12 }, (_, n) => harness.create(`stack-${n}`, planWith(things))),
  );
  // The provider gets the whole limit except the reserve for deletions; the gate holds the rest back.
  await eventually(() => (asked.length >= 7 ? true : undefined), { last: () => asked.length });
  const { held, shards } = await openSchedulingCollections(context.store);
  const heldIn = (shard: number) => held.find({ where: { shard } });
  const before = (await Promise.all([0, 1].map(heldIn))).flat().length;
  expect(before).toBeGreaterThan(12);

  const replica = await schedulingService.start(context, { ...testSettings, ...settings, shards: 8 });
  cleanups.push(() => replica.stop());
  await eventually(async () => ((await shards.get('shards'))?.moved.length === 2 ? true : undefined), {
    last: async () => shards.get('shards'),
  });
  for (const shard of [0, 1]) {
    for (const { stack } of await heldIn(shard)) expect(shardOf(stack, 8)).toBe(shard);
  }
  const after = await harness.create('after', planWith([resource('r', { value: literal(1) })]));
  expect((await harness.settled(after.id)).status).toBe('COMPLETE');
  for (const { id } of stacks) {
    await eventually(
      async () => {
        await answerAll();
        return (await harness.settled(id, 0).catch(() => undefined))?.status === 'COMPLETE' ? true : undefined;
      },
      { what: `the end of ${id}`, last: () => asked.length },
    );
  }
  expect((await Promise.all(Array.from({ length: 8 }, (_, n) => heldIn(n)))).flat()).toEqual([]);
  const [one] = stacks;
  const deleting = harness.remove(one?.id ?? '');
  await eventually(() => (asked.length > 0 ? true : undefined));
  // After the move, providers answer requests of a stack to its new shard.
  for (const { replyto } of asked) expect(replyto).toBe(shardQueue(shardOf(one?.id ?? '', 8)));
  await deleting;
  expect(await context.bus.deadLetters.list({ limit: 5 })).toEqual([]);
});
