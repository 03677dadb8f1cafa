/** The bus on NATS JetStream when processes join, leave and die, and when strangers meddle. */
import { mint, silent, testRegistry, work } from '@anneal/bus/conformance-messages.ts';
import { Link } from '@anneal/bus/nats/link.ts';
import { openBus } from '@anneal/bus/open.ts';
import type { Bus, Delivery } from '@anneal/bus/port.ts';
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
  const todo = (n: number) => mint(work, { data: { n } });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'anneal-nats-processes-'));
    storeUrl = `sqlite:${join(folder, 'store.db')}`;
    url = `${server?.url}?prefix=test-${randomUUID().slice(0, 8)}`;
  });
  afterEach(async () => {
    await Promise.all(opened.map((each) => each.close()));
    opened = [];
    await rm(folder, { recursive: true, force: true });
  });
  afterAll(() => server?.stop());

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
