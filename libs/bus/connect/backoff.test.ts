import { describe, expect, it } from 'vitest';
import { defaultBackoff } from './backoff.ts';

describe('the default backoff', () => {
  it('doubles from 100 ms to 30 s', () => {
    const longest = [1, 2, 3, 4, 8, 9, 10, 11, 5000].map((attempt) => defaultBackoff(attempt, () => 1));
    expect(longest).toEqual([100, 200, 400, 800, 12_800, 25_600, 30_000, 30_000, 30_000]);
  });

  it('is random between half of that and all of it', () => {
    expect(defaultBackoff(4, () => 0)).toBe(400);
    expect(defaultBackoff(4, () => 0.5)).toBe(600);
  });
});
