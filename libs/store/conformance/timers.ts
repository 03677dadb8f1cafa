import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openStore } from '../open.ts';
import type { StoreHarness } from './conformance.ts';
import { soleProcess, type WorkPermission } from '../permission.ts';
import type { Store } from '../port.ts';
import { createTimers, type Timer, type TimerOptions, type Timers } from '../timers.ts';

/** Only a failing test waits that long. */
const soon = (check: () => unknown) => vi.waitFor(check);

/** Replicas that the test cuts off and gives up. */
function replicas() {
  const listeners = new Set<() => void>();
  const [resting, dead] = [new Set<string>(), new Set<string>()];
  const permissionOf = (holder: string): WorkPermission => ({
    get isHeld() {
      return !resting.has(holder) && !dead.has(holder);
    },
    holder,
    isAlive: (other) => !dead.has(other),
    watch(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  });
  const tell = (change: () => unknown) => {
    change();
    for (const listener of listeners) listener();
  };
  return {
    permissionOf,
    rest: (holder: string) => tell(() => resting.add(holder)),
    work: (holder: string) => tell(() => resting.delete(holder)),
    giveUp: (holder: string) => tell(() => dead.add(holder)),
  };
}

/** The guarantees of timers on any store; the contract of each store runs it. */
export function timersConformance(name: string, harness: StoreHarness): void {
  describe(`timers on ${name}`, () => {
    let dispose: () => Promise<void>;
    let store: Store;
    let clock: number;
    const running: Timers[] = [];
    const start = async (options: Partial<TimerOptions> & Pick<TimerOptions, 'fire'>): Promise<Timers> => {
      const timers = await createTimers({
        store,
        collection: 'test_timers',
        permission: soleProcess('test'),
        now: () => clock,
        onError: () => undefined,
        pollMs: 20,
        ...options,
      });
      running.push(timers);
      return timers;
    };
    const recorder = () => {
      const fired: Timer[] = [];
      return { fired, fire: async (timer: Timer) => void fired.push(timer) };
    };
    const left = async (): Promise<number> =>
      (await store.collection({ name: 'test_timers', indexes: [{ fields: ['readyAt'] }] })).count({});

    beforeEach(async () => {
      clock = 1_000_000;
      const fresh = await harness.fresh();
      dispose = () => fresh.dispose();
      store = await openStore({ url: fresh.url });
    });
    afterEach(async () => {
      await Promise.all(running.splice(0).map((timers) => timers.stop()));
      await store.close();
      await dispose();
    });

    it('T1: a timer fires once, at its time and not before, and is removed', async () => {
      const { fired, fire } = recorder();
      const timers = await start({ fire });
      await timers.set([
        { id: 'a', dueAt: clock + 500, data: { n: 1 } },
        { id: 'past', dueAt: 0, data: null },
      ]);
      await soon(() => expect(fired.map(({ id }) => id)).toEqual(['past']));
      clock += 499;
      await soon(async () => expect(await left()).toBe(1));
      clock += 1;
      await soon(() => expect(fired.at(-1)).toEqual({ id: 'a', dueAt: 1_000_500, data: { n: 1 } }));
      await soon(async () => expect(await left()).toBe(0));
      expect(fired).toHaveLength(2);
    });

    it('T4: setAtLatest leaves an earlier timer that this process set, and brings a later one forward', async () => {
      const { fired, fire } = recorder();
      const timers = await start({ fire });
      const at = (id: string, ms: number): Timer => ({ id, dueAt: 1_000_000 + ms, data: ms });
      await timers.set([at('early', 200), at('late', 900), at('cancelled', 100)]);
      await timers.cancel(['cancelled']);
      await timers.setAtLatest([at('early', 500), at('late', 400), at('new', 300), at('cancelled', 350)]);
      for (const step of [200, 300, 350, 400]) {
        clock = 1_000_000 + step;
        await soon(() => expect(fired.at(-1)?.data).toBe(step));
      }
      // Fired, so it is set again.
      await timers.setAtLatest([at('early', 1_000)]);
      clock = 1_001_000;
      await soon(() => expect(fired.at(-1)?.data).toBe(1_000));
      expect(fired.map(({ id }) => id)).toEqual(['early', 'new', 'cancelled', 'late', 'early']);
    });

    it('T1: a timer on the real clock fires long before the next poll', async () => {
      const { promise, resolve } = Promise.withResolvers<number>();
      const timers = await start({
        now: () => Date.now(),
        pollMs: 60_000,
        fire: async ({ dueAt }) => resolve(Date.now() - dueAt),
      });
      await timers.set([{ id: 'a', dueAt: Date.now() + 60, data: null }]);
      const late = await promise;
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThan(30_000);
    });

    it('T1: a timer whose handler throws is reported and fires again later', async () => {
      const errors: unknown[] = [];
      let attempts = 0;
      const timers = await start({
        onError: (error) => errors.push(error),
        fire: async () => {
          attempts += 1;
          if (attempts === 1) throw new Error('not yet');
        },
      });
      await timers.set([{ id: 'a', dueAt: clock, data: null }]);
      await soon(() => expect(errors).toHaveLength(1));
      await soon(() => {
        clock += 1000;
        expect(attempts).toBe(2);
      });
      await soon(async () => expect(await left()).toBe(0));
    });

    it('T1: a timer set before a crash fires after it', async () => {
      const first = await start({ fire: async () => undefined });
      await first.set([{ id: 'a', dueAt: clock + 1000, data: 'kept' }]);
      await first.stop();
      clock += 5000;
      const { fired, fire } = recorder();
      await start({ fire });
      await soon(() => expect(fired).toEqual([{ id: 'a', dueAt: 1_001_000, data: 'kept' }]));
    });

    it('T2: setting a timer again moves it, cancelling removes it', async () => {
      const { fired, fire } = recorder();
      const timers = await start({ fire });
      await timers.set([
        { id: 'a', dueAt: clock + 100, data: 1 },
        { id: 'b', dueAt: clock + 100, data: 1 },
        { id: 'c', dueAt: clock + 100, data: 1 },
      ]);
      await timers.set([{ id: 'a', dueAt: clock + 900, data: 2 }]);
      await timers.cancel(['b']);
      clock += 100;
      await soon(() => expect(fired.map(({ id }) => id)).toEqual(['c']));
      clock += 800;
      await soon(() => expect(fired.at(-1)).toMatchObject({ id: 'a', data: 2 }));
      expect(fired).toHaveLength(2);
    });

    it('T2: a timer that its handler sets again stays set', async () => {
      const fired: number[] = [];
      const timers: Timers = await start({
        fire: async ({ dueAt }) => {
          fired.push(dueAt);
          if (fired.length < 3) await timers.set([{ id: 'a', dueAt: dueAt + 100, data: null }]);
        },
      });
      await timers.set([{ id: 'a', dueAt: clock, data: null }]);
      await soon(() => {
        clock += 50;
        expect(fired).toEqual([1_000_000, 1_000_100, 1_000_200]);
      });
    });

    it('T3: a handler that renews its lease keeps the timer', async () => {
      const { fired, fire } = recorder();
      const stuck = Promise.withResolvers<void>();
      const renewed = Promise.withResolvers<boolean>();
      let firings = 0;
      const first = await start({
        leaseMs: 1000,
        pollMs: 60_000,
        fire: async (_timer, lease) => {
          firings += 1;
          if (firings > 1) return;
          clock += 900;
          renewed.resolve(await lease.renew());
          await stuck.promise;
        },
      });
      await first.set([{ id: 'a', dueAt: clock, data: null }]);
      expect(await renewed.promise).toBe(true);
      await start({ fire, leaseMs: 1000 });
      clock += 999;
      const timer = await store.collection({ name: 'test_timers', indexes: [{ fields: ['readyAt'] }] });
      expect(await timer.get('a')).toMatchObject({ readyAt: clock + 1 });
      expect(fired).toEqual([]);
      stuck.resolve();
      await soon(async () => expect(await left()).toBe(0));
      expect(firings).toBe(1);
    });

    it('T3: a replica that may not work fires no timer, and the others fire those that it had begun', async () => {
      const { permissionOf, rest, work } = replicas();
      const stuck = Promise.withResolvers<void>();
      const begun: string[] = [];
      const first = await start({
        permission: permissionOf('first'),
        fire: async ({ id }) => {
          begun.push(id);
          await stuck.promise;
        },
      });
      await first.set([{ id: 'a', dueAt: clock, data: null }]);
      await soon(() => expect(begun).toEqual(['a']));
      const { fired, fire } = recorder();
      await start({ permission: permissionOf('second'), fire });
      rest('first');
      await soon(() => expect(fired.map(({ id }) => id)).toEqual(['a']));
      await first.set([{ id: 'b', dueAt: clock, data: null }]);
      await soon(() => expect(fired.map(({ id }) => id)).toEqual(['a', 'b']));
      expect(begun).toEqual(['a']);
      stuck.resolve();
      rest('second');
      await first.set([{ id: 'c', dueAt: clock, data: null }]);
      work('first');
      await soon(() => expect(begun).toEqual(['a', 'c']));
      await soon(async () => expect(await left()).toBe(0));
    });

    it.each(['find', 'bulk'] as const)(
      'T3: a replica that loses the permission during its %s fires no timer',
      async (slow) => {
        const { permissionOf, rest } = replicas();
        const [reached, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const delayed: Store = {
          ...store,
          collection: async (definition) => {
            const collection = await store.collection(definition);
            const pause = async <T>(result: Promise<T>): Promise<T> => {
              const found = await result;
              reached.resolve();
              await go.promise;
              return found;
            };
            return {
              find: (query: never) => (slow === 'find' ? pause(collection.find(query)) : collection.find(query)),
              bulk: (all: never) => (slow === 'bulk' ? pause(collection.bulk(all)) : collection.bulk(all)),
            } as never;
          },
        };
        const { fired, fire } = recorder();
        const first = await start({ permission: permissionOf('first'), fire: async () => {} });
        rest('first');
        await first.set([{ id: slow, dueAt: clock, data: null }]);
        const wrong = recorder();
        await start({ permission: permissionOf('second'), fire: wrong.fire, store: delayed });
        await reached.promise;
        rest('second');
        go.resolve();
        await start({ permission: permissionOf('third'), fire });
        await soon(() => expect(fired.map(({ id }) => id)).toEqual([slow]));
        await soon(async () => expect(await left()).toBe(0));
        expect(wrong.fired).toEqual([]);
      },
    );

    it('looks once a time, however often the permission changes', async () => {
      const { permissionOf, rest, work } = replicas();
      let looks = 0;
      const counted: Store = {
        ...store,
        collection: async (definition) => {
          const collection = await store.collection(definition);
          return Object.assign(Object.create(collection) as typeof collection, {
            find: (query: Parameters<typeof collection.find>[0]) => {
              if (query.limit !== undefined) looks += 1;
              return collection.find(query);
            },
          }) as never;
        },
      };
      const pollMs = 200;
      await createTimers({
        store: counted,
        collection: 'test_timers',
        permission: permissionOf('one'),
        now: () => Date.now(),
        fire: () => Promise.resolve(),
        onError: () => undefined,
        pollMs,
      }).then((timers) => running.push(timers));
      await soon(() => expect(looks).toBe(1));
      for (let n = 0; n < 8; n += 1) {
        const seen = looks;
        rest('one');
        work('one');
        await soon(() => expect(looks).toBeGreaterThan(seen));
      }
      const from = performance.now();
      const before = looks;
      await soon(() => expect(looks - before).toBeGreaterThanOrEqual(8));
      // Each look takes its time too, so there are fewer than one in `pollMs`.
      expect(performance.now() - from).toBeGreaterThan(6 * pollMs);
    });

    it('T3: the timers of a replica that is given up fire at once, also at the next start', async () => {
      const { permissionOf, giveUp } = replicas();
      const stuck = Promise.withResolvers<void>();
      let begun = 0;
      const firing = {
        fire: async () => {
          begun += 1;
          await stuck.promise;
        },
      };
      const first = await start({ ...firing, permission: permissionOf('first') });
      await first.set([{ id: 'a', dueAt: clock, data: null }]);
      await soon(() => expect(begun).toBe(1));
      await start({ ...firing, permission: permissionOf('second') });
      giveUp('first');
      await soon(() => expect(begun).toBe(2));
      giveUp('second');
      const { fired, fire } = recorder();
      await start({ fire, permission: permissionOf('third') });
      await soon(() => expect(fired.map(({ id }) => id)).toEqual(['a']));
      stuck.resolve();
      await soon(async () => expect(await left()).toBe(0));
    });

    it('T3: one of two replicas fires each timer; timers of a dead replica fire again when its lease ends', async () => {
      const { fired, fire } = recorder();
      const stuck = Promise.withResolvers<void>();
      const first = await start({ fire: () => stuck.promise, leaseMs: 1000 });
      await first.set([{ id: 'a', dueAt: clock, data: null }]);
      await soon(async () => {
        const held = await store.collection({ name: 'test_timers', indexes: [{ fields: ['readyAt'] }] });
        expect(await held.get('a')).toMatchObject({ readyAt: clock + 1000 });
      });
      await start({ fire, leaseMs: 1000 });
      clock += 999;
      await soon(async () => expect(await left()).toBe(1));
      expect(fired).toEqual([]);
      clock += 1;
      await soon(() => expect(fired).toHaveLength(1));
      stuck.resolve();
      const many = Array.from({ length: 300 }, (_, n) => ({ id: `m${n}`, dueAt: clock, data: n }));
      await first.set(many);
      await soon(async () => expect(await left()).toBe(0));
    });
  });
}
