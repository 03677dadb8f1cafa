import { describe, expect, it } from 'vitest';
import { timesOf, type CpuProfile } from './read.ts';

const node = (id: number, functionName: string, url = '', lineNumber = 0) => ({
  id,
  callFrame: { functionName, url, lineNumber },
});
const nodes = [
  node(1, '(idle)'),
  node(2, '(garbage collector)'),
  node(3, 'step', 'file:///tree/libs/a.ts', 9),
  // The same function with another caller.
  node(4, 'step', 'file:///tree/libs/a.ts', 9),
  node(5, '', 'node:fs', 4),
];
const profile: CpuProfile = {
  nodes,
  samples: [3, 1, 4, 2, 5],
  timeDeltas: [500, 2000, 9000, 3000, 1000],
};

describe('the times of a profile', () => {
  it('adds up the samples of a function over its callers, the dearest first', () => {
    expect(timesOf([profile], '/tree').functions).toEqual([
      { name: 'step', place: 'libs/a.ts:10', milliseconds: 5 },
      { name: '(anonymous)', place: 'node:fs:5', milliseconds: 0 },
    ]);
  });

  it('lists the idle time and the garbage collector apart, and counts only the latter as work', () => {
    const { apart, milliseconds } = timesOf([profile], '/tree');
    expect(apart).toEqual([
      { name: '(idle)', milliseconds: 9 },
      { name: '(garbage collector)', milliseconds: 1 },
    ]);
    expect(milliseconds).toBe(6);
  });

  it('adds up the profiles of several threads', () => {
    expect(timesOf([profile, profile], '/tree').milliseconds).toBe(12);
  });
});
