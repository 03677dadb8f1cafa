import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Alarm } from './alarm.ts';

describe('the alarm', () => {
  const rung: number[] = [];
  let alarm: Alarm<number>;
  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
    rung.length = 0;
    alarm = new Alarm<number>({ now: () => Date.now(), ring: (due) => rung.push(...due) });
  });
  afterEach(() => {
    alarm.stop();
    vi.useRealTimers();
  });

  it('fires every entry once, at its time, earliest first, with one timer', () => {
    const times = Array.from({ length: 200 }, (_, n) => ((n * 7919) % 997) + 1);
    for (const at of times) alarm.set(at, at);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(500);
    expect(rung).toEqual(times.filter((at) => at <= 500).sort((a, b) => a - b));
    vi.advanceTimersByTime(500);
    expect(rung).toHaveLength(200);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('waits longer than the longest timeout of Node', () => {
    alarm.set(2 ** 31 + 1000, 1);
    vi.advanceTimersByTime(2 ** 31 + 999);
    expect(rung).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(rung).toEqual([1]);
  });
});
