import { describe, expect, it } from 'vitest';
import { belonging } from './processes.ts';

const none = { environment: '', folder: '' };

describe('the processes of a machine', () => {
  it('P1: are found by environment, by folder, and by a parent of the machine', () => {
    const all = [
      { pid: 1, parent: 0, ...none },
      { pid: 10, parent: 1, ...none, environment: '/lab/machines/m1' },
      { pid: 11, parent: 1, ...none, folder: '/lab/machines/m1/disk/root' },
      { pid: 12, parent: 11, ...none },
      { pid: 13, parent: 12, ...none },
      { pid: 20, parent: 1, ...none, environment: '/lab/machines/m10' },
    ];
    expect(belonging(all, '/lab/machines/m1', 99).toSorted((a, b) => a - b)).toEqual([10, 11, 12, 13]);
    expect(belonging(all, '/lab/machines', 99).toSorted((a, b) => a - b)).toEqual([10, 11, 12, 13, 20]);
  });

  it('P3: never include this process and its ancestors', () => {
    const all = [
      { pid: 5, parent: 1, ...none, folder: '/lab' },
      { pid: 6, parent: 5, ...none, folder: '/lab' },
      { pid: 7, parent: 6, ...none, folder: '/lab' },
    ];
    expect(belonging(all, '/lab', 6)).toEqual([7]);
  });
});
