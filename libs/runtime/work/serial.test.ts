import { describe, expect, it } from 'vitest';
import { Serial, SingleFlight } from './serial.ts';

describe('Serial', () => {
  it('runs the tasks of a key one at a time in their order, and those of another key beside them', async () => {
    const serial = new Serial();
    const log: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = serial.run('a', async () => {
      await gate.promise;
      log.push('a1');
    });
    const second = serial.run('a', async () => void log.push('a2'));
    await serial.run('b', async () => void log.push('b1'));
    expect(log).toEqual(['b1']);
    expect(serial.isBusy('a')).toBe(true);
    gate.resolve();
    await Promise.all([first, second]);
    expect(log).toEqual(['b1', 'a1', 'a2']);
  });

  it('runs the next task after one that failed, and reports the failure to its caller alone', async () => {
    const serial = new Serial();
    const failed = serial.run('a', () => Promise.reject(new Error('no')));
    const next = serial.run('a', () => Promise.resolve('yes'));
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe('yes');
  });
});

describe('SingleFlight', () => {
  it('runs once more after any number of kicks during a run', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const both = Promise.withResolvers<void>();
    let runs = 0;
    const flights = new SingleFlight({
      run: async () => {
        runs += 1;
        if (runs === 2) both.resolve();
        await gates[runs - 1]?.promise;
      },
      onError: () => undefined,
    });
    for (let kick = 0; kick < 5; kick += 1) flights.kick('a');
    expect(runs).toBe(1);
    gates[0]?.resolve();
    await both.promise;
    gates[1]?.resolve();
    await flights.stop();
    expect(runs).toBe(2);
  });

  it('runs again after a run that failed', async () => {
    const again = Promise.withResolvers<void>();
    const errors: unknown[] = [];
    let runs = 0;
    const flights = new SingleFlight({
      run: () => {
        runs += 1;
        if (runs === 1) return Promise.reject(new Error('no'));
        again.resolve();
        return Promise.resolve();
      },
      onError: (error) => errors.push(error),
    });
    flights.kick('a');
    await again.promise;
    expect(errors).toHaveLength(1);
    await flights.stop();
  });
});
