import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from './database.ts';
import { Feed } from './feed.ts';
import type { LaneMember, TakenItem } from './lane.ts';
import { Lanes } from './lanes.ts';

const now = new Date(1000);
let folder: string;
let database: Database;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'anneal-feed-'));
  database = new Database({ file: join(folder, 'bus.db'), synchronous: 'normal' });
});
afterEach(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

/** Offers what a group's member gets of these messages, each of the subject that its letter names. */
function offered(subjects: string, { keepsOrder, concurrency = 100 }: { keepsOrder: boolean; concurrency?: number }) {
  const lanes = new Lanes(database);
  const lane = lanes.openGroup('test', ['#']);
  const member: LaneMember = {
    intake: { concurrency, offer: () => undefined, keepsOrder },
    inHand: 0,
    draining: false,
  };
  lane.members.push(member);
  Array.from(subjects).forEach((subject, index) => {
    database.insert({ seq: index + 1, queue: lane.id ?? 0, subject, sentAt: 0, bytes: subject });
  });
  const feed = new Feed({ database, now: () => now, wake: () => undefined });
  const taken: TakenItem[] = [];
  const more = (): number[] => {
    const before = taken.length;
    feed.offerFrom(lane, taken);
    return taken.slice(before).map(({ item }) => item.seq);
  };
  return { lane, taken, more };
}

const done = (each: TakenItem | undefined): void => {
  if (!each) throw new Error('not offered');
  database.remove(each.item.seq);
  each.lane.release(each, false);
};
/** The attempts of each message, as the next process finds them. */
const attemptsOfNext = (): unknown => {
  database.recover(now);
  return Object.fromEntries(
    database.all('SELECT seq, attempts FROM messages ORDER BY seq').map(({ seq, attempts }) => [seq, attempts]),
  );
};
const marked = (): number => database.all('SELECT seq FROM messages WHERE leased = 1').length;

describe('after the death of a process', () => {
  it('the events in hand of a group have used an attempt, and the others none, with one mark for all', () => {
    const { more } = offered('aabbc', { keepsOrder: true, concurrency: 3 });
    expect(more()).toEqual([1, 2, 3]);
    expect(marked()).toBe(0);
    expect(attemptsOfNext()).toEqual({ 1: 1, 2: 1, 3: 1, 4: 0, 5: 0 });
  });

  it('an event that waited for its subject has used no attempt, though later ones were offered', () => {
    const { more } = offered('aabac', { keepsOrder: false });
    expect(more()).toEqual([1, 3, 5]);
    expect(attemptsOfNext()).toEqual({ 1: 1, 2: 0, 3: 1, 4: 0, 5: 1 });
  });

  it('an event that was offered after its turn has used an attempt', () => {
    const { taken, more } = offered('aabac', { keepsOrder: false });
    more();
    done(taken[0]);
    expect(more()).toEqual([2]);
    expect(attemptsOfNext()).toEqual({ 2: 1, 3: 1, 4: 0, 5: 1 });
  });
});

describe('the file of the bus', () => {
  const left = (): unknown => database.all('SELECT seq FROM messages ORDER BY seq').map(({ seq }) => seq);

  it('loses exactly the messages that were removed, in any order, before the next statement', () => {
    const { lane } = offered('abcdefghij', { keepsOrder: true });
    for (const seq of [4, 2, 3, 9, 7]) database.remove(seq);
    expect(left()).toEqual([1, 5, 6, 8, 10]);
    database.remove(5);
    database.insert({ seq: 11, queue: lane.id ?? 0, subject: 'k', sentAt: 0, bytes: 'k' });
    database.remove(10);
    database.commit();
    expect(left()).toEqual([1, 6, 8, 11]);
  });

  it('keeps the messages whose removal was rolled back', () => {
    offered('ab', { keepsOrder: true });
    database.commit();
    database.remove(1);
    expect(left()).toEqual([2]);
    database.remove(2);
    database.rollback();
    expect(left()).toEqual([1, 2]);
  });
});
