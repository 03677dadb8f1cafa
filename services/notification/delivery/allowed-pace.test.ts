import { describe, expect, it } from 'vitest';
import { AllowedPace } from './allowed-pace.ts';

/** The times of as many requests as the pace allows until then. */
function timesUntil(end: number, pace: AllowedPace, from = 0): number[] {
  const times: number[] = [];
  for (let now = from; now < end; now = Math.max(now, pace.nextAt)) {
    if (pace.nextAt > now) continue;
    pace.sent(now);
    times.push(now);
  }
  return times;
}

function mostInMinute(times: readonly number[]): number {
  let most = 0;
  for (let from = 0, to = 0; from < times.length; from += 1) {
    while (to < times.length && (times[to] ?? 0) < (times[from] ?? 0) + 60_000) to += 1;
    most = Math.max(most, to - from);
  }
  return most;
}

describe('the pace of a listener', () => {
  it.each([1, 2, 7, 10, 60, 999, 6_000])('of %i requests a minute is kept in every minute, and nearly used', (rate) => {
    const times = timesUntil(300_000, new AllowedPace(rate));
    expect(mostInMinute(times)).toBeLessThanOrEqual(rate);
    expect(times.length).toBeGreaterThanOrEqual(Math.floor(rate * 0.9) * 5);
  });

  it('lets a tenth go at once, also after a silence, and not more', () => {
    const pace = new AllowedPace(100);
    expect(timesUntil(1, pace)).toHaveLength(10);
    expect(timesUntil(600_001, pace, 600_000)).toHaveLength(10);
  });

  it('is kept over two runs', () => {
    const first = new AllowedPace(30);
    const times = timesUntil(20_000, first);
    times.push(...timesUntil(90_000, new AllowedPace(30, first.sentUntil), 20_000));
    expect(mostInMinute(times)).toBeLessThanOrEqual(30);
  });
});
