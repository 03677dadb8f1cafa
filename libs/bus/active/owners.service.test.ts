import { openStore } from '@anneal/store/open.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silent } from '../conformance/messages.ts';
import { mayMisbehave } from '../conformance/store.ts';
import { BusMembers } from './members.ts';
import { Owners } from './owners.ts';

const queues = ['a', 'b', 'c', 'd'];
const stepMs = 50;

describe('owners of queues, each in its own process', () => {
  let folder: string;
  let ends: (() => Promise<void>)[];
  const gone = new Set<string>();

  beforeEach(async () => {
    // Only the clock and its timers are fake; reads and writes take real time.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
    folder = await mkdtemp(join(tmpdir(), 'anneal-owners-'));
    ends = [];
    gone.clear();
  });
  afterEach(async () => {
    const left = new Set(ends);
    const closing = Promise.all(ends.map((end) => end().finally(() => left.delete(end))));
    // Late answers arrive by the fake clock.
    while (left.size > 0) await pass(stepMs);
    await closing;
    vi.useRealTimers();
    await rm(folder, { recursive: true, force: true });
  });

  const start = async (id: string) => {
    const { store, trouble: state } = mayMisbehave(await openStore({ url: `sqlite:${join(folder, 'store.db')}` }));
    const link = { connected: true };
    const members = await BusMembers.open({
      store,
      id,
      isConnected: () => link.connected,
      reachBroker: () => (link.connected ? Promise.resolve() : Promise.reject(new Error('no broker'))),
      isGone: (other) => Promise.resolve(gone.has(other)),
      log: silent,
    });
    const owners = await Owners.open({ members, log: silent });
    const owned = new Set<string>();
    const counts = { yields: 0 };
    for (const queue of queues) {
      await owners.campaign(queue, {
        gain: () => {
          owned.add(queue);
        },
        yield: () => {
          owned.delete(queue);
          counts.yields += 1;
          return Promise.resolve();
        },
      });
    }
    const close = async (): Promise<void> => {
      await owners.close();
      await members.close();
    };
    ends.push(async () => {
      await close();
      await store.close();
    });
    return { owned, counts, state, link, members, close };
  };
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += stepMs) {
      await vi.advanceTimersByTimeAsync(stepMs);
      await new Promise((resolve) => void setImmediate(resolve));
    }
  };

  /** Advances the clock until the expectation holds. */
  const until = async (holds: () => void, limitMs = 30_000): Promise<void> => {
    for (let passed = 0; passed < limitMs; passed += stepMs) {
      try {
        holds();
        return;
      } catch {
        await pass(stepMs);
      }
    }
    holds();
  };

  it('M2: a process that stops renewing is replaced by the others and releases its own queues', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    one.state.away = true;
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([0, 4]));
    one.state.away = false;
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
  });

  it('M2: a process without a broker connection is replaced sooner', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    one.state.away = true;
    gone.add('one');
    await pass(3_500);
    expect(two.owned.size).toBe(4);
  });

  it('M3: after a store outage every process keeps its queues, and none is replaced', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    const before = [[...one.owned].sort(), [...two.owned].sort()];
    for (const each of [one, two]) each.state.away = true;
    await pass(20_000);
    expect([one.owned.size, two.owned.size]).toEqual([0, 0]);
    for (const each of [one, two]) each.state.away = false;
    await until(() => expect([[...one.owned].sort(), [...two.owned].sort()]).toEqual(before));
  });

  it('P2: a process that is cut off gives its queues back before another takes them, and says why', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    one.state.lateMs = 60_000;
    await pass(5_500);
    expect([one.owned.size, two.owned.size]).toEqual([0, 2]);
    expect(one.members.permission.isHeld).toBe(false);
    expect(() => one.members.check()).toThrow(/takes no work.* for [56] s: the database does not answer/);
    await until(() => expect(two.owned.size).toBe(4));
    expect(two.members.permission.isAlive('one')).toBe(false);
  });

  it.each([1_000, 2_000, 2_500])(
    'P3: with a store that answers %i ms late, live processes keep their queues and a dead one is still replaced',
    async (lateMs) => {
      const [one, two] = [await start('one'), await start('two')];
      await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
      const before = [one.counts.yields, two.counts.yields];
      for (const each of [one, two]) each.state.lateMs = lateMs;
      await pass(30 * lateMs);
      expect([one.owned.size, two.owned.size]).toEqual([2, 2]);
      expect([one.counts.yields, two.counts.yields]).toEqual(before);
      one.state.away = true;
      await until(() => expect([one.owned.size, two.owned.size]).toEqual([0, 4]), 30 * lateMs);
    },
  );

  it('P3: a store that suddenly takes six seconds makes the processes rest once, and no queue moves', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    const [before, yields] = [[[...one.owned].sort(), [...two.owned].sort()], one.counts.yields];
    for (const each of [one, two]) each.state.lateMs = 6_000;
    await pass(180_000);
    expect([[...one.owned].sort(), [...two.owned].sort()]).toEqual(before);
    expect(one.counts.yields - yields).toBeLessThanOrEqual(2);
  });

  it('P3: when only one process has a slow store, it is replaced at most once and then keeps its share', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    one.state.lateMs = 5_000;
    await pass(120_000);
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    const settled = [one.counts.yields, two.counts.yields];
    await pass(120_000);
    expect([one.counts.yields, two.counts.yields]).toEqual(settled);
    expect([one.owned.size, two.owned.size]).toEqual([2, 2]);
  });

  it('P1: a process writes its removed document again and keeps the queues that no other process took', async () => {
    const one = await start('one');
    await until(() => expect(one.owned.size).toBe(4));
    const before = one.counts.yields;
    const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` });
    const documents = await store.collection({ name: 'bus_members', indexes: [] });
    ends.push(() => store.close());
    expect(await documents.remove('one')).toBe(true);
    await pass(3_000);
    expect(await documents.get('one')).toBeDefined();
    expect([one.owned.size, one.counts.yields]).toEqual([4, before]);
  });

  it('P2: a process that reaches the store but not the broker is replaced', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    one.link.connected = false;
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([0, 4]));
    one.link.connected = true;
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
  });

  it('M3: after a broker outage every process gets its queues back', async () => {
    const [one, two] = [await start('one'), await start('two')];
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    const before = [[...one.owned].sort(), [...two.owned].sort()];
    for (const each of [one, two]) each.link.connected = false;
    await pass(20_000);
    for (const each of [one, two]) each.link.connected = true;
    await until(() => expect([[...one.owned].sort(), [...two.owned].sort()]).toEqual(before));
  });

  it('O2: a process that leaves frees its queues, and a process with its share keeps them', async () => {
    const [one, two, three] = [await start('one'), await start('two'), await start('three')];
    await until(() => {
      expect([one, two, three].map(({ owned }) => owned.size).toSorted((a, b) => a - b)).toEqual([1, 1, 2]);
    });
    const kept = [one, two].map(({ owned }) => [...owned]);
    await three.close();
    await until(() => expect([one.owned.size, two.owned.size]).toEqual([2, 2]));
    kept.forEach((queuesKept, index) => {
      for (const queue of queuesKept) expect([one, two][index]?.owned.has(queue)).toBe(true);
    });
  });
});
