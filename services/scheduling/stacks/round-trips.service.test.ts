/** How many times in a row a request waits for the store: with a slow store, that decides how long it takes. */
import { createTestContext } from '@anneal/runtime/testing.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { openSchedulingCollections } from '../collections.ts';
import { literal, openHarness, planWith, resource } from '../testing/running-service.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A store that counts its round trips. Operations that are in progress together are one. */
async function countingStore(about: RegExp): Promise<{ store: Store; reset: () => void; trips: () => string[][] }> {
  const real = await openStore({ url: 'sqlite::memory:' });
  cleanups.push(() => real.close());
  const trips: string[][] = [];
  let open = 0;
  const counted = <T extends object>(target: T, name: string): T =>
    new Proxy(target, {
      get(of, key) {
        const value: unknown = Reflect.get(of, key);
        if (typeof value !== 'function') return value;
        return async (...words: unknown[]): Promise<unknown> => {
          if (open === 0) trips.push([]);
          trips.at(-1)?.push(`${name}.${String(key)}`);
          open += 1;
          try {
            await turn();
            return await (value.apply(of, words) as Promise<unknown>);
          } finally {
            open -= 1;
          }
        };
      },
    });
  const store: Store = {
    ...real,
    blobs: counted(real.blobs, 'blobs'),
    check: () => real.check(),
    close: () => real.close(),
    async collection<T extends Document>(definition: Parameters<Store['collection']>[0]): Promise<Collection<T>> {
      const collection = await real.collection<T>(definition);
      return about.test(definition.name) ? counted(collection, definition.name) : collection;
    },
  };
  return { store, reset: () => void trips.splice(0), trips: () => trips };
}

it('a create is refused for a name in use after one round trip to the store, and completes after at most nine', async () => {
  const { store, reset, trips } = await countingStore(/^scheduling_(stacks|resources|journal|events|event_shelves)$/);
  const context = await createTestContext({ name: 'scheduling', store });
  cleanups.push(() => context.dispose());
  const harness = await openHarness({ context });
  cleanups.push(() => harness.service.stop());
  const plan = planWith([resource('r', { value: literal(1) })]);

  reset();
  const { id } = await harness.create('first', plan);
  // The first round trip is the harness's own: it stores the plan.
  expect(trips().length - 1, JSON.stringify(trips())).toBeLessThanOrEqual(9);
  await harness.settled(id);

  reset();
  await expect(harness.create('first', plan)).rejects.toMatchObject({ code: 'AlreadyExists' });
  expect(trips().length - 1, JSON.stringify(trips())).toBe(1);
});

it('J3: a create in several steps writes its journal once for each step, and once to close the last record', async () => {
  const { store, reset, trips } = await countingStore(/^scheduling_(resources|journal)$/);
  const context = await createTestContext({ name: 'scheduling', store });
  cleanups.push(() => context.dispose());
  const harness = await openHarness({ context });
  cleanups.push(() => harness.service.stop());
  const names = Array.from({ length: 600 }, (_, index) => `r${index}`);

  reset();
  const { id } = await harness.create('large', planWith(names.map((name) => resource(name, { value: literal(1) }))));
  await harness.settled(id);
  const calls = trips().flat();
  const steps = calls.filter((call) => call === 'scheduling_resources.bulk').length;
  expect(steps).toBeGreaterThan(2);
  const writes = calls.filter((call) => /^scheduling_journal\.(insert|replace)$/.test(call)).length;
  // A step that changes only the stack writes no resources.
  expect(writes, JSON.stringify(calls)).toBeLessThanOrEqual(steps + 2);
  const { journal } = await openSchedulingCollections(context.store);
  expect(await journal.get(id)).toMatchObject({ open: false, record: null });
});
