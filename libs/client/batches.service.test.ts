import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inBatches } from './batches.ts';

/** A source whose values arrive when the test says so. */
function controlled() {
  const asked: { resolve: (value: number | undefined) => void; reject: (error: Error) => void }[] = [];
  async function* source(): AsyncGenerator<number> {
    for (;;) {
      const next = await new Promise<number | undefined>((resolve, reject) => asked.push({ resolve, reject }));
      if (next === undefined) return;
      yield next;
    }
  }
  const waiting = async () => {
    while (asked.length === 0) await turn();
    return asked.shift();
  };
  return {
    source: source(),
    arrive: async (value: number) => (await waiting())?.resolve(value),
    end: async () => (await waiting())?.resolve(undefined),
    fail: async (error: Error) => (await waiting())?.reject(error),
  };
}

it('yields together what arrived while its reader was busy, in order', async () => {
  const { source, arrive, end } = controlled();
  const batches = inBatches(source, () => undefined);
  const first = batches.next();
  await arrive(1);
  expect((await first).value).toEqual([1]);
  // The reader works on the first one.
  for (const value of [2, 3, 4]) await arrive(value);
  await end();
  expect((await batches.next()).value).toEqual([2, 3, 4]);
  expect((await batches.next()).done).toBe(true);
});

it('throws the error of its source after the values before it', async () => {
  const { source, arrive, fail } = controlled();
  const batches = inBatches(source, () => undefined);
  const first = batches.next();
  await arrive(1);
  await first;
  await arrive(2);
  await fail(new Error('forbidden'));
  expect((await batches.next()).value).toEqual([2]);
  await expect(batches.next()).rejects.toThrow('forbidden');
});

it('stops the source when its reader leaves', async () => {
  const { source, arrive } = controlled();
  let stops = 0;
  const batches = inBatches(source, () => (stops += 1));
  const first = batches.next();
  await arrive(1);
  await first;
  await batches.return();
  expect(stops).toBe(1);
});

it('reads at most a thousand values ahead of its reader', async () => {
  let read = 0;
  async function* source(): AsyncGenerator<number> {
    for (; read < 2_500; read += 1) yield read;
  }
  const all: number[] = [];
  for await (const batch of inBatches(source(), () => undefined)) {
    all.push(...batch);
    await turn();
    expect(batch.length).toBeLessThanOrEqual(1_000);
    expect(read).toBeLessThanOrEqual(all.length + 1_000);
  }
  expect(all).toEqual(Array.from({ length: 2_500 }, (_, index) => index));
});
