import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silent } from '@anneal/bus/conformance/messages.ts';
import { EmbeddedBroker } from '@anneal/bus/embedded/broker.ts';
import { Database } from '@anneal/bus/embedded/database.ts';
import { openStore } from '@anneal/store/open.ts';
import type { Collection, Document, Store } from '@anneal/store/port.ts';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createCopyData, copyResting } from './copy-data.ts';

let folder: string;
let store: Store;
let broker: EmbeddedBroker;
let numbers: Collection<Document>;
const brokerIn = (data: string): EmbeddedBroker => {
  const database = new Database({ file: join(data, 'bus.db'), synchronous: 'normal' });
  return new EmbeddedBroker({ database, now: () => new Date(), log: silent });
};
const storeIn = (data: string): Promise<Store> => openStore({ url: `sqlite:${join(data, 'store.db')}` });
const collectionOf = (of: Store): Promise<Collection<Document>> => of.collection({ name: 'numbers', indexes: [] });

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'anneal-copy-data-'));
  store = await storeIn(folder);
  broker = brokerIn(folder);
  numbers = await collectionOf(store);
});
afterEach(async () => {
  await broker.close();
  await store.close();
  await rm(folder, { recursive: true });
});

/** Writes a number to the store and then sends it, as a service does. */
async function step(n: number): Promise<void> {
  await numbers.bulk([{ kind: 'put', document: { id: String(n) } }]);
  await broker.send({ queue: 'q', packets: [{ type: 'test', bytes: String(n) }] });
}

/** How many numbers each of the copies has. */
async function countsIn(data: string): Promise<{ stored: number; sent: number }> {
  const [copiedStore, copiedBroker] = [await storeIn(data), brokerIn(data)];
  const stored = (await (await collectionOf(copiedStore)).find({ where: {} })).length;
  const { depth } = await copiedBroker.queues.measure('q');
  await copiedBroker.close();
  await copiedStore.close();
  return { stored, sent: depth };
}

it('K1: copies made between any two steps of a writer show one moment of the store and the broker', async () => {
  const copyData = createCopyData({
    bus: broker,
    storeUrl: `sqlite:${join(folder, 'store.db')}`,
    dataDirectory: folder,
  });
  const targets = Array.from({ length: 8 }, (_, index) => join(folder, `copy-${index}`));
  const end = new AbortController();
  let written = 0;
  const writing = (async () => {
    while (!end.signal.aborted) await step((written += 1));
  })();
  for (const target of targets) expect(await copyData?.(target)).toEqual(['store.db', 'bus.db']);
  end.abort();
  await writing;
  for (const target of targets) {
    const { stored, sent } = await countsIn(target);
    // The writer stores a number before it sends it, so the broker is never ahead, and at most one number behind.
    expect([0, 1], `${target}: ${stored} stored, ${sent} sent`).toContain(stored - sent);
    expect(stored).toBeLessThanOrEqual(written);
  }
});

it('a folder whose server does not run is copied with everything that its databases hold', async () => {
  for (const n of [1, 2, 3]) await step(n);
  await broker.close();
  await store.close();
  await copyResting(folder, join(folder, 'copy'));
  expect(await countsIn(join(folder, 'copy'))).toEqual({ stored: 3, sent: 3 });
});

it('a copy leaves nothing behind when it fails, and there is none for a database on a network', async () => {
  const copyData = createCopyData({
    bus: broker,
    storeUrl: `sqlite:${join(folder, 'missing', 'store.db')}`,
    dataDirectory: folder,
  });
  await expect(copyData?.(join(folder, 'copy'))).rejects.toThrow('unable to open');
  await expect(copyResting(join(folder, 'missing'), join(folder, 'copy'))).rejects.toThrow('unable to open');
  expect(await readdir(folder)).not.toContain('copy');
  const remote = { storeUrl: 'mongodb://database/anneal', dataDirectory: folder };
  expect(createCopyData({ bus: broker, ...remote })).toBeUndefined();
  expect(createCopyData({ bus: {}, storeUrl: 'sqlite:a', dataDirectory: folder })).toBeUndefined();
});
