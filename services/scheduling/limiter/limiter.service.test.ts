import type { Envelope } from '@anneal/contracts/envelope.ts';
import { requestsQueue } from '@anneal/contracts/queues.ts';
import {
  providerAnnounced,
  resourceResponse,
  type ResourceRequest,
  type ResourceResponse,
} from '@anneal/contracts/resource.ts';
import { stackAct, stackCreate, stackShow, type StackView } from '@anneal/contracts/calls/stacks.ts';
import { stackWhy } from '@anneal/contracts/calls/stack-progress.ts';
import { armFault } from '@anneal/runtime/fault.ts';
import { createTestContext, eventually, type TestContext } from '@anneal/runtime/testing.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { StackDocument } from '@anneal/convergence/documents.ts';
import { openSchedulingCollections } from '../collections.ts';
import { Limiter, type Held } from './limiter.ts';
import { literal, openHarness, planWith, resource, type Harness } from '../testing/running-service.ts';

type Request = Envelope<ResourceRequest>;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A provider that answers when the test calls it, and records the most requests it held at once. */
async function openProvider(context: TestContext, unanswered = new Map<string, Request>()) {
  const queue = 'test.slow';
  const most = new Map<string, number>();
  await context.bus.consume(queue, async ({ message }) => {
    unanswered.set(message.subject ?? '', message as Request);
    const all = [...unanswered.values()];
    for (const project of ['p1', 'p2', undefined]) {
      const count = all.filter((request) => project === undefined || request.project === project).length;
      most.set(project ?? 'all', Math.max(count, most.get(project ?? 'all') ?? 0));
    }
  });
  const definition = { type: 'Test::Slow', properties: { value: { type: 'Any' as const } }, attributes: {} };
  const message = context.mint(providerAnnounced, { data: { provider: 'test', queue, types: [definition] } });
  await context.bus.send({ queue: requestsQueue('scheduling'), messages: [message] });
  const answer = async (request: Request, how: Partial<ResourceResponse> = {}): Promise<void> => {
    unanswered.delete(request.subject ?? '');
    const { resource: asked, stack, fence } = request.data;
    const action = request.type.replace('resource.', '') as 'create';
    const data = { resource_id: asked.id, stack_id: stack.id, action, fence, status: 'complete' as const, ...how };
    const reply = context.mint(resourceResponse, {
      id: `${request.id}:${how.status ?? 'complete'}`,
      cause: request,
      data,
    });
    await context.bus.send({ queue: request.replyto ?? '', messages: [reply] });
  };
  return {
    unanswered,
    most,
    answer,
    of: (project: string) => [...unanswered.values()].filter((request) => request.project === project),
    /** Answers requests one after the other until the stack is done. */
    serveUntil: async (done: () => Promise<boolean>) =>
      eventually(
        async () => {
          const [request] = unanswered.values();
          if (request) await answer(request);
          return (await done()) ? true : undefined;
        },
        { what: 'the end', last: () => [...unanswered.keys()] },
      ),
  };
}

async function create(
  { context }: Harness,
  parameters: { project: string; name: string; count: number; id?: string },
): Promise<StackView> {
  const things = Array.from({ length: parameters.count }, (_, index) =>
    resource(`r${index}`, { value: literal(index) }, { type: 'Test::Slow' }),
  );
  const hash = await context.store.blobs.put(JSON.stringify(planWith(things)));
  const { project, name, id = context.newId() } = parameters;
  const target = { plan: hash, template: hash, environment: hash, files: hash, description: '' };
  const data = { id, name, project, owner: 'admin', timeout_minutes: null, tags: [], ...target };
  const message = context.mint(stackCreate, { data: { ...data, on_failure: 'keep' as const }, project });
  return context.bus.request({ queue: requestsQueue('scheduling'), call: stackCreate, message });
}

