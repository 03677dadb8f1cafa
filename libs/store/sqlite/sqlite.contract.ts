import { eventually } from '@anneal/runtime/testing.ts';
import { DatabaseSync } from 'node:sqlite';
import { statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storeConformance, type StoreHarness } from '../conformance/conformance.ts';
import { openStore } from '../open.ts';
import type { Document } from '../port.ts';
import { timersConformance } from '../conformance/timers.ts';
import { findSql } from './query.ts';

interface List extends Document {
  readonly rows: readonly { readonly index: number; readonly text: string }[];
}
interface Thing extends Document {
  readonly text?: string;
  readonly colour: string | null;
}

it('an index finds documents written by a process that does not know the index', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const url = `sqlite:${join(folder, 'store.db')}`;
  const [older, newer] = await Promise.all([openStore({ url }), openStore({ url })]);
  const unknowing = await older.collection<Thing>({ name: 'test_things', indexes: [] });
  await unknowing.insert({ id: 'before', colour: 'red' });
  const knowing = await newer.collection<Thing>({ name: 'test_things', indexes: [{ fields: ['colour'] }] });
  await knowing.insert({ id: 'known', colour: 'red' });
  await knowing.insert({ id: 'overwritten', colour: 'blue' });
  await unknowing.replace({ id: 'overwritten', colour: 'red' }, 1);
  await unknowing.insert({ id: 'after', colour: null });
  const found = await knowing.find({ where: { colour: 'red' } });
  expect(found.map(({ id }) => id)).toEqual(['before', 'known', 'overwritten']);
  expect(await knowing.find({ where: { colour: null } })).toMatchObject([{ id: 'after' }]);
  await Promise.all([older.close(), newer.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** A collection with one index, as layout 2 had it: values from `keys`, else from the document, in generated columns. */
const earlierTable = `
  CREATE TABLE "c:test_things" (id TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, keys TEXT NOT NULL, body TEXT NOT NULL);
  ALTER TABLE "c:test_things" ADD COLUMN "f:colour" GENERATED ALWAYS AS
    (ifnull(json_extract(keys, '$."colour"'), ifnull(json_extract(body, '$."colour"'), -9e999))) VIRTUAL;
  CREATE INDEX "i:test_things:colour" ON "c:test_things" ("f:colour", id);
  INSERT INTO "c:test_things" (id, version, keys, body) VALUES
    ('a', 3, '{"colour":"red"}', '{"id":"a","colour":"red","owner":{"name":"Ada"}}'),
    ('b', 1, '{}', '{"id":"b","colour":"red"}'),
    ('c', 7, '{"colour":-9e999}', '{"id":"c","colour":null}');
  PRAGMA user_version=2;`;

it('L3: converts the tables of a file of an earlier layout, with versions, values and nulls', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const file = join(folder, 'store.db');
  const earlier = new DatabaseSync(file);
  earlier.exec(`PRAGMA journal_mode=WAL; ${earlierTable}`);
  earlier.close();
  const definition = { name: 'test_things', indexes: [{ fields: ['colour'] }, { fields: ['owner.name'] }] };
  for (let opening = 1; opening <= 2; opening += 1) {
    const store = await openStore({ url: `sqlite:${file}` });
    const things = await store.collection<Thing>(definition);
    const red = await things.find({ where: { colour: 'red' } });
    expect(red.map(({ id, version }) => [id, version])).toEqual([
      ['a', 2 + opening],
      ['b', 1],
    ]);
    expect(await things.find({ where: { colour: null } })).toEqual([{ id: 'c', version: 7, colour: null }]);
    const [ada] = await things.find({ where: { 'owner.name': 'Ada' } });
    if (!ada) throw new Error('There is no document of Ada.');
    expect(await things.replace(ada, ada.version - 1)).toBeUndefined();
    expect(await things.replace(ada, ada.version)).toMatchObject({ version: 3 + opening });
    await store.close();
  }
  const later = new DatabaseSync(file);
  later.exec('PRAGMA user_version=4');
  later.close();
  await expect(openStore({ url: `sqlite:${file}` })).rejects.toMatchObject({ code: 'Unavailable' });
  await rm(folder, { recursive: true, force: true });
});

it('uses an index of some documents for the queries that it serves', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const file = join(folder, 'store.db');
  const store = await openStore({ url: `sqlite:${file}` });
  const definition = {
    name: 'test_things',
    indexes: [
      { fields: ['colour', 'text'], only: { field: 'text' } },
      { fields: ['state'], only: { field: 'state', is: "it's open" } },
    ],
  };
  await store.collection<Thing>(definition);
  const reader = new DatabaseSync(file);
  const planOf = (where: Record<string, string>): unknown => {
    const { text, values } = findSql(definition, { where });
    return reader.prepare(`EXPLAIN QUERY PLAN ${text}`).get(...values)?.['detail'];
  };
  expect(planOf({ colour: 'red', text: 'x' })).toContain('i:test_things:colour,text:text');
  expect(planOf({ state: "it's open" })).toContain('i:test_things:state:state=');
  expect(planOf({ colour: 'red' })).toContain('SCAN');
  reader.close();
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

for (const synchronous of ['normal', 'full']) {
  const name = `SQLite (synchronous=${synchronous})`;
  const harness: StoreHarness = {
    async fresh() {
      const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
      return {
        url: `sqlite:${join(folder, 'store.db')}?synchronous=${synchronous}`,
        dispose: () => rm(folder, { recursive: true, force: true }),
      };
    },
  };
  storeConformance(name, harness);
  timersConformance(name, harness);
}

/** Counts the turns of the event loop that other work gets until a promise is settled. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isRunning = true;
  const count = (): void => {
    if (!isRunning) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  await work;
  isRunning = false;
  return turns;
}

it('reads and writes many documents in several turns of the event loop, in order', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` });
  const things = await store.collection<Thing>({ name: 'test_things', indexes: [{ fields: ['colour'] }] });
  const ids = Array.from({ length: 2000 }, (_, index) => `t${String(index).padStart(5, '0')}`);
  const writing = things.bulk(ids.map((id) => ({ kind: 'insert', document: { id, colour: 'red' } })));
  expect(await turnsDuring(writing)).toBeGreaterThan(5);
  expect(new Set(await writing)).toEqual(new Set(['done']));
  const query = { where: { colour: 'red' }, orderBy: ['colour'], descending: true, limit: 1900 };
  const reading = things.find(query);
  expect(await turnsDuring(reading)).toBeGreaterThan(5);
  expect((await reading).map(({ id }) => id)).toEqual(ids.toReversed().slice(0, 1900));
  const again = things.find(query);
  await things.remove('t00500');
  await things.replace({ id: 't00600', colour: 'blue' }, 1);
  const left = await again;
  expect(left.filter(({ id, colour }) => colour !== 'red' || id === 't00500' || id === 't00600')).toEqual([]);
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

it('reads a few large documents in several turns of the event loop', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` });
  const things = await store.collection<Thing>({ name: 'test_things', indexes: [{ fields: ['colour'] }] });
  const text = 'x'.repeat(300_000);
  const writing = things.bulk(
    Array.from({ length: 12 }, (_, index) => ({
      kind: 'insert',
      document: { id: `t${index}`, colour: 'red', text },
    })),
  );
  expect(await turnsDuring(writing)).toBeGreaterThan(5);
  const reading = things.find({ where: { colour: 'red' } });
  expect(await turnsDuring(reading)).toBeGreaterThan(4);
  expect((await reading).length).toBe(12);
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

it('writes and reads one document of several MB in several turns of the event loop', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` });
  const lists = await store.collection<List>({ name: 'test_lists', indexes: [] });
  const rows = Array.from({ length: 150_000 }, (_, index) => ({ index, text: `Größe ${index}`.padEnd(60) }));
  const writing = lists.bulk([{ kind: 'put', document: { id: 'l', rows } }]);
  expect(await turnsDuring(writing)).toBeGreaterThan(2);
  expect(await writing).toEqual(['done']);
  const reading = lists.get('l');
  expect(await turnsDuring(reading)).toBeGreaterThan(1);
  expect(await reading).toEqual({ id: 'l', version: 1, rows });
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

it('finds documents in the order of the bytes of their ids, as the next page of a query does', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const store = await openStore({ url: `sqlite:${join(folder, 'store.db')}` });
  const things = await store.collection<Thing>({ name: 'test_things', indexes: [{ fields: ['colour'] }] });
  // UTF-16 and UTF-8 order the last two differently.
  const ids = ['a', 'b', 'é', '\uFF5E', '\u{1F600}'];
  await things.bulk(ids.toReversed().map((id) => ({ kind: 'insert', document: { id, colour: 'red' } })));
  expect((await things.find({ where: { colour: 'red' } })).map(({ id }) => id)).toEqual(ids);
  const pages = await things.find({ where: { colour: 'red' }, orderBy: ['id'], limit: 9 });
  expect(pages.map(({ id }) => id)).toEqual(ids);
  await store.close();
  await rm(folder, { recursive: true, force: true });
});

it('copies a long log of writes into the file before a commit has to', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'anneal-store-'));
  const file = join(folder, 'store.db');
  const store = await openStore({ url: `sqlite:${file}` });
  const things = await store.collection<Thing>({ name: 'test_things', indexes: [] });
  const text = 'x'.repeat(1_000_000);
  // Far less than the log that a commit would copy.
  for (let index = 0; index < 12; index += 1) await things.insert({ id: `t${index}`, colour: null, text });
  const size = (): number => statSync(file).size;
  await eventually(() => size() > 8_000_000 || undefined, { what: 'the content in the file', last: size });
  expect((await things.getMany(['t0', 't11'])).map(({ id }) => id)).toEqual(['t0', 't11']);
  await store.close();
  await rm(folder, { recursive: true, force: true });
});
