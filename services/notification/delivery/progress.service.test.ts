import { hostEvent } from '@anneal/contracts/events.ts';
import { createTestContext } from '@anneal/runtime/testing.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { subjectItem } from './lanes.ts';
import { DeliveryProgress } from './progress.ts';

let context: Awaited<ReturnType<typeof createTestContext>>;
beforeAll(async () => {
  context = await createTestContext({ name: 'notification' });
});
afterAll(() => context.dispose());

const item = (subject: string, sequence: number) => {
  const data = { host_id: subject, name: subject, status: 'up', facts: {}, version: 1 };
  return subjectItem({ sequence, event: context.mint(hostEvent.up, { data, subject, project: 'p' }) });
};

const start = (options: Partial<ConstructorParameters<typeof DeliveryProgress>[0]> = {}): DeliveryProgress =>
  new DeliveryProgress({
    listener: 'http://l',
    cursor: 0,
    outage: undefined,
    hasNotice: false,
    onRefusal: 'block',
    inFlight: 8,
    retrySeconds: [1, 1],
    random: () => 0.5,
    ...options,
  });

const answer = (status: number | null, now: number, retryAfter: number | null = null) => ({
  outcome: { status, error: status === 204 ? null : `answered ${status}`, retryAfter },
  began: now - 1,
  now,
});

describe('the progress of a run', () => {
  it('P2: sends nothing of a subject while a request with it is open', () => {
    const progress = start();
    for (const sequence of [1, 2, 3]) progress.lanes.add(item('h1', sequence));
    expect(progress.take(1).map(({ sequence }) => sequence)).toEqual([1]);
    expect(progress.take(1)).toEqual([]);
  });

  it('P3: after failures of the listener as a whole, sends one request at a time until a success', () => {
    const progress = start();
    for (const subject of ['a', 'b', 'c']) progress.lanes.add(item(subject, 1));
    expect(progress.limitAt(0)).toBe(8);
    progress.ended(progress.take(1), answer(503, 10, 30));
    progress.ended(progress.take(1), answer(503, 12, 30));
    expect(progress.limitAt(20)).toBe(0);
    expect(progress.limitAt(40_000)).toBe(1);
    expect(progress.ended(progress.take(1), answer(204, 40_000))).toBeUndefined();
    // 503 made it slower: 8, 4, 2, and the success adds one.
    expect(progress.limitAt(40_000)).toBe(3);
  });

  it('keeps the pause that a listener asks for, whatever it answers to the requests that it already has', () => {
    const progress = start();
    for (const subject of ['a', 'b', 'c']) progress.lanes.add(item(subject, 1));
    const [first, second] = [progress.take(1), progress.take(1)];
    progress.ended(first, answer(429, 10, 2));
    progress.ended(second, { ...answer(204, 12), began: 5 });
    expect(progress.limitAt(1_000)).toBe(0);
    expect(progress.isSendable(1_000)).toBe(false);
    expect(progress.limitAt(2_010)).toBe(1);
    progress.ended(progress.take(1), answer(204, 2_020));
    expect(progress.limitAt(2_020)).toBeGreaterThan(1);
  });

  it('P4: reloads at the end of an outage when a notice waits', () => {
    const progress = start({ hasNotice: true, outage: { since: 0, at: 0, tries: 1, due_at: 5 } });
    progress.lanes.add(item('a', 1));
    expect(progress.ended(progress.take(1), answer(204, 10))).toEqual({ kind: 'changed' });
  });

  it('disables the subscription on 410, and when the listener is away for all retries', () => {
    const gone = start();
    gone.lanes.add(item('a', 1));
    expect(gone.ended(gone.take(1), answer(410, 10))).toMatchObject({ kind: 'disabled' });
    const away = start();
    away.lanes.add(item('a', 1));
    let why;
    for (let now = 10; why === undefined && now < 100_000; now += 1_500)
      why = away.ended(away.take(1), answer(null, now));
    expect(why).toMatchObject({ kind: 'disabled', because: expect.stringContaining('http://l accepted no event') });
  });

  it('gives a refused event up at once when the subscription skips it, but not one that may pass', () => {
    const progress = start({ onRefusal: 'skip' });
    for (const sequence of [1, 2]) progress.lanes.add(item('a', sequence));
    progress.ended(progress.take(1), answer(408, 10));
    expect(progress.takeUnsaved().dead).toEqual([]);
    progress.lanes.awake(5_000);
    progress.ended(progress.take(1), answer(404, 5_000));
    expect(progress.takeUnsaved().dead.map(({ sequence }) => sequence)).toEqual([1]);
    expect(progress.take(1).map(({ sequence }) => sequence)).toEqual([2]);
  });

  it('gives an event up after its last attempt, continues with its subject, and reports each change once', () => {
    const progress = start();
    for (const sequence of [1, 2]) progress.lanes.add(item('a', sequence));
    for (const now of [1_000, 10_000, 20_000]) {
      progress.lanes.awake(now);
      progress.ended(progress.take(1), answer(400, now));
    }
    const { dead, changed, health } = progress.takeUnsaved();
    expect(dead.map(({ sequence, tries }) => [sequence, tries])).toEqual([[1, 3]]);
    expect(changed).toEqual([]);
    expect(health).toMatchObject({ last_error: 'answered 400' });
    expect(progress.takeUnsaved()).toEqual({ delivered: [], dead: [], changed: [], health: {} });
    expect(progress.take(1).map(({ sequence }) => sequence)).toEqual([2]);
  });
});