async function statusOf({ context }: Harness, { id, project }: Pick<StackView, 'id' | 'project'>): Promise<string> {
  const message = context.mint(stackShow, { data: { project, stack: id, outputs: false }, project });
  const view = await context.bus.request({ queue: requestsQueue('scheduling'), call: stackShow, message });
  return `${view.action}_${view.status}`;
}

/** Waits until the shards have processed every message, so that no more requests can follow. */
const quiet = (harness: Harness): Promise<true> =>
  eventually(async () => {
    const measured = await Promise.all(
      [0, 1].map((shard) => harness.context.bus.queues.measure(`anneal.scheduling.shard.${shard}`)),
    );
    return measured.every(({ depth, inFlight }) => depth + inFlight === 0) ? true : undefined;
  });

describe('requests to a slow provider', () => {
  it('never exceed the limits of project and provider, and all get their turn', async () => {
    const harness = await openHarness({ settings: { projectRequests: 6, providerRequests: 10 } });
    cleanups.push(() => harness.dispose());
    const provider = await openProvider(harness.context);
    const first = await create(harness, { project: 'p1', name: 'a', count: 12 });
    const also = await create(harness, { project: 'p1', name: 'b', count: 4 });
    const other = await create(harness, { project: 'p2', name: 'c', count: 12 });
    await eventually(() => (provider.unanswered.size === 9 ? true : undefined), {
      last: () => provider.unanswered.size,
    });
    await quiet(harness);
    expect([provider.of('p1').length, provider.of('p2').length]).toEqual([5, 4]);
    const stacks = [first, also, other];
    await provider.serveUntil(async () => {
      const states = await Promise.all(stacks.map((stack) => statusOf(harness, stack)));
      return states.every((state) => state === 'CREATE_COMPLETE');
    });
    expect(provider.most.get('all')).toBe(9);
    expect(provider.most.get('p1')).toBe(5);
    expect(provider.most.get('p2')).toBeLessThanOrEqual(5);
  });

  it('leave room for deletions; `why` reports held requests; a deletion replaces held requests', async () => {
    const harness = await openHarness({ settings: { projectRequests: 3, providerRequests: 100 } });
    cleanups.push(() => harness.dispose());
    const provider = await openProvider(harness.context);
    const old = await create(harness, { project: 'p1', name: 'old', count: 1 });
    await provider.serveUntil(async () => (await statusOf(harness, old)) === 'CREATE_COMPLETE');
    const busy = await create(harness, { project: 'p1', name: 'busy', count: 8 });
    await eventually(() => (provider.unanswered.size === 2 ? true : undefined));
    await quiet(harness);

    const sent = provider.of('p1').map(({ data }) => data.resource.name);
    const held = Array.from({ length: 8 }, (_, index) => `r${index}`).find((name) => !sent.includes(name));
    const why = await harness.ask(stackWhy, { project: 'p1', stack: busy.id, resource: held ?? '' });
    expect(why.summary).toBe(
      `The request to create ${held} waits for its turn: this project has 2 requests in flight (limit 3), and all projects have 2 in test.slow (limit 100).`,
    );
    // The stack waits for what is sent; the others only wait behind it.
    const ofStack = await harness.ask(stackWhy, { project: 'p1', stack: busy.id });
    expect(ofStack.summary).toMatch(/^The provider has worked on r\d since \S+Z\. \(7 more in busy wait too\.\)$/);
    expect(sent).toContain(/worked on (\w+)/.exec(ofStack.summary)?.[1]);

    await harness.remove(old.id);
    await eventually(() => provider.of('p1').find(({ type }) => type === 'resource.delete'));
    await harness.remove(busy.id);
    const begun = await eventually(async () => {
      const deletions = provider.of('p1').filter(({ type }) => type === 'resource.delete');
      return deletions.length === 3 ? deletions : undefined;
    });
    expect(begun).toHaveLength(3);
    await provider.serveUntil(async () => {
      const states = await Promise.all([old, busy].map((stack) => statusOf(harness, stack)));
      return states.every((state) => state === 'DELETE_COMPLETE');
    });
    const rows = await harness.context.store.collection({ name: 'scheduling_held', indexes: [{ fields: ['shard'] }] });
    await eventually(async () => ((await rows.count({})) === 0 ? true : undefined), { what: 'nothing written down' });
    expect(provider.most.get('all')).toBeLessThanOrEqual(3);
  });
});

