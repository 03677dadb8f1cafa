/** The conformance of a bus whose connection to the broker is lost again and again, while the broker goes on. */
import type { BusHarness, OpenedBus } from '@anneal/bus/conformance/harness.ts';
import { happened, mintTestMessage, sum, work } from '@anneal/bus/conformance/messages.ts';
import { answer, routeMessages } from '@anneal/bus/consume/route.ts';
import type { Bus, Delivery } from '@anneal/bus/port.ts';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startSlowProxy, type SlowProxy } from '../backends/slow-proxy.ts';

const subjects = ['a', 'b'];
const perSubject = 200;
const losses = 5;
const shared = 'test.shared';
const owned = ['test.owned.1', 'test.owned.2', 'test.owned.3', 'test.owned.4'];
/** Some questions reach the process that is cut off, and go to the other one when the broker notices. */
const patientMs = 40_000;
/** Afterwards none does. */
const soonMs = 4_000;

/** Registers the tests for an adapter whose broker has a URL with a host and a port. */
export function lostConnectionConformance(name: string, harness: BusHarness): void {
  describe(`a bus on ${name} that loses its connection`, () => {
    let place: Awaited<ReturnType<BusHarness['fresh']>>;
    let proxy: SlowProxy;
    let opened: OpenedBus[];
    beforeEach(async () => {
      place = await harness.fresh();
      const { hostname: host, port } = new URL(place.url.replace(/^\w+:/, 'http:'));
      proxy = await startSlowProxy({ host, port: Number(port) });
      const throughProxy = place.url.replace(`:${port}`, `:${proxy.port}`);
      opened = [await harness.open(place), await harness.open({ ...place, url: throughProxy })];
    });
    afterEach(async () => {
      await Promise.all(opened.map(({ bus }) => bus.close()));
      await proxy.close();
      await place.dispose();
    });

    it('B6: repeats events of a group, and lets none overtake an earlier one of its subject', async () => {
      const [direct, cut] = opened.map(({ bus }) => bus);
      const seen = new Map(subjects.map((subject) => [subject, new Set<number>()]));
      const count = (): number => [...seen.values()].reduce((all, each) => all + each.size, 0);
      await cut?.subscribe(
        ['test.#'],
        async ({ message }) => {
          seen.get(message.subject ?? '')?.add((message.data as { n: number }).n);
          await new Promise((resolve) => void setTimeout(resolve, 1));
        },
        { group: 'test', keepsOrder: true, concurrency: 8 },
      );
      const numbers = Array.from({ length: perSubject }, (_, n) => n);
      const published = Promise.all(
        subjects.map(async (subject) => {
          for (const n of numbers) await direct?.publish([mintTestMessage(happened, { data: { n }, subject })]);
        }),
      );
      const all = subjects.length * perSubject;
      for (let loss = 1; loss <= losses; loss += 1) {
        // The first loss comes while events are on their way; each later one while those before it come again.
        const enough = Math.min(all, count() + 20);
        await vi.waitFor(() => expect(count()).toBeGreaterThanOrEqual(enough));
        proxy.cut();
      }
      await published;
      await vi.waitFor(() => expect(count()).toBe(all));
      for (const subject of subjects) expect([...(seen.get(subject) ?? [])]).toEqual(numbers);
    });

    it('B4: counts each attempt once that failed while the connection was lost', async () => {
      const [direct, cut] = opened.map(({ bus }) => bus);
      const attempts: number[] = [];
      const failing = async ({ attempt }: Delivery): Promise<void> => {
        attempts.push(attempt);
        // The failure is known before the loss, and its retry or dead letter is not stored.
        proxy.cut();
        throw new Error('not yet');
      };
      await cut?.consume('test.q', failing, { maxAttempts: 3, backoff: () => 20 });
      await direct?.send({ queue: 'test.q', messages: [mintTestMessage(work, { data: { n: 1 } })] });
      await vi.waitFor(async () => expect(await direct?.deadLetters.list({ limit: 5 })).toHaveLength(1));
      expect(await direct?.deadLetters.list({ limit: 5 })).toMatchObject([{ attempts: 3, history: [{}, {}, {}] }]);
      expect(new Set(attempts)).toEqual(new Set([1, 2, 3]));
    });

    it('leaves all work to the other process while nothing gets through to the broker, and works again afterwards', async () => {
      const [direct, cut] = opened.map(({ bus }) => bus) as [Bus, Bus];
      const active = new Map([direct, cut].map((bus) => [bus, new Set<string>()]));
      for (const bus of [direct, cut]) {
        const answering = routeMessages([
          answer({ bus, mint: mintTestMessage }, sum, ({ data }) => Promise.resolve({ sum: data.a + data.b })),
        ]);
        await bus.consume(shared, answering, { concurrency: 64 });
        for (const queue of owned) {
          const onActive = (on: boolean): void =>
            void (on ? active.get(bus)?.add(queue) : active.get(bus)?.delete(queue));
          await bus.consume(queue, answering, { singleActive: true, onActive });
        }
      }
      const owns = (bus: Bus): number => active.get(bus)?.size ?? 0;
      const spread = (...sizes: number[]) => vi.waitFor(() => expect([owns(direct), owns(cut)]).toEqual(sizes));
      const ask = async (queue: string, a: number, timeoutMs: number): Promise<void> => {
        const message = mintTestMessage(sum, { data: { a, b: 1 } });
        expect(await direct.request({ queue, call: sum, message, timeoutMs })).toEqual({ sum: a + 1 });
      };
      const askMany = (timeoutMs: number): Promise<unknown> =>
        Promise.all(
          [...owned, ...owned.map(() => shared)].flatMap((queue) =>
            [1, 2, 3, 4, 5].map((a) => ask(queue, a, timeoutMs)),
          ),
        );
      await spread(2, 2);
      await askMany(patientMs);
      proxy.swallow();
      await askMany(patientMs);
      await vi.waitFor(() => expect(cut.permission.isHeld).toBe(false));
      await spread(4, 0);
      await askMany(soonMs);
      proxy.heal();
      await vi.waitFor(() => expect(cut.permission.isHeld).toBe(true));
      await spread(2, 2);
      await askMany(patientMs);
      expect(await direct.deadLetters.list({ limit: 1 })).toEqual([]);
    });
  });
}
