import { describe, expect, it } from 'vitest';
import { Clock, type ClockRecord } from './clock.ts';

const start = Date.UTC(2026, 0, 1);
const hour = 3_600_000;

/** A machine whose clocks the test moves. */
function machine(options: { before?: ClockRecord; boot?: string } = {}) {
  const steps: { stepMs: number; skewMs: number }[] = [];
  const state = { wall: start, monotonic: 1000, asleep: 0 };
  const open = (before = options.before): Clock =>
    new Clock({
      boot: options.boot ?? 'boot-1',
      read: () => ({ wall: state.wall, monotonic: state.monotonic }),
      asleep: () => state.asleep,
      before,
      onStep: (step) => steps.push(step),
    });
  return {
    steps,
    state,
    open,
    pass(ms: number) {
      state.wall += ms;
      state.monotonic += ms;
    },
    sleep(ms: number) {
      state.wall += ms;
      state.asleep += ms;
    },
  };
}

describe('the clock of a process', () => {
  it('equals the wall clock while the wall clock is not set', () => {
    const m = machine();
    const clock = m.open();
    m.pass(hour);
    expect(clock.now()).toBe(start + hour);
    expect(m.steps).toEqual([]);
  });

  it.each([2 * hour, -3 * hour, 400 * 24 * hour, 5000, -5000])('K1: ignores a step of %i ms', (step) => {
    const m = machine();
    const clock = m.open();
    m.pass(1000);
    m.state.wall += step;
    expect(clock.now()).toBe(start + 1000);
    expect(m.steps).toEqual([{ stepMs: step, skewMs: step }]);
  });

  it('K1: measures a wait by the monotonic clock, with at most 10 % error, after a step in either direction', () => {
    for (const step of [2 * hour, -3 * hour]) {
      const m = machine();
      const clock = m.open();
      m.state.wall += step;
      const began = clock.now();
      m.pass(60_000);
      expect(Math.abs(clock.now() - began - 60_000)).toBeLessThanOrEqual(6000);
    }
  });

  it('K2: returns to the wall clock and never runs backwards', () => {
    const m = machine();
    const clock = m.open();
    m.state.wall -= hour;
    let last = clock.now();
    for (let minute = 0; minute < 11 * 60; minute++) {
      m.pass(60_000);
      const now = clock.now();
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
    }
    expect(clock.skewMs).toBe(-0);
    expect(last).toBe(m.state.wall);
  });

  it('K2: does not run backwards when the wall clock is set back by less than a step', () => {
    const m = machine();
    const clock = m.open();
    const before = clock.now();
    m.state.wall -= 300;
    expect(clock.now()).toBe(before);
    expect(m.steps).toEqual([]);
  });

  it('reverts a step when the wall clock is set back again', () => {
    const m = machine();
    const clock = m.open();
    m.state.wall += 400 * 24 * hour;
    clock.now();
    m.state.wall -= 400 * 24 * hour;
    expect(clock.now()).toBe(start);
    expect(clock.skewMs).toBe(0);
  });

  it('K3: counts the time of a suspended machine, also together with a step', () => {
    const m = machine();
    const clock = m.open();
    m.sleep(8 * hour);
    expect(clock.now()).toBe(start + 8 * hour);
    m.sleep(hour);
    m.state.wall += 60_000;
    expect(clock.now()).toBe(start + 9 * hour);
    expect(m.steps.map(({ stepMs }) => stepMs)).toEqual([60_000]);
  });

  it('follows NTP, which slews by less than a thousandth', () => {
    const m = machine();
    const clock = m.open();
    m.pass(hour);
    m.state.wall += hour / 2000;
    expect(clock.now()).toBe(m.state.wall);
    expect(m.steps).toEqual([]);
  });

  it('keeps its skew across a restart, and detects a step that happened while no process ran', () => {
    const m = machine();
    const clock = m.open();
    m.state.wall += 2 * hour;
    clock.now();
    const record = clock.record();
    m.pass(60_000);
    m.sleep(30_000);
    m.state.wall -= hour;
    const next = m.open(record);
    expect(next.now()).toBe(start + 90_000 + 6000);
  });

  it('keeps its skew across a reboot, when only the wall clock can be compared', () => {
    const m = machine();
    const clock = m.open();
    m.state.wall += 2 * hour;
    clock.now();
    const after = machine({ boot: 'boot-2', before: clock.record() });
    after.state.wall = m.state.wall + 60_000;
    after.state.monotonic = 5;
    expect(after.open().now()).toBe(start + 60_000 + 6000);
  });

  it('starts with the wall clock when the record differs by more than a day', () => {
    const m = machine();
    const clock = m.open();
    m.state.wall += 400 * 24 * hour;
    clock.now();
    const next = m.open(clock.record());
    expect(next.now()).toBe(m.state.wall);
  });
});