it('the limiter drops held requests when their stack is cancelled', async () => {
  const harness = await openHarness({ settings: { providerRequests: 3 } });
  cleanups.push(() => harness.dispose());
  const provider = await openProvider(harness.context);
  const { id } = await create(harness, { project: 'p1', name: 's', count: 8 });
  await eventually(() => (provider.unanswered.size === 2 ? true : undefined));
  const begun = [...provider.unanswered.values()];
  await harness.ask(stackAct, { project: 'p1', stack: id, action: { kind: 'cancel', rollback: false } });
  for (const request of begun) await provider.answer(request);
  expect(await harness.settled(id)).toMatchObject({ action: 'CREATE', status: 'FAILED' });
  await quiet(harness);
  expect(provider.unanswered.size).toBe(0);
  await harness.remove(id);
  await provider.serveUntil(async () => (await statusOf(harness, { id, project: 'p1' })) === 'DELETE_COMPLETE');
});

it('a restarted process counts the requests that its predecessor had in flight', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'anneal-gate-'));
  cleanups.push(() => rm(directory, { recursive: true, force: true }));
  const open = async (): Promise<Harness> => {
    const context = await createTestContext({ name: 'scheduling', directory });
    return openHarness({ context, settings: { projectRequests: 4, providerRequests: 4 } });
  };
  const first = await open();
  const provider = await openProvider(first.context);
  const stack = await create(first, { project: 'p1', name: 's', count: 10 });
  await eventually(() => (provider.unanswered.size === 3 ? true : undefined));
  await first.dispose();
  const second = await open();
  cleanups.push(() => second.dispose());
  const again = await openProvider(second.context, provider.unanswered);
  await quiet(second);
  expect(again.unanswered.size).toBe(3);
  await again.serveUntil(async () => (await statusOf(second, stack)) === 'CREATE_COMPLETE');
  expect(again.most.get('all')).toBeLessThanOrEqual(3);
});

it('a replica that takes over a shard sends its held requests within the limits', async () => {
  const context = await createTestContext({ name: 'scheduling' });
  cleanups.push(() => context.dispose());
  const settings = { projectRequests: 4, providerRequests: 4 };
  const open = async () =>
    openHarness({
      context: await createTestContext({ name: 'scheduling', bus: context.bus, store: context.store }),
      settings,
    });
  const leaving = await open();
  const staying = await open();
  cleanups.push(() => staying.dispose());
  const provider = await openProvider(context);
  const stacks: StackView[] = [];
  for (const name of ['a', 'b', 'c', 'd']) stacks.push(await create(staying, { project: 'p1', name, count: 5 }));
  await eventually(() => (provider.unanswered.size > 0 ? true : undefined));
  await quiet(staying);
  await leaving.dispose();
  await provider.serveUntil(async () => {
    const states = await Promise.all(stacks.map((stack) => statusOf(staying, stack)));
    return states.every((state) => state === 'CREATE_COMPLETE');
  });
  // The other shard may have sent one request before the requests of this shard were counted.
  expect(provider.most.get('all')).toBeLessThanOrEqual(4);
});

