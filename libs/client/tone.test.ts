import { describe, expect, it } from 'vitest';
import { toneOf } from './text/tone.ts';

describe('the tone of a state', () => {
  it.each([
    ['CREATE_COMPLETE', 'done'],
    ['power on', 'done'],
    ['host.up', 'done'],
    ['SUCCESS', 'done'],
    ['UPDATE_IN_PROGRESS', 'busy'],
    ['cleaning', 'busy'],
    ['queued', 'busy'],
    ['silent', 'wait'],
    ['PAUSED', 'wait'],
    ['DELETE_FAILED', 'failed'],
    ['down', 'failed'],
    ['unreachable', 'failed'],
    ['degraded', 'failed'],
    ['INIT_COMPLETE', 'idle'],
    ['SKIPPED', 'idle'],
  ])('of %s is %s', (status, tone) => {
    expect(toneOf(status)).toBe(tone);
  });
});
