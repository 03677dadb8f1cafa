import { describe, expect, it } from 'vitest';
import {
  bytesText,
  percentOf,
  phaseText,
  progressBar,
  progressText,
  spanText,
  type NodeProgress,
} from './node-progress.ts';

const since = '2026-01-01T00:00:00.000Z';
const progress = (change: Partial<NodeProgress>): NodeProgress => ({
  phase: 'writing',
  image: 'debian',
  bytes: 0,
  total: 902 * 2 ** 20,
  bytes_per_second: null,
  seconds_left: null,
  since,
  at: since,
  moved_at: since,
  problem: null,
  ...change,
});

describe('the words for progress', () => {
  it('never show all before all is done', () => {
    const nearly = { bytes: 10 * 2 ** 30 - 1, total: 10 * 2 ** 30 };
    expect(percentOf(nearly)).toBe(99);
    expect(bytesText(nearly.bytes)).toBe('9.9 GiB');
    expect(progressBar(nearly)).toBe('[###################-]');
    expect(percentOf({ bytes: 5, total: 0 })).toBe(0);
    expect(progressBar({ bytes: 9, total: 3 }, 4)).toBe('[####]');
  });

  it('leave out what is not known, and the time left beside a problem', () => {
    expect(progressText(progress({}))).toBe('0 MiB of 902 MiB (0 %)');
    const known = { bytes_per_second: 2 ** 20, seconds_left: 902 };
    expect(progressText(progress(known))).toBe('0 MiB of 902 MiB (0 %), 1.0 MiB/s, about 15 min left');
    expect(progressText(progress({ ...known, problem: 'no answer' }))).toBe(
      '0 MiB of 902 MiB (0 %), 1.0 MiB/s, no answer',
    );
  });

  it('name each phase', () => {
    expect(phaseText({ phase: 'writing', image: null })).toBe('writes its image');
    expect(phaseText({ phase: 'checking', image: 'debian' })).toBe('checks image debian on its disk');
    expect(phaseText({ phase: 'comparing', image: 'debian' })).toMatch(/^fetches image debian again/);
    expect(phaseText({ phase: 'erasing', image: null })).toBe('overwrites its disks');
  });

  it('have a unit that fits the time', () => {
    expect([40, 240, 7200, 7500].map(spanText)).toEqual(['40 s', '4 min', '2 h', '2 h 5 min']);
  });
});
