import { describe, expect, it } from 'vitest';
import { Lane, type LaneItem, type LaneMember, type TakenItem } from './lane.ts';

const itemOf = (seq: number, rest: Partial<LaneItem> = {}): LaneItem => ({
  seq,
  subject: undefined,
  bytes: '',
  valid: false,
  attempts: 0,
  sentAt: 0,
  kept: true,
  expiresAt: Infinity,
  fresh: true,
  ...rest,
});
const memberOf = (concurrency: number, keepsOrder = false): LaneMember => ({
  intake: { concurrency, offer: () => undefined, keepsOrder },
  inHand: 0,
  draining: false,
});
const laneOf = (options: { ordered?: boolean; members?: LaneMember[] } = {}): Lane => {
  const lane = new Lane({ name: 'test', id: 1, ordered: options.ordered ?? false });
  lane.members = options.members ?? [memberOf(100)];
  lane.complete = true;
  return lane;
};
const takeAll = (lane: Lane): TakenItem[] => {
  const all: TakenItem[] = [];
  for (let taken = lane.take(0); taken; taken = lane.take(0)) all.push(taken);
  return all;
};
const seqs = (taken: readonly TakenItem[]): number[] => taken.map(({ item }) => item.seq);

/** A generator of numbers below one; the same seed repeats them. */
const randomOf = (seed: number) => () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};

describe('a lane', () => {
  it('L1: offers returned messages first, by seq, then the rest in order', () => {
    const lane = laneOf();
    for (const seq of [5, 6, 7]) lane.push(itemOf(seq));
    for (const seq of [3, 1, 2]) lane.pushAgain(itemOf(seq));
    expect(seqs(takeAll(lane))).toEqual([1, 2, 3, 5, 6, 7]);
  });

  it('L1: offers questions in order, after older rows that are not read yet', () => {
    const lane = laneOf();
    lane.complete = false;
    lane.push(itemOf(9, { kept: false }));
    expect(lane.take(0)).toBeUndefined();
    expect(lane.hungry).toBe(true);
    lane.push(itemOf(4));
    lane.complete = true;
    expect(seqs(takeAll(lane))).toEqual([4, 9]);
  });

  it('skips a question whose requester no longer waits', () => {
    const lane = laneOf();
    lane.push(itemOf(1, { kept: false, expiresAt: 5 }));
    lane.push(itemOf(2, { kept: false, expiresAt: 50 }));
    expect(lane.take(10)?.item.seq).toBe(2);
  });

  it('L2: holds back messages of a subject until its message in flight is settled', () => {
    const lane = laneOf({ ordered: true });
    for (const [seq, subject] of [
      [1, 'a'],
      [2, 'a'],
      [3, 'b'],
      [4, 'a'],
    ] as const)
      lane.push(itemOf(seq, { subject }));
    const [first, other] = takeAll(lane);
    expect([first?.item.seq, other?.item.seq]).toEqual([1, 3]);
    if (!first) return;
    lane.release(first, true);
    lane.delay(first.item);
    expect(lane.take(0)).toBeUndefined();
    lane.delayed.delete(1);
    lane.pushAgain(first.item);
    const again = lane.take(0);
    expect(again?.item.seq).toBe(1);
    if (again) lane.release(again, false);
    expect(seqs(takeAll(lane))).toEqual([2]);
  });

  it('L2: gives a member that keeps the order the next of a subject too, but none behind one that waits', () => {
    const lane = laneOf({ ordered: true, members: [memberOf(100, true)] });
    for (const seq of [1, 2, 3]) lane.push(itemOf(seq, { subject: 'a' }));
    const [first, second, third] = takeAll(lane) as [TakenItem, TakenItem, TakenItem];
    expect(seqs([first, second, third])).toEqual([1, 2, 3]);
    lane.push(itemOf(4, { subject: 'a' }));
    lane.push(itemOf(5, { subject: 'b' }));
    for (const failed of [first, second]) {
      lane.release(failed, true);
      lane.delay(failed.item);
    }
    expect([...lane.delayed.keys()]).toEqual([1]);
    expect(seqs(takeAll(lane))).toEqual([5]);
    lane.release(third, false);
    expect(lane.take(0)).toBeUndefined();
    lane.delayed.delete(1);
    lane.pushAgain(first.item);
    const again = lane.take(0) as TakenItem;
    expect(seqs([again, ...takeAll(lane)])).toEqual([1]);
    lane.release(again, false);
    expect(seqs(takeAll(lane))).toEqual([2, 4]);
    expect(lane.isFull).toBe(false);
  });

  it('L2: fills a lane again while a member that keeps the order has several of a subject', () => {
    const lane = laneOf({ ordered: true, members: [memberOf(100, true)] });
    for (const seq of [1, 2, 3]) lane.push(itemOf(seq, { subject: 'a' }));
    const hand = takeAll(lane);
    lane.reset();
    lane.complete = true;
    for (const seq of [1, 2, 3, 4]) lane.push(itemOf(seq, { subject: 'a' }));
    expect(seqs(takeAll(lane))).toEqual([4]);
    for (const taken of hand) lane.release(taken, false);
    lane.push(itemOf(5, { subject: 'a' }));
    expect(seqs(takeAll(lane))).toEqual([5]);
  });

  it('L3: offers no message in flight again after the lane was filled from its rows', () => {
    const lane = laneOf();
    for (const seq of [1, 2]) lane.push(itemOf(seq));
    lane.take(0);
    lane.reset();
    lane.complete = true;
    for (const seq of [1, 2, 3]) lane.push(itemOf(seq));
    expect(seqs(takeAll(lane))).toEqual([2, 3]);
  });

  const seeds = Array.from({ length: 30 }, (_, index) => index + 1);
  it.each(seeds)('L2, L3: keeps subjects in order and loses no message in any random sequence (seed %i)', (seed) => {
    const random = randomOf(seed);
    const lane = laneOf({ ordered: true, members: [memberOf(3), memberOf(5)] });
    const done = new Map<string, number[]>();
    const hand: TakenItem[] = [];
    const delayed: LaneItem[] = [];
    let seq = 0;
    for (let step = 0; step < 3000 && (step < 2000 || hand.length + delayed.length > 0); step += 1) {
      if (random() < 0.4 && step < 1000) {
        seq += 1;
        lane.push(itemOf(seq, { subject: `s${Math.floor(random() * 6)}` }));
      }
      hand.push(...takeAll(lane));
      expect(new Set(hand.map(({ item }) => item.subject)).size).toBe(hand.length);
      const [taken] = hand.splice(Math.floor(random() * hand.length), 1);
      if (taken && random() < 0.3 && step < 1500) {
        lane.release(taken, true);
        lane.delay(taken.item);
        delayed.push(taken.item);
      } else if (taken) {
        lane.release(taken, false);
        const subject = taken.item.subject ?? '';
        done.set(subject, [...(done.get(subject) ?? []), taken.item.seq]);
      }
      const back = random() < 0.5 ? delayed.shift() : undefined;
      if (back) {
        lane.delayed.delete(back.seq);
        lane.pushAgain(back);
      }
    }
    for (const list of done.values()) expect(list).toEqual(list.toSorted((a, b) => a - b));
    expect([...done.values()].flat().length).toBe(seq);
  });
});
