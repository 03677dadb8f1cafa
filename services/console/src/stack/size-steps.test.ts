import { expect, it } from 'vitest';
import { sizeSteps } from './size-steps.ts';

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();

it('places each change at its time, from before the first one until now', () => {
  const changes = [
    { at: at(90), before: 4, after: 2 },
    { at: at(0), before: 1, after: 4 },
  ];
  expect(sizeSteps(changes, { now: 100_000, width: 105, height: 40 })).toEqual({
    points: [
      [0, 30],
      [5, 30],
      [5, 0],
      [95, 0],
      [95, 20],
      [105, 20],
    ],
    from: -5_000,
    most: 4,
  });
  expect(sizeSteps([], { now: 0, width: 1, height: 1 })).toBeUndefined();
});
