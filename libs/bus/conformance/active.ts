/**
 * The conformance of a bus that several processes share: a single active consumer per queue, and queues spread evenly.
 */
import { openStore } from '@anneal/store/open.ts';
import type { Document } from '@anneal/store/port.ts';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StoreTrouble } from './store.ts';
import { happened, mintTestMessage, sum, work } from './messages.ts';
import type { Bus, Consumer, Delivery } from '../port.ts';
import { answer, routeMessages } from '../consume/route.ts';
import type { BusHarness, OpenedBus } from './harness.ts';

const takeOverMs = 10_000;
/** A process that is cut off keeps its messages for five seconds, on a machine that is not busy. */
const restedMs = 15_000;
const patientMs = 30_000;
/** Far below the time after which a broker redelivers the messages of a silent consumer. */
const questionMs = 4_000;
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);
const queues = numbers(0, 8).map((n) => `test.shard.${n}`);
const nOf = ({ message }: Delivery): number => (message.data as { n: number }).n;
const todo = (n: number) => mintTestMessage(work, { data: { n } });

interface Process {
  readonly bus: Bus;
  readonly store: StoreTrouble;
  /** The queues of which it is the active consumer. */
  readonly active: Set<string>;
  readonly consumers: Consumer[];
  /** How often it became the active consumer of a queue, or ceased to be. */
  readonly changes: () => number;
}

