/** The bus on NATS JetStream when the server is killed and started again, when processes die, and when strangers meddle. */
import { happened, mint, silent, sum, testRegistry, work } from '@anneal/bus/conformance-messages.ts';
import { Link } from '@anneal/bus/nats/link.ts';
import { openBus } from '@anneal/bus/open.ts';
import type { Bus, Delivery } from '@anneal/bus/port.ts';
import { answer, route } from '@anneal/bus/route.ts';
import { openStore } from '@anneal/store/open.ts';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { findNats } from '../backends/nats.ts';

const found = await findNats();
const server = 'missing' in found || !found.mayBeKilled ? undefined : found;
if ('missing' in found) process.stderr.write(`${found.missing}\n`);

const q = 'test.q';
const soon = { timeout: 20_000, interval: 20 };
const numbers = (n: number): number[] => Array.from({ length: n }, (_, index) => index);
const nOf = ({ message }: Delivery): number => (message.data as { n: number }).n;
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1));

describe.skipIf(server === undefined)('a bus on a NATS server of its own', () => {
  let url: string;
  let storeUrl: string;
  let folder: string;
  let opened: { close(): Promise<void> }[] = [];

  const open = async (): Promise<Bus> => {
    const store = await openStore({ url: storeUrl });
    const bus = await openBus({
      url,
      source: 'anneal/test',
      store,
      registry: testRegistry,
      newId: randomUUID,
      now: () => new Date(),
      log: silent,
    });
    opened.push({
      async close() {
        await bus.close();
        await store.close();
      },
    });
    return bus;
  };
  const restart = async (): Promise<void> => {
    await server?.kill();
    await server?.start();
  };
  const todo = (n: number) => mint(work, { data: { n } });
  /** As a service does: what was refused is sent again. */
  const insist = async (send: () => Promise<void>): Promise<void> => {
    for (;;) {
      try {
        await send();
        return;
      } catch {
        await pause();
      }
    }
  };

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-nats-restart-'));
    storeUrl = `sqlite:${join(folder, 'store.db')}`;
    url = `${server?.url}?prefix=test-${randomUUID().slice(0, 8)}`;
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(() => server?.stop());

  it('loses nothing and gets nothing stuck when the server is killed twice amid sending and handling', async () => {
    const [sender, taker] = [await open(), await open()];
    const seen = new Set<number>();
    await taker.consume(q, async (delivery) => {
      await pause();
      seen.add(nOf(delivery));
    });
    const sending = (async () => {
      for (let n = 0; n < 3000; n += 25) {
        const messages = numbers(25).map((each) => todo(n + each));
        await insist(() => sender.send({ queue: q, messages }));
      }
    })();
    await vi.waitFor(() => expect(seen.size).toBeGreaterThan(300), soon);
    await restart();
    await vi.waitFor(() => expect(seen.size).toBeGreaterThan(1500), soon);
    await restart();
    await sending;
    await vi.waitFor(() => expect(seen.size).toBe(3000), soon);
    await vi.waitFor(async () => expect(await taker.queues.measure(q)).toMatchObject({ depth: 0, inFlight: 0 }), soon);
    expect(await taker.deadLetters.list({ limit: 1 })).toEqual([]);
  });

  it('says that it takes no messages while the server is away, and takes them after', async () => {
    const bus = await open();
    await bus.check();
    await server?.kill();
    await vi.waitFor(() => expect(bus.check()).rejects.toMatchObject({ code: 'Unavailable' }), soon);
    const sent = bus.send({ queue: q, messages: [todo(1)] });
    sent.catch(() => undefined);
    await server?.start();
    await vi.waitFor(() => bus.check(), soon);
    await insist(() => sent.catch(() => bus.send({ queue: q, messages: [todo(1)] })));
    expect(await bus.queues.measure(q)).toMatchObject({ depth: 1 });
  });

  it('goes on with events in order, retries, dead letters, questions and the one active consumer', async () => {
    const bus = await open();
    const events: number[] = [];
    await bus.subscribe(['test.#'], async (delivery) => void events.push(nOf(delivery)), { group: 'test' });
    const heard: number[] = [];
    await bus.subscribe(['test.#'], async (delivery) => void heard.push(nOf(delivery)));
    await bus.consume(
      'test.asked',
      route([answer({ bus, mint }, sum, async ({ data }) => ({ sum: data.a + data.b }))]),
    );
    const attempts: number[] = [];
    const failing = async ({ attempt }: Delivery): Promise<void> => {
      attempts.push(attempt);
      throw new Error('not yet');
    };
    await bus.consume('test.failing', failing, { maxAttempts: 3, backoff: () => 700 });
    const single: number[] = [];
    await bus.consume('test.single', async (delivery) => void single.push(nOf(delivery)), { singleActive: true });
    await bus.publish([mint(happened, { data: { n: 0 }, subject: 's' })]);
    await bus.send({ queue: 'test.failing', messages: [todo(1)] });
    await vi.waitFor(() => expect([attempts, events]).toEqual([[1], [0]]), soon);
    await restart();
    for (const n of [1, 2, 3]) await insist(() => bus.publish([mint(happened, { data: { n }, subject: 's' })]));
    await insist(() => bus.send({ queue: 'test.single', messages: [todo(5)] }));
    await vi.waitFor(() => expect(new Set(events)).toEqual(new Set([0, 1, 2, 3])), soon);
    await vi.waitFor(() => expect(single).toContain(5), soon);
    const ask = () => bus.request({ queue: 'test.asked', call: sum, message: mint(sum, { data: { a: 1, b: 2 } }) });
    expect(await ask()).toEqual({ sum: 3 });
    await vi.waitFor(async () => expect(await bus.deadLetters.list({ limit: 5 })).toHaveLength(1), soon);
    await restart();
    await vi.waitFor(() => bus.check(), soon);
    expect(await bus.deadLetters.list({ limit: 5 })).toMatchObject([
      { queue: 'test.failing', attempts: 3, history: [{}, {}, {}] },
    ]);
    await insist(() => bus.publish([mint(happened, { data: { n: 9 }, subject: 's' })]));
    await vi.waitFor(() => expect(heard).toContain(9), soon);
  });

  it('the next is active within ten seconds when the process that was is killed, and begins with what it had', async () => {
    const victim = spawn(process.execPath, [new URL('nats-holder.ts', import.meta.url).pathname, url, storeUrl], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(victim.stdout, 'data');
    const bus = await open();
    const seen: [number, number][] = [];
    const active: boolean[] = [];
    await bus.consume(q, async (delivery) => void seen.push([nOf(delivery), delivery.attempt]), {
      singleActive: true,
      concurrency: 1,
      onActive: (on) => void active.push(on),
    });
    await bus.send({ queue: q, messages: numbers(5).map(todo) });
    await vi.waitFor(
      async () => expect(await bus.queues.measure(q)).toMatchObject({ inFlight: 1, consumers: 2 }),
      soon,
    );
    expect(active).toEqual([]);
    const killedAt = performance.now();
    victim.kill('SIGKILL');
    await vi.waitFor(() => expect(active).toEqual([true]), soon);
    expect(performance.now() - killedAt).toBeLessThan(10_000);
    await vi.waitFor(
      () =>
        expect(seen).toEqual([
          [0, 2],
          ...numbers(5)
            .slice(1)
            .map((n) => [n, 1]),
        ]),
      soon,
    );
  });

  it('queues with one active consumer spread evenly, and move when a process joins or leaves', async () => {
    const queues = numbers(8).map((n) => `test.shard.${n}`);
    const consumeAll = async (bus: Bus) => {
      const mine = new Set<string>();
      const seen: string[] = [];
      for (const queue of queues) {
        await bus.consume(queue, async (delivery) => void seen.push(`${delivery.queue} ${nOf(delivery)}`), {
          singleActive: true,
          onActive: (on) => void (on ? mine.add(queue) : mine.delete(queue)),
        });
      }
      return { mine, seen };
    };
    const first = await open();
    const one = await consumeAll(first);
    await vi.waitFor(() => expect(one.mine.size).toBe(8), soon);
    const two = await consumeAll(await open());
    await vi.waitFor(() => expect([one.mine.size, two.mine.size]).toEqual([4, 4]), soon);
    expect(new Set([...one.mine, ...two.mine]).size).toBe(8);
    for (const queue of queues) await first.send({ queue, messages: [todo(1)] });
    await vi.waitFor(() => expect([one.seen.length, two.seen.length]).toEqual([4, 4]), soon);
    await first.close();
    await vi.waitFor(() => expect(two.mine.size).toBe(8), soon);
  });

  it('what a foreign consumer terminates, or the server gives up, is a dead letter', async () => {
    const bus = await open();
    await bus.send({ queue: q, messages: [todo(1)] });
    const link = await Link.open({ url, source: 'stranger', id: 'stranger', log: silent });
    const address = link.names.address(q);
    const message = await link.nc.request(`$JS.API.CONSUMER.MSG.NEXT.${address.stream}.${address.durable}`, '', {
      timeout: 5000,
      noMux: true,
    });
    link.nc.publish(message.reply ?? '', '+TERM not for me');
    await vi.waitFor(
      async () =>
        expect(await bus.deadLetters.list({ limit: 5 })).toMatchObject([
          { queue: q, failure: { message: expect.stringContaining('not for me') as string } },
        ]),
      soon,
    );
    await link.close();
  });
});
