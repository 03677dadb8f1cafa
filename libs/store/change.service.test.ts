import { expect, it, onTestFinished } from 'vitest';
import { change, changeOrInsert, insertOnce, writeOver } from './change.ts';
import { openStore } from './open.ts';
import type { Collection, Document } from './port.ts';

interface Counter extends Document {
  readonly n: number;
}

async function counters(): Promise<Collection<Counter>> {
  const store = await openStore({ url: 'sqlite::memory:' });
  onTestFinished(() => store.close());
  return store.collection<Counter>({ name: 'counters', indexes: [] });
}

const grown = (current: Counter): Counter => ({ ...current, n: current.n + 1 });

it('C1: keeps the change of every concurrent writer', async () => {
  const collection = await counters();
  await collection.insert({ id: 'a', n: 0 });
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => change(collection, 'a', grown)));
  expect(await collection.get('a')).toMatchObject({ n: 20, version: 21 });
  expect(new Set(outcomes.map(({ document }) => document?.n)).size).toBe(20);
});

it('C1: decides again from the stored document when the document in hand is stale', async () => {
  const collection = await counters();
  const stale = await collection.insert({ id: 'a', n: 0 });
  await change(collection, 'a', grown);
  const seen: number[] = [];
  await change(collection, stale, (current) => {
    seen.push(current.n);
    return grown(current);
  });
  expect(seen).toEqual([0, 1]);
  expect(await collection.get('a')).toMatchObject({ n: 2 });
});

it('leaves a document as it is when the decision is undefined or the same object', async () => {
  const collection = await counters();
  const document = await collection.insert({ id: 'a', n: 0 });
  expect(await change(collection, 'a', () => undefined)).toEqual({ document, changed: false });
  expect(await change(collection, 'a', (current) => current)).toEqual({ document, changed: false });
  expect(await change(collection, 'none', grown)).toEqual({ document: undefined, changed: false });
});

it('inserts one document when concurrent writers find none', async () => {
  const collection = await counters();
  const add = (current: Counter | undefined): Counter => ({ id: 'a', version: 0, n: (current?.n ?? 0) + 1 });
  await Promise.all(Array.from({ length: 20 }, () => changeOrInsert(collection, 'a', add)));
  expect(await collection.get('a')).toMatchObject({ n: 20, version: 20 });
});

it('reports to the loser that another writer was first', async () => {
  const collection = await counters();
  const first = await insertOnce(collection, { id: 'a', n: 0 });
  expect(await insertOnce(collection, { id: 'a', n: 1 })).toBeUndefined();
  expect(await writeOver(collection, { id: 'a', n: 2 }, undefined)).toBeUndefined();
  expect(await writeOver(collection, { id: 'a', n: 3 }, first)).toMatchObject({ n: 3, version: 2 });
  expect(await writeOver(collection, { id: 'a', n: 4 }, first)).toBeUndefined();
});

it('passes on the error of a closed store', async () => {
  const store = await openStore({ url: 'sqlite::memory:' });
  const collection = await store.collection<Counter>({ name: 'counters', indexes: [] });
  await store.close();
  await expect(insertOnce(collection, { id: 'a', n: 0 })).rejects.toThrow(/closed/);
});
