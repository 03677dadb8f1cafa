import { describe, expect, it } from 'vitest';
import { sizeByRule, stepFor, type Adjustment } from './size.ts';

const base: Adjustment = {
  stack_id: 's',
  policy: 'p',
  adjustment_type: 'change_in_capacity',
  adjustment: 0,
  min_step: null,
  cooldown: null,
};

describe('the step for a value', () => {
  const steps = [
    { lower: null, upper: -10, adjustment: -2 },
    { lower: -10, upper: 0, adjustment: -1 },
    { lower: 0, upper: 10, adjustment: 1 },
    { lower: 10, upper: null, adjustment: 2 },
  ];
  it.each([
    [39, -2],
    [40, -2],
    [40.5, -1],
    [50, 1],
    [59.9, 1],
    [60, 2],
    [99, 2],
  ])('%d is the adjustment %d', (value, adjustment) => {
    expect(stepFor(value, { kind: 'steps', threshold: 50, steps })?.adjustment).toBe(adjustment);
  });
});

describe('the size for a target', () => {
  const rule = { kind: 'target', target: 50, tolerance: 0.1, scale_in: true } as const;
  it.each([
    // Members that count, all members, value, size.
    [4, 4, 50, 4],
    [4, 4, 55, 4],
    [4, 4, 56, 5],
    [4, 4, 75, 6],
    [4, 4, 25, 2],
    [4, 4, 37.5, 3],
    [2, 4, 100, 4],
    [2, 4, 150, 6],
    [0, 0, 10, 1],
    [0, 0, 0, 0],
    [4, 4, 0, 0],
  ])('%d of %d members with %d are %d', (counted, size, value, expected) => {
    expect(sizeByRule({ ...base, rule }, { counted, size, value })).toBe(expected);
  });

  it('never shrinks a group whose policy only grows it', () => {
    const grows = { ...base, rule: { ...rule, scale_in: false } };
    expect(sizeByRule(grows, { counted: 4, size: 4, value: 1 })).toBe(4);
  });
});