/** Registers the tests of single active consumers for an adapter. */
export function activeConformance(name: string, harness: BusHarness): void {
  describe(`the one active consumer on ${name}`, () => {
    let place: Awaited<ReturnType<BusHarness['fresh']>>;
    let opened: OpenedBus[];
    let holders: ChildProcess[];
    beforeEach(async () => {
      place = await harness.fresh();
      opened = [];
      holders = [];
    });
    afterEach(async () => {
      for (const holder of holders) holder.kill('SIGKILL');
      for (const { store } of opened) store.cutOff = false;
      await Promise.all(opened.map(({ bus }) => bus.close()));
      await place.dispose();
    });

    const openWith = async (storeUrl = place.storeUrl): Promise<OpenedBus> => {
      const made = await harness.open({ url: place.url, storeUrl });
      opened.push(made);
      return made;
    };
    const open = async (storeUrl?: string): Promise<Bus> => (await openWith(storeUrl)).bus;
    const start = async (handlerOf: (bus: Bus) => (delivery: Delivery) => Promise<void>): Promise<Process> => {
      const { bus, store } = await openWith();
      const active = new Set<string>();
      let changes = 0;
      const consumers = await Promise.all(
        queues.map((queue) =>
          bus.consume(queue, handlerOf(bus), {
            singleActive: true,
            onActive(on) {
              changes += 1;
              if (on) active.add(queue);
              else active.delete(queue);
            },
          }),
        ),
      );
      return { bus, store, active, consumers, changes: () => changes };
    };
    const answering = (bus: Bus) =>
      routeMessages([
        answer({ bus, mint: mintTestMessage }, sum, ({ data }) => Promise.resolve({ sum: data.a + data.b })),
      ]);
    /** Answers when the store of its process does, as most handlers do. */
    const waitingForStore = ({ bus, store }: Process) =>
      routeMessages([
        answer({ bus, mint: mintTestMessage }, sum, async ({ data }) => {
          await vi.waitUntil(() => !store.cutOff);
          return { sum: data.a + data.b };
        }),
      ]);
    const spread = (processes: readonly Process[], sizes: readonly number[]): Promise<void> =>
      vi.waitFor(() => {
        const active = processes.map((each) => [...each.active]);
        expect(active.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual(sizes);
        expect(active.flat().sort()).toEqual(queues);
      });
    const emptied = (bus: Bus): Promise<void> =>
      vi.waitFor(async () => {
        for (const queue of queues) expect(await bus.queues.measure(queue)).toMatchObject({ depth: 0, inFlight: 0 });
      });
    const hold = async (held: readonly string[]) => {
      const holder = spawn(
        process.execPath,
        [new URL('./holder.ts', import.meta.url).pathname, place.url, place.storeUrl, ...held],
        { stdio: ['ignore', 'pipe', 'inherit'] },
      );
      holders.push(holder);
      let said: { active: string[]; taken: string[] } = { active: [], taken: [] };
      createInterface({ input: holder.stdout }).on('line', (line) => (said = JSON.parse(line) as typeof said));
      return { holder, active: () => said.active, taken: () => said.taken };
    };

    it('spreads queues evenly over two and three processes, and back, and handles each message once', async () => {
      const seen: string[] = [];
      const record = () => async (delivery: Delivery) => void seen.push(`${delivery.queue} ${nOf(delivery)}`);
      const one = await start(record);
      await spread([one], [8]);
      const two = await start(record);
      await spread([one, two], [4, 4]);
      const three = await start(record);
      await spread([one, two, three], [2, 3, 3]);
      for (const queue of queues) await one.bus.send({ queue, messages: [todo(1), todo(2)] });
      await emptied(one.bus);
      await two.bus.close();
      await spread([one, three], [4, 4]);
      await one.bus.close();
      await spread([three], [8]);
      expect(seen.toSorted()).toEqual(queues.flatMap((queue) => [`${queue} 1`, `${queue} 2`]));
    });

    it('answers questions without a gap while processes join and leave', async () => {
      const asker = await open();
      const one = await start(answering);
      await spread([one], [8]);
      const enough = new AbortController();
      const asked = Promise.all(
        queues.map(async (queue) => {
          for (let a = 0; !enough.signal.aborted; a += 1) {
            const message = mintTestMessage(sum, { data: { a, b: 1 } });
            expect(await asker.request({ queue, call: sum, message, timeoutMs: questionMs })).toEqual({ sum: a + 1 });
          }
        }),
      );
      asked.catch(() => undefined);
      const two = await start(answering);
      await spread([one, two], [4, 4]);
      const three = await start(answering);
      await spread([one, two, three], [2, 3, 3]);
      await Promise.all(one.consumers.map((consumer) => consumer.stop()));
      await spread([two, three], [4, 4]);
      await one.bus.close();
      await two.bus.close();
      await spread([three], [8]);
      enough.abort();
      await asked;
    });

    it('hands a message that its handler does not finish in time to the next owner, without counting an attempt', async () => {
      const seen: string[] = [];
      const stuck = await start(() => () => new Promise(() => undefined));
      await spread([stuck], [8]);
      for (const queue of queues) await stuck.bus.send({ queue, messages: [todo(1), todo(2)] });
      await vi.waitFor(async () => {
        for (const queue of queues) expect(await stuck.bus.queues.measure(queue)).toMatchObject({ inFlight: 2 });
      });
      const next = await start(() => async (delivery) => {
        seen.push(`${delivery.queue} ${nOf(delivery)} ${delivery.attempt}`);
      });
      await spread([stuck, next], [4, 4]);
      await vi.waitFor(() => {
        expect(seen.toSorted()).toEqual([...next.active].sort().flatMap((queue) => [`${queue} 1 1`, `${queue} 2 1`]));
      });
    });

    it('moves the queues of a killed process within ten seconds, and their messages in flight', async () => {
      const held = queues.slice(0, 4);
      const victim = await hold(held);
      await vi.waitFor(() => expect(victim.active().toSorted()).toEqual(held));
      const seen: string[] = [];
      const next = await start(() => async (delivery) => {
        seen.push(`${delivery.queue} ${nOf(delivery)} ${delivery.attempt}`);
      });
      // Queues that both want are shared evenly.
      await vi.waitFor(() => expect([next.active.size, victim.active().length]).toEqual([6, 2]));
      const victims = victim.active().toSorted();
      for (const queue of victims) await next.bus.send({ queue, messages: [todo(1), todo(2)] });
      await vi.waitFor(() => expect(victim.taken().toSorted()).toEqual(victims));
      const killedAt = performance.now();
      victim.holder.kill('SIGKILL');
      await once(victim.holder, 'exit');
      await spread([next], [8]);
      await vi.waitFor(() => {
        expect(seen.toSorted()).toEqual(victims.flatMap((queue) => [`${queue} 1 2`, `${queue} 2 1`]));
      });
      expect(performance.now() - killedAt).toBeLessThan(takeOverMs);
    });

    it('spreads and moves names without a queue in the same way, and creates no queue for them', async () => {
      const names = numbers(0, 6).map((n) => `name:${n}`);
      const victim = await hold(names);
      await vi.waitFor(() => expect(victim.active().toSorted()).toEqual(names));
      const bus = await open();
      const held = new Set<string>();
      const holds = await Promise.all(
        names.map((each) => bus.hold(each, (on) => void (on ? held.add(each) : held.delete(each)))),
      );
      await vi.waitFor(() => expect([held.size, victim.active().length]).toEqual([3, 3]));
      expect([...held, ...victim.active()].toSorted()).toEqual(names);
      victim.holder.kill('SIGKILL');
      await vi.waitFor(() => expect([...held].toSorted()).toEqual(names));
      const next = await hold(names);
      await vi.waitFor(() => expect([held.size, next.active().length]).toEqual([3, 3]));
      await Promise.all(holds.map((each) => each.stop()));
      await vi.waitFor(() => expect([[...held], next.active().toSorted()]).toEqual([[], names]));
      expect(await bus.queues.list()).toEqual([]);
    });

    it('replaces a process that hangs, and includes it again when it continues', async () => {
      const victim = await hold(queues);
      await vi.waitFor(() => expect(victim.active().toSorted()).toEqual(queues));
      const next = await start(() => () => Promise.resolve());
      await vi.waitFor(() => expect([next.active.size, victim.active().length]).toEqual([4, 4]));
      victim.holder.kill('SIGSTOP');
      await spread([next], [8]);
      victim.holder.kill('SIGCONT');
      // Until it has reported, what it owned before counts.
      await vi.waitFor(() => {
        expect([next.active.size, victim.active().length]).toEqual([4, 4]);
        expect(victim.active().filter((queue) => next.active.has(queue))).toEqual([]);
      });
    });

    it('gives back what it shares and owns when it is cut off from the store, and works again afterwards', async () => {
      const asker = await open();
      const [one, two] = [await start(answering), await start(answering)];
      await spread([one, two], [4, 4]);
      const shared = 'test.shared';
      for (const each of [one, two]) await each.bus.consume(shared, waitingForStore(each), { concurrency: 64 });
      const ask = async (n: number): Promise<void> => {
        const message = mintTestMessage(sum, { data: { a: n, b: 1 } });
        expect(await asker.request({ queue: shared, call: sum, message, timeoutMs: patientMs })).toEqual({
          sum: n + 1,
        });
      };
      await Promise.all(numbers(0, 20).map(ask));
      one.store.cutOff = true;
      const cutAt = performance.now();
      // Some of them reach the process that is cut off, which gives them back.
      await Promise.all(numbers(20, 60).map(ask));
      expect(performance.now() - cutAt).toBeLessThan(restedMs);
      await vi.waitFor(() => expect(one.bus.permission.isHeld).toBe(false));
      await expect(one.bus.check()).rejects.toThrow(/takes no work.*the database does not answer/);
      await spread([two], [8]);
      const from = performance.now();
      for (const n of numbers(60, 100)) await ask(n);
      expect(performance.now() - from).toBeLessThan(questionMs);
      one.store.cutOff = false;
      await vi.waitFor(() => expect(one.bus.permission.isHeld).toBe(true));
      await spread([one, two], [4, 4]);
      await vi.waitFor(async () => expect(await asker.queues.measure(shared)).toMatchObject({ consumers: 2 }));
      await one.bus.check();
    });

    it.each([1_000, 2_500])(
      'only slows down with a store that answers %i ms late: work continues and no queue moves',
      async (lateMs) => {
        const seen: string[] = [];
        const record = () => async (delivery: Delivery) => void seen.push(`${delivery.queue} ${nOf(delivery)}`);
        const [one, two] = [await start(record), await start(record)];
        await spread([one, two], [4, 4]);
        const before = [one, two].map((each) => each.changes());
        for (const each of [one, two]) each.store.lateMs = lateMs;
        // The versions of their documents show how often they were renewed, to an observer whose store is not late.
        const observer = await openStore({ url: place.storeUrl });
        const members = await observer.collection<Document>({ name: 'bus_members', indexes: [] });
        const versions = async (): Promise<Map<string, number>> =>
          new Map((await members.find({ where: { id: { gt: '' } } })).map(({ id, version }) => [id, version]));
        for (let n = 0; n < 3; n += 1) {
          const from = await versions();
          for (const queue of queues) void one.bus.send({ queue, messages: [todo(n)] });
          await vi.waitFor(async () => {
            const now = await versions();
            expect(now.size).toBe(2);
            for (const [id, version] of now) expect(version).toBeGreaterThan(from.get(id) ?? 0);
            expect(seen.filter((each) => each.endsWith(` ${n}`)).toSorted()).toEqual(queues.map((q) => `${q} ${n}`));
          });
        }
        expect([one, two].map((each) => each.changes())).toEqual(before);
        for (const each of [one, two]) each.store.lateMs = 0;
        await observer.close();
      },
    );

    it('loses no message and leaves none behind when two processes believe that they own a queue', async () => {
      const [one, two] = [await open(), await open(`${place.storeUrl}-of-another`)];
      const active: string[] = [];
      const seen = new Set<number>();
      for (const [bus, who] of [[one, 'one'] as const, [two, 'two'] as const]) {
        await bus.consume('test.q', async (delivery) => void seen.add(nOf(delivery)), {
          singleActive: true,
          onActive: (on) => void (on && active.push(who)),
        });
      }
      await vi.waitFor(() => expect(active.toSorted()).toEqual(['one', 'two']));
      for (let n = 0; n < 500; n += 50) await one.send({ queue: 'test.q', messages: numbers(n, n + 50).map(todo) });
      await vi.waitFor(() => expect(seen.size).toBe(500));
      await two.close();
      await one.send({ queue: 'test.q', messages: numbers(500, 600).map(todo) });
      await vi.waitFor(() => expect(seen.size).toBe(600));
      await vi.waitFor(async () => expect(await one.queues.measure('test.q')).toMatchObject({ depth: 0, inFlight: 0 }));
      expect(await one.deadLetters.list({ limit: 1 })).toEqual([]);
    });

    it('stops when the record of its queue names another process, and takes the queue back when that process does not exist', async () => {
      const active: boolean[] = [];
      const bus = await open();
      await bus.consume('test.q', () => Promise.resolve(), {
        singleActive: true,
        onActive: (on) => void active.push(on),
      });
      await vi.waitFor(() => expect(active).toEqual([true]));
      const store = await openStore({ url: place.storeUrl });
      const owners = await store.collection<{ id: string; version: number; owner: string }>({
        name: 'bus_owners',
        indexes: [],
      });
      await owners.bulk([{ kind: 'put', document: { id: 'test.q', owner: 'absent' } }]);
      await vi.waitFor(() => expect(active).toEqual([true, false, true]));
      await store.close();
    });

    it('gives a group one active member, and the next one continues after its last event', async () => {
      const [one, two] = [await open(), await open()];
      const seen: number[] = [];
      const record = async (delivery: Delivery): Promise<void> => void seen.push(nOf(delivery));
      const publish = (n: number): Promise<void> =>
        one.publish([mintTestMessage(happened, { data: { n }, subject: 's' })]);
      const first = await one.subscribe(['test.#'], record, { group: 'test' });
      await two.subscribe(['test.#'], record, { group: 'test' });
      for (const n of numbers(0, 20)) await publish(n);
      await vi.waitFor(() => expect(seen).toHaveLength(20));
      const stopped = first.stop();
      for (const n of numbers(20, 40)) await publish(n);
      await stopped;
      await vi.waitFor(() => expect(seen).toEqual(numbers(0, 40)));
    });
  });
}
