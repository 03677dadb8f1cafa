import { describe, expect, it } from 'vitest';
import { victimsIn } from './victims.ts';

const member = (name: string, created_at: string, more: { failed?: boolean; unhealthy?: boolean } = {}) => ({
  name,
  created_at,
  failed: false,
  ...more,
});
const members = [
  member('c', '3', { failed: true }),
  member('a', '1'),
  member('d', '4', { unhealthy: true }),
  member('b', '2'),
];

describe('the members that leave', () => {
  it.each([
    ['oldest', 'c a b d'],
    ['newest', 'c d b a'],
    ['unhealthy', 'c d a b'],
  ] as const)('in the order %s are %s', (order, expected) => {
    expect(victimsIn(order, { members, safe: new Set() }).join(' ')).toBe(expected);
  });

  it('are never protected', () => {
    expect(victimsIn('oldest', { members, safe: new Set(['a', 'c']) })).toEqual(['b', 'd']);
  });
});
