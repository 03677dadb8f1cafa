import { describe, expect, it } from 'vitest';
import { filledPool, hasRoom, poolSize, takenFrom, type PoolMember } from './warm.ts';

const held = (name: string, more: Partial<PoolMember> = {}): PoolMember => ({
  name,
  created_at: name,
  failed: false,
  unhealthy: false,
  ready: true,
  ...more,
});
const pool = [
  held('c'),
  held('a'),
  held('b', { failed: true }),
  held('d', { unhealthy: true }),
  held('e', { ready: false }),
];

describe('a warm pool', () => {
  it('W2: gives its oldest members that are complete, healthy and not lost', () => {
    expect(takenFrom(pool, 1)).toEqual(['a']);
    expect(takenFrom(pool, 5)).toEqual(['a', 'c']);
    expect(takenFrom([], 2)).toEqual([]);
  });

  it('fills to its size, and loses failed and lost members before the newest', () => {
    let count = 0;
    const newName = () => `n${(count += 1)}`;
    expect(filledPool([held('a')], { size: 3, newName })).toEqual(['a', 'n1', 'n2']);
    expect(filledPool(pool, { size: 3, newName })).toEqual(['c', 'a', 'e']);
    expect(filledPool(pool, { size: 2, newName })).toEqual(['c', 'a']);
    expect(filledPool(pool, { size: 0, newName })).toEqual([]);
  });

  it('has the size of its properties, and none without them', () => {
    expect([poolSize({}), poolSize({ warm_pool: null }), poolSize({ warm_pool: { size: 2 } })]).toEqual([0, 0, 2]);
    expect([hasRoom({ warm_pool: { size: 2 } }, ['a']), hasRoom({ warm_pool: { size: 1 } }, ['a'])]).toEqual([
      true,
      false,
    ]);
  });
});
