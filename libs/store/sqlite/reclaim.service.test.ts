import { eventually } from '@anneal/runtime/testing.ts';
import { useQuickClock } from '@anneal/runtime/testing/quick-clock.ts';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Document, Store } from '../port.ts';
import { Reclaimer } from './reclaim.ts';
import { openSqliteStore } from './store.ts';

interface Thing extends Document {
  readonly text: string;
}
const things = { name: 'test_things', indexes: [] };
const text = 'x'.repeat(1_000_000);
useQuickClock();
let folder: string;
let file: string;
let store: Store | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anneal-store-'));
  file = join(folder, 'store.db');
});
afterEach(async () => {
  await store?.close();
  rmSync(folder, { recursive: true });
});

const open = async () => {
  store = await openSqliteStore(`sqlite:${file}`);
  return store.collection<Thing>(things);
};
const size = (): number => statSync(file).size + statSync(`${file}-wal`).size;
async function fill(count: number): Promise<string[]> {
  const collection = await open();
  const ids = Array.from({ length: count }, (_, index) => `t${index}`);
  for (const id of ids) await collection.insert({ id, text });
  return ids;
}

it('a store file shrinks in the background after a deletion, and stays readable', async () => {
  const ids = await fill(16);
  const collection = await (store as Store).collection<Thing>(things);
  await collection.bulk(ids.slice(1).map((id) => ({ kind: 'remove' as const, id })));
  await eventually(() => size() < 8_000_000 || undefined, { what: 'a small file', last: size });
  expect(await collection.get('t0')).toMatchObject({ text });
});

it('a store file of an older version shrinks after its next opening', async () => {
  const older = new DatabaseSync(file);
  older.exec(
    'PRAGMA auto_vacuum=NONE; PRAGMA journal_mode=WAL; CREATE TABLE filler (text TEXT); PRAGMA user_version=2',
  );
  const insert = older.prepare('INSERT INTO filler VALUES (?)');
  for (let index = 0; index < 12; index += 1) insert.run(text);
  older.exec('DELETE FROM filler');
  older.close();
  expect(statSync(file).size).toBeGreaterThan(10_000_000);
  const ids = await fill(12);
  const collection = await (store as Store).collection<Thing>(things);
  await collection.bulk(ids.map((id) => ({ kind: 'remove' as const, id })));
  await eventually(() => size() < 8_000_000 || undefined, { what: 'a small file', last: size });
});

it('V3: returns no pages that were needed again within some seconds', async () => {
  vi.useFakeTimers();
  const db = new DatabaseSync(file);
  try {
    db.exec('PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; CREATE TABLE filler (text TEXT)');
    const insert = db.prepare('INSERT INTO filler VALUES (?)');
    const fillUp = (): void => {
      for (let index = 0; index < 12; index += 1) insert.run(text);
    };
    const pages = (): number => Number(db.prepare('PRAGMA page_count').get()?.['page_count']);
    fillUp();
    const full = pages();
    const reclaimer = new Reclaimer(db, { patienceMs: 100 });
    for (let round = 0; round < 10; round += 1) {
      db.exec('DELETE FROM filler');
      reclaimer.look();
      vi.advanceTimersByTime(1500);
      fillUp();
      reclaimer.look();
      vi.advanceTimersByTime(1500);
      expect(pages()).toBe(full);
    }
    db.exec('DELETE FROM filler');
    reclaimer.look();
    vi.advanceTimersByTime(15_000);
    expect(pages()).toBeLessThan(full / 2);
    reclaimer.stop();
  } finally {
    db.close();
    vi.useRealTimers();
  }
});

it('V1: returns few pages between two checkpoints, so that no checkpoint waits long for the disk', async () => {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; CREATE TABLE filler (text TEXT)');
  const insert = db.prepare('INSERT INTO filler VALUES (?)');
  for (let index = 0; index < 12; index += 1) insert.run(text);
  db.exec('DELETE FROM filler; PRAGMA wal_checkpoint(TRUNCATE)');
  const between: number[] = [];
  let pages = 0;
  const exec = db.exec.bind(db);
  db.exec = (sql) => {
    pages += Number(/incremental_vacuum\((\d+)\)/.exec(sql)?.[1] ?? 0);
    if (sql.includes('wal_checkpoint')) {
      between.push(pages);
      pages = 0;
    }
    exec(sql);
  };
  const reclaimer = new Reclaimer(db, { patienceMs: 100 });
  reclaimer.look();
  const free = () => Number(db.prepare('PRAGMA freelist_count').get()?.['freelist_count']);
  await eventually(() => free() <= 256 || undefined, { what: 'few free pages', last: free });
  reclaimer.stop();
  db.close();
  expect(between.length).toBeGreaterThan(4);
  expect(Math.max(...between)).toBeLessThanOrEqual(256);
});

it('V2: looks again after another connection wrote during a step', async () => {
  vi.useFakeTimers();
  const db = new DatabaseSync(file);
  const other = new DatabaseSync(file);
  try {
    db.exec('PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; CREATE TABLE filler (text TEXT)');
    const insert = db.prepare('INSERT INTO filler VALUES (?)');
    for (let index = 0; index < 12; index += 1) insert.run(text);
    db.exec('DELETE FROM filler');
    const pages = (): number => Number(db.prepare('PRAGMA page_count').get()?.['page_count']);
    const before = pages();
    const reclaimer = new Reclaimer(db, { patienceMs: 0 });
    reclaimer.look();
    other.exec('BEGIN IMMEDIATE');
    vi.advanceTimersByTime(10_000);
    expect(pages()).toBe(before);
    other.exec('COMMIT');
    vi.advanceTimersByTime(20_000);
    expect(pages()).toBeLessThan(before / 2);
    reclaimer.stop();
  } finally {
    other.close();
    db.close();
    vi.useRealTimers();
  }
});
