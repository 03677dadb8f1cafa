/**
 * The conformance of a bus whose broker is killed, as by a power cut, and started again on the same data and port: no
 * message is lost or stuck. An adapter whose broker is a separate process runs it beside `conformance.ts`.
 */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { happened, mintTestMessage, sum, work } from './messages.ts';
import type { Bus, Delivery } from '../port.ts';
import { answer, routeMessages } from '../consume/route.ts';
import type { BusHarness } from './harness.ts';

/** A server that the test started and may kill. `start` resolves when it accepts connections again. */
export interface BrokerOfOurs {
  kill(): Promise<void>;
  start(): Promise<void>;
}

const q = 'test.q';
/** A broker starts slowly on a busy machine. */
const limit = { timeout: 600_000 };
const numbers = (n: number): number[] => Array.from({ length: n }, (_, index) => index);
const nOf = ({ message }: Delivery): number => (message.data as { n: number }).n;
const pause = (): Promise<void> => new Promise((resolve) => void setTimeout(resolve, 1));

/** Registers the tests with a broker that is killed and started again. */
export function busRestartConformance(name: string, harness: BusHarness, broker: BrokerOfOurs): void {
  describe(`a bus on ${name} whose broker is killed and started again`, () => {
    let place: Awaited<ReturnType<BusHarness['fresh']>>;
    let bus: Bus;
    let more: Bus[];
    beforeEach(async () => {
      place = await harness.fresh();
      more = [];
      bus = await another();
    });
    afterEach(async () => {
      await Promise.all(more.map((each) => each.close()));
      await place.dispose();
    });
    const another = async (url = place.url): Promise<Bus> => {
      const opened = await harness.open({ ...place, url });
      more.push(opened.bus);
      return opened.bus;
    };
    const restart = async (): Promise<void> => {
      await broker.kill();
      await broker.start();
    };
    const send = (queue: string, ...values: number[]): Promise<void> =>
      bus.send({ queue, messages: values.map((n) => mintTestMessage(work, { data: { n } })) });
    const publish = (n: number): Promise<void> =>
      bus.publish([mintTestMessage(happened, { data: { n }, subject: 's' })]);
    /** Sends again what was refused, as a service does. */
    const insist = async (write: () => Promise<void>): Promise<void> => {
      for (;;) {
        try {
          await write();
          return;
        } catch {
          await pause();
        }
      }
    };
    const empty = (queue: string): Promise<void> =>
      vi.waitFor(async () => expect(await bus.queues.measure(queue)).toMatchObject({ depth: 0, inFlight: 0 }));

    it('reports the gap to a listener without a group, and gives it every later event', limit, async () => {
      const heard: number[] = [];
      let gaps = 0;
      const record = async (delivery: Delivery): Promise<void> => void heard.push(nOf(delivery));
      await bus.subscribe([happened.type], record, { onGap: () => (gaps += 1) });
      await publish(1);
      await vi.waitFor(() => expect(heard).toEqual([1]));
      expect(gaps).toBe(0);
      await restart();
      await vi.waitFor(() => expect(gaps).toBe(1));
      await insist(() => publish(2));
      await vi.waitFor(() => expect(heard).toContain(2));
    });

    it(
      'B1: keeps messages sent to a queue that was created a moment before, and the queue continues',
      limit,
      async () => {
        for (const n of numbers(3)) await send(`test.new.${n}`, n);
        await restart();
        const seen: number[] = [];
        for (const n of numbers(3)) {
          await bus.consume(`test.new.${n}`, async (delivery) => void seen.push(nOf(delivery)));
          await insist(() => send(`test.new.${n}`, n + 10));
        }
        await vi.waitFor(() => expect(new Set(seen)).toEqual(new Set([0, 1, 2, 10, 11, 12])));
      },
    );

    it('B1, B2: loses no message when the broker is killed twice during sending and handling', limit, async () => {
      const taker = await another();
      const seen = new Set<number>();
      await taker.consume(q, async (delivery) => {
        await pause();
        seen.add(nOf(delivery));
      });
      const sending = (async () => {
        for (let n = 0; n < 3000; n += 25) await insist(() => send(q, ...numbers(25).map((each) => n + each)));
      })();
      await vi.waitFor(() => expect(seen.size).toBeGreaterThan(300));
      await restart();
      await vi.waitFor(() => expect(seen.size).toBeGreaterThan(1500));
      await restart();
      await sending;
      await vi.waitFor(() => expect(seen.size).toBe(3000));
      await empty(q);
      expect(await taker.deadLetters.list({ limit: 1 })).toEqual([]);
    });

    it('B3, B6: continues with the one active consumer, events in order, listeners and questions', limit, async () => {
      const [single, group, listener]: [number[], number[], number[]] = [[], [], []];
      const active: boolean[] = [];
      await bus.consume('test.single', async (delivery) => void single.push(nOf(delivery)), {
        singleActive: true,
        onActive: (on) => void active.push(on),
      });
      await bus.subscribe(['test.#'], async (delivery) => void group.push(nOf(delivery)), { group: 'test' });
      await bus.subscribe(['test.#'], async (delivery) => void listener.push(nOf(delivery)));
      const respond = answer({ bus, mint: mintTestMessage }, sum, async ({ data }) => ({ sum: data.a + data.b }));
      await bus.consume('test.asked', routeMessages([respond]));
      let n = 0;
      const stop = new AbortController();
      const sending = (async () => {
        for (; !stop.signal.aborted; n += 1) {
          await insist(() => send('test.single', n));
          await insist(() => publish(n));
        }
      })();
      await vi.waitFor(() => expect(group.length).toBeGreaterThan(20));
      await restart();
      const before = n;
      await vi.waitFor(() => expect(n).toBeGreaterThan(before + 50));
      // A listener without a group gets only the events that happen while it listens, and returns when it can.
      await vi.waitFor(() => expect(listener.at(-1)).toBeGreaterThan(before));
      stop.abort();
      await sending;
      await vi.waitFor(() => {
        for (const seen of [single, group]) expect(new Set(seen)).toEqual(new Set(numbers(n)));
      });
      await vi.waitFor(() => expect(listener.at(-1)).toBe(n - 1));
      expect(active.at(-1)).toBe(true);
      // Within one subject, a repetition starts where delivery broke off.
      for (const [index, each] of group.entries()) expect(each).toBeLessThanOrEqual((group[index - 1] ?? -1) + 1);
      const question = mintTestMessage(sum, { data: { a: 1, b: 2 } });
      expect(await bus.request({ queue: 'test.asked', call: sum, message: question })).toEqual({ sum: 3 });
      expect(await bus.deadLetters.list({ limit: 1 })).toEqual([]);
    });

    it('B4: loses no message that waits for a retry or is about to be retried', limit, async () => {
      const attempts = new Map<number, number[]>();
      const failing = async (delivery: Delivery): Promise<void> => {
        const n = nOf(delivery);
        attempts.set(n, [...(attempts.get(n) ?? []), delivery.attempt]);
        if (delivery.attempt < 4) throw new Error('not yet');
      };
      await bus.consume(q, failing, { concurrency: 64, backoff: (attempt) => attempt * 150 });
      await send(q, ...numbers(300));
      await vi.waitFor(() => expect([...attempts.values()].some((each) => each.length > 1)).toBe(true));
      await restart();
      await vi.waitFor(() => {
        expect([...attempts.values()].filter((each) => (each.at(-1) ?? 0) >= 4)).toHaveLength(300);
      });
      await empty(q);
    });

    it('B4: continues the attempt counts and keeps dead letters', limit, async () => {
      const attempts: number[] = [];
      const failing = async ({ attempt }: Delivery): Promise<void> => {
        attempts.push(attempt);
        throw new Error('not yet');
      };
      await bus.consume('test.failing', failing, { maxAttempts: 3, backoff: () => 700 });
      await send('test.failing', 1);
      await vi.waitFor(() => expect(attempts).toEqual([1]));
      await vi.waitFor(async () =>
        expect(await bus.queues.measure('test.failing')).toMatchObject({ depth: 1, inFlight: 0 }),
      );
      await restart();
      await vi.waitFor(async () => expect(await bus.deadLetters.list({ limit: 5 })).toHaveLength(1));
      // The broker repeats a delivery whose acknowledgement it had not written yet.
      expect(new Set(attempts)).toEqual(new Set([1, 2, 3]));
      await restart();
      await vi.waitFor(() => bus.check());
      expect(await bus.deadLetters.list({ limit: 5 })).toMatchObject([
        { queue: 'test.failing', attempts: 3, history: [{}, {}, {}] },
      ]);
    });

    it('B4: delivers messages in flight again without counting an attempt', limit, async () => {
      const attempts: number[] = [];
      const begun: AbortSignal[] = [];
      const handler = async ({ attempt, signal }: Delivery): Promise<void> => {
        attempts.push(attempt);
        begun.push(signal);
        if (begun.length <= 2) await new Promise(() => undefined);
      };
      await bus.consume(q, handler, { maxAttempts: 2 });
      for (const lives of [1, 2]) {
        if (lives === 1) await send(q, 1);
        await vi.waitFor(() => expect(begun).toHaveLength(lives));
        await broker.kill();
        // When a broker is away for long, the open offers are lost.
        await vi.waitFor(() => expect(begun.at(-1)?.aborted).toBe(true));
        await broker.start();
      }
      await vi.waitFor(() => expect(begun).toHaveLength(3));
      await empty(q);
      expect(attempts).toEqual([1, 1, 1]);
      expect(await bus.deadLetters.list({ limit: 1 })).toEqual([]);
    });

    it('fails the questions that want to know of an outage at once, and sends none of them later', limit, async () => {
      const service = await another();
      const handled: string[] = [];
      let held = 0;
      const sumUp = answer({ bus: service, mint: mintTestMessage }, sum, async ({ id, data }) => {
        handled.push(id);
        if (data.a === 0 && (held += 1) === 1) await new Promise(() => undefined);
        return { sum: data.a + data.b };
      });
      await service.consume('test.asked', routeMessages([sumUp]));
      const ask = (a: number): { id: string; answered: Promise<{ sum: number }> } => {
        const message = mintTestMessage(sum, { data: { a, b: 2 } });
        const answered = bus.request({
          queue: 'test.asked',
          call: sum,
          message,
          timeoutMs: 120_000,
          failsInOutage: true,
        });
        answered.catch(() => undefined);
        return { id: message.id, answered };
      };
      const away = {
        code: 'Unavailable',
        message: expect.stringMatching(/ is lost.* \(since \d{4}-.*Z, \d+ s\)\.$/) as string,
        details: { broker_away_since: expect.any(String) as string },
      };
      expect(await ask(1).answered).toEqual({ sum: 3 });
      const underWay = ask(0);
      await vi.waitFor(() => expect(handled).toContain(underWay.id));
      await broker.kill();
      const killed = performance.now();
      await expect(underWay.answered).rejects.toMatchObject(away);
      const refused = ask(1);
      await expect(refused.answered).rejects.toMatchObject(away);
      await expect(bus.queues.measure('test.asked')).rejects.toMatchObject(away);
      await expect(bus.deadLetters.replay('none')).rejects.toMatchObject(away);
      // Far less than the time of the questions.
      expect(performance.now() - killed).toBeLessThan(60_000);
      await broker.start();
      await vi.waitFor(async () => expect(await ask(1).answered).toEqual({ sum: 3 }));
      expect(handled).not.toContain(refused.id);
    });

    it('reports during the outage that it accepts no messages, and the address of the broker', limit, async () => {
      await bus.check();
      await broker.kill();
      const message = expect.stringContaining(new URL(place.url).host);
      await vi.waitFor(() => expect(bus.check()).rejects.toMatchObject({ code: 'Unavailable', message }));
      const sent = send(q, 1);
      sent.catch(() => undefined);
      await broker.start();
      await vi.waitFor(() => bus.check());
      await insist(() => sent.catch(() => send(q, 1)));
      // A server of NATS that has just started counts a message after it has confirmed it.
      await vi.waitFor(async () => expect(await bus.queues.measure(q)).toMatchObject({ depth: 1 }));
    });
  });
}
