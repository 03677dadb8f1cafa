import { describe, expect, it } from 'vitest';
import { cooldownEnd, keptCooldown, noCooldown } from './cooldown.ts';

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
const complete = { status: 'COMPLETE', completed_at: at(100) } as const;

describe('the cooldown of a group', () => {
  it('begins when the group has reached its size', () => {
    expect(cooldownEnd({ until: null, seconds: 30 }, complete)).toBe(at(130));
    expect(cooldownEnd({ until: null, seconds: 30 }, { completed_at: null })).toBeNull();
    expect(cooldownEnd(noCooldown, complete)).toBeNull();
  });

  it('has an end also when it is longer than any date', () => {
    expect(cooldownEnd({ until: null, seconds: 1e20 }, complete)).toBe(at(100 + 100 * 366 * 86_400));
  });

  it('lasts as long as the longer one when an earlier one is still running', () => {
    expect(cooldownEnd({ until: at(120), seconds: 30 }, complete)).toBe(at(130));
    expect(cooldownEnd({ until: at(150), seconds: 30 }, complete)).toBe(at(150));
  });

  it('does not restart at an update that keeps the size, and survives when such an update replaces a scaling', () => {
    const scaled = { until: null, seconds: 30 };
    const kept = keptCooldown(scaled, complete);
    expect(cooldownEnd(kept, { completed_at: at(125) })).toBe(at(130));
    const overtaken = keptCooldown(scaled, { ...complete, status: 'IN_PROGRESS' });
    expect(cooldownEnd(overtaken, { completed_at: at(125) })).toBe(at(155));
  });
});