it('a request that waits after a conflict leaves its place to others', async () => {
  const harness = await openHarness({ settings: { providerRequests: 2 } });
  cleanups.push(() => harness.dispose());
  const provider = await openProvider(harness.context);
  const { id } = await create(harness, { project: 'p1', name: 's', count: 2 });
  const first = await eventually(() => [...provider.unanswered.values()][0]);
  await provider.answer(first, { status: 'failed', error: { code: 'Conflict', message: 'busy' } });
  const second = await eventually(() => [...provider.unanswered.values()][0]);
  expect(second.subject).not.toBe(first.subject);
  await provider.serveUntil(async () => (await statusOf(harness, { id, project: 'p1' })) === 'CREATE_COMPLETE');
  expect(provider.most.get('all')).toBe(1);
});

it("failed turns of two stacks wait for the next second instead of taking each other's places", async () => {
  const context = await createTestContext({ name: 'scheduling' });
  cleanups.push(() => context.dispose());
  const { held } = await openSchedulingCollections(context.store);
  const providers = { queueOf: () => 'q', refresh: async () => {} };
  const limits = { project: 10, provider: 3 };
  const limiter = new Limiter({ context, held, providers, limits, shards: { count: 1 } });
  cleanups.push(() => limiter.stop());
  const request = (stack: string, name: string): Held => ({
    resource: `${stack}-${name}`,
    stack,
    fence: 1,
    traversal: 't',
    project: 'p',
    queue: 'q',
    shard: 0,
    urgent: false,
    cause: { id: 'c', correlationid: 'c' },
  });
  const stack = { id: 'none' } as StackDocument;
  const settle = (id: string) =>
    limiter.pass({ wanted: [], settled: { stack, resources: [], removed: [{ id, version: 1 }] } });
  const tries: string[] = [];
  let works = true;
  const turns = async (count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Like a step whose open record is carried out again, which passes the limiter and then fails. */
  const send = async (of: string): Promise<void> => {
    tries.push(of);
    await turns(1);
    await limiter.pass({ wanted: [] });
    if (!works) throw new Error('the store is away');
  };
  limiter.open(0, { send, read: async () => {} });
  const first = [request('x', '1'), request('x', '2')];
  await eventually(async () => ((await limiter.pass({ wanted: first })).size === 2 ? true : undefined));
  await limiter.pass({ wanted: [request('a', '1')] });
  await limiter.pass({ wanted: [request('b', '1')] });
  tries.length = 0;
  works = false;
  await settle('x-1');
  await settle('x-2');
  await turns(20);
  expect(tries).toEqual(['a', 'b']);
  works = true;
  await eventually(() => (tries.length > 2 ? true : undefined), { what: 'the next try' });
  expect(tries.slice(2).toSorted()).toEqual(['a', 'b']);
});

describe.each([
  ['scheduling.held', 1],
  ['scheduling.recorded', 3],
  ['scheduling.sent', 3],
  ['scheduling.closed', 3],
  ['scheduling.turned', 1],
  ['scheduling.turned', 3],
])('a process that dies at %s, the %ith time, while requests are held', (point, time) => {
  it('leaves them to the next process, which sends all of them', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'anneal-gate-'));
    cleanups.push(() => rm(directory, { recursive: true, force: true }));
    const settings = { projectRequests: 3, providerRequests: 3 };
    const open = async (): Promise<Harness> =>
      openHarness({ context: await createTestContext({ name: 'scheduling', directory }), settings });
    let dead = false;
    let passed = 0;
    const disarm = armFault(point, () => {
      passed += 1;
      dead ||= passed >= time;
      if (dead) throw new Error(`fault ${point}`);
    });
    cleanups.push(disarm);
    const first = await open();
    const provider = await openProvider(first.context);
    const stack = { id: first.context.newId(), project: 'p1' };
    const asked = create(first, { ...stack, name: 's', count: 8 }).catch(() => undefined);
    await provider.serveUntil(async () => dead);
    await first.dispose();
    await asked;
    disarm();
    const second = await open();
    cleanups.push(() => second.dispose());
    const again = await openProvider(second.context, provider.unanswered);
    await again.serveUntil(async () => (await statusOf(second, stack)) === 'CREATE_COMPLETE');
  });
});
