import { groupAdjust } from '@anneal/contracts/calls/scaling.ts';
import { describe, expect, it } from 'vitest';
import { adjustmentFrom } from './policy.ts';

describe('the adjustment of a scaling policy', () => {
  it.each([
    [
      { cooldown: -1, scaling_adjustment: -2 },
      { cooldown: 0, adjustment: -2, min_step: null },
    ],
    [
      { Cooldown: '60', ScalingAdjustment: '1' },
      { cooldown: 60, adjustment: 1, min_step: null },
    ],
    [
      { min_adjustment_step: 1e20, cooldown: 1e20 },
      { min_step: Number.MAX_SAFE_INTEGER, adjustment: 0 },
    ],
  ])('%j fits its message', (properties, expected) => {
    const data = { stack_id: 's', policy: 'p', ...adjustmentFrom(properties) };
    expect(groupAdjust.data.parse(data)).toMatchObject(expected);
  });
});
