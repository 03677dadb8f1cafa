import { describe, expect, it } from 'vitest';
import { isWorthWaiting, lostAt, startedAgain } from './boot-steps.ts';
import { bootProgressIn } from '../../redfish/boot-progress.ts';

const powered = Date.parse('2026-01-01T00:00:00Z');
const minutes = (count: number): number => powered + count * 60_000;
const boot = (seen?: string) => ({
  exchanged_at: null,
  powered_at: new Date(powered).toISOString(),
  progress: seen === undefined ? null : { seen, at: new Date(powered).toISOString() },
});
const look = (system: object, options: { after: number; before?: string }): boolean =>
  isWorthWaiting({
    boot: boot(options.before),
    ...bootProgressIn(system as Record<string, unknown>),
    now: minutes(options.after),
    retryMs: 600_000,
  });

describe('a machine that has not proved its boot', () => {
  it('is not reset before its time limit when its BMC reports no progress', () => {
    expect(look({ PowerState: 'On' }, { after: 9 })).toBe(true);
    expect(look({ PowerState: 'On' }, { after: 10, before: '' })).toBe(false);
    expect(look({ PowerState: 'On', BootProgress: { LastState: 'None' } }, { after: 11 })).toBe(false);
  });

  it('B2: is never reset during its power-on self-test, however long that takes', () => {
    for (const LastState of ['MemoryInitializationStarted', 'PCIResourceConfigStarted', 'BusInitializationStarted']) {
      const system = { PowerState: 'On', BootProgress: { LastState } };
      expect(look(system, { after: 29, before: LastState })).toBe(true);
    }
  });

  it('B2: gets more time after progress since the last reading, and is reset without progress', () => {
    const system = (LastStateTime: string) => ({
      PowerState: 'On',
      BootProgress: { LastState: 'OSBootStarted', LastStateTime },
    });
    const { seen } = bootProgressIn(system('1999-01-01T00:00:00Z'));
    expect(look(system('1999-01-01T00:05:00Z'), { after: 15, before: seen })).toBe(true);
    expect(look(system('1999-01-01T00:00:00Z'), { after: 15, before: seen })).toBe(false);
  });

  it('is booted again at once when it is off', () => {
    expect(look({ PowerState: 'Off' }, { after: 1 })).toBe(false);
    expect(look({ PowerState: 'PoweringOn' }, { after: 1 })).toBe(true);
  });
});

describe('B5: a machine that exchanged its secret', () => {
  const at = '2026-01-01T00:00:00.000Z';
  const on = { power: 'power on', seen: '', inPost: false } as const;
  it('has started again when two readings show it off, or it is in its self-test after it had left it', () => {
    const off = { ...on, power: 'power off' } as const;
    expect(startedAgain({ progress: { seen: 'OSRunning', at } }, off)).toBe('unsure');
    expect(startedAgain({ progress: { seen: 'off', at } }, off)).toBe('is off');
    const post = { ...on, seen: 'BusInitializationStarted', inPost: true };
    expect(startedAgain({ progress: { seen: 'BusInitializationStarted', at } }, post)).toBeUndefined();
    expect(startedAgain({ progress: { seen: 'OSRunning', at, left_post: true } }, post)).toBe(
      'is in its self-test again',
    );
  });
  it('has started again when its firmware found nothing to boot', () => {
    expect(startedAgain({ progress: null }, { ...on, seen: 'OEM No bootable device' })).toBe('found nothing to boot');
    expect(startedAgain({ progress: null }, { ...on, seen: 'OSRunning' })).toBeUndefined();
  });
});

describe('B4: a firmware that got a part of its boot file', () => {
  const load = { at: '2026-01-01T00:00:00.000Z', sent: 3, size: 9, done: false };
  const exchanged_at = null;
  it('counts as lost after its time, unless it got all or the machine has booted', () => {
    expect(lostAt({ exchanged_at, load }, 60_000)).toBe(Date.parse('2026-01-01T00:01:00Z'));
    expect(lostAt({ exchanged_at, load: { ...load, done: true } }, 60_000)).toBe(Infinity);
    expect(lostAt({ exchanged_at: load.at, load }, 60_000)).toBe(Infinity);
    expect(lostAt({ exchanged_at }, 60_000)).toBe(Infinity);
  });
});
