import { describe, expect, it } from 'vitest';
import {
  afterHeartbeat,
  deadlineAfter,
  doneText,
  progressOf,
  type Heartbeat,
  type SentHeartbeat,
} from './heartbeat.ts';

const start = Date.parse('2026-01-01T00:00:00.000Z');
const at = (seconds: number): string => new Date(start + seconds * 1000).toISOString();
const mib = 2 ** 20;
const sent = (seconds: number, done: number, change: Partial<SentHeartbeat> = {}): SentHeartbeat => ({
  phase: 'writing',
  bytes: done * mib,
  total: 900 * mib,
  uptime_ms: 60_000 + seconds * 1000,
  ...change,
});
/** The heartbeat after these have arrived when they were sent. */
const after = (...all: readonly [seconds: number, sent: SentHeartbeat][]): Heartbeat | undefined => {
  let last: Heartbeat | undefined;
  for (const [seconds, each] of all) last = afterHeartbeat(last, each, start + seconds * 1000) ?? last;
  return last;
};

describe('a heartbeat', () => {
  it('H1: changes nothing when it is late, repeated, or of an earlier phase', () => {
    const last = after([0, sent(0, 0)], [10, sent(10, 30)]);
    for (const old of [sent(10, 30), sent(5, 700), sent(0, 0)])
      expect(afterHeartbeat(last, old, start + 60_000)).toBeUndefined();
    const checking = after([0, sent(0, 0)], [10, sent(10, 0, { phase: 'checking' })]);
    expect(afterHeartbeat(checking, sent(20, 900), start + 20_000)).toBeUndefined();
  });

  it('H2: is dropped within four seconds after the last one, unless it has a new phase', () => {
    const last = after([0, sent(0, 0)]);
    expect(afterHeartbeat(last, sent(3, 30), start + 3_000)).toBeUndefined();
    expect(afterHeartbeat(last, sent(3, 30, { problem: 'x' }), start + 3_000)).toBeUndefined();
    expect(afterHeartbeat(last, sent(3, 0, { phase: 'checking' }), start + 3_000)).toMatchObject({ since: at(3) });
  });

  it('H3: makes progress by more bytes or a new phase only', () => {
    const stuck = after([0, sent(0, 0)], [10, sent(10, 30)], [20, sent(20, 30, { problem: 'no answer' })]);
    expect(stuck).toMatchObject({ at: at(20), moved_at: at(10), problem: 'no answer' });
    expect(after([0, sent(0, 0)], [10, sent(10, 30)], [20, sent(20, 5)])).toMatchObject({ moved_at: at(10) });
    expect(after([0, sent(0, 9)], [10, sent(10, 0, { phase: 'checking' })])).toMatchObject({ moved_at: at(10) });
  });

  it('is published at a new phase and after 30 seconds', () => {
    expect(after([0, sent(0, 0)], [29, sent(29, 30)])?.published_at).toBe(at(0));
    expect(after([0, sent(0, 0)], [29, sent(29, 30)], [34, sent(34, 31)])?.published_at).toBe(at(34));
    expect(after([0, sent(0, 0)], [5, sent(5, 0, { phase: 'checking' })])?.published_at).toBe(at(5));
  });
});

describe('the progress that readers see', () => {
  it('has the rate by the clock of the machine, and the time left', () => {
    const first = after([0, sent(0, 0)]);
    expect(first && progressOf(first, 'debian')).toMatchObject({ bytes_per_second: null, seconds_left: null });
    // The second one came late.
    const second = after([0, sent(0, 0)], [25, sent(10, 100)]);
    expect(second && progressOf(second, 'debian')).toEqual({
      phase: 'writing',
      image: 'debian',
      bytes: 100 * mib,
      total: 900 * mib,
      bytes_per_second: 10 * mib,
      seconds_left: 80,
      since: at(0),
      at: at(25),
      moved_at: at(25),
      problem: null,
    });
    const stuck = after([0, sent(0, 0)], [10, sent(10, 0)]);
    expect(stuck && progressOf(stuck, 'debian')).toMatchObject({ bytes_per_second: 0, seconds_left: null });
  });

  it('has no rate of the part before a download that began again', () => {
    const again = after([0, sent(0, 0)], [10, sent(10, 100)], [20, sent(20, 0)]);
    expect(again && progressOf(again, null)).toMatchObject({ bytes: 0, bytes_per_second: null });
    expect(again && doneText(again)).toBe('wrote 0 MiB of 900 MiB (0 %)');
  });
});

describe('H3: the deadline of a wait', () => {
  const limits = { stallMs: 300_000, totalMs: 3_600_000, since: at(0), deadline: start + 1_800_000 };
  const of = (moved: number, purpose: string): number =>
    (deadlineAfter({ moved_at: at(moved) }, { ...limits, purpose }) - start) / 1000;
  it('of a deployment is five minutes after the last progress, and never after the total limit', () => {
    expect(of(60, 'deploy')).toBe(360);
    expect(of(3_000, 'deploy')).toBe(3_300);
    expect(of(3_500, 'deploy')).toBe(3_600);
  });
  it('of a cleaning never becomes earlier', () => {
    expect(of(60, 'clean')).toBe(1_800);
    expect(of(3_000, 'clean')).toBe(3_300);
    expect(of(9_000, 'clean')).toBe(3_600);
  });
});
