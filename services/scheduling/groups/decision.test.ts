import { describe, expect, it } from 'vitest';
import { amended, decideOn, type Group } from './decision.ts';
import { noCooldown } from './cooldown.ts';

const group = (more: Partial<Group> = {}): Group => ({
  stack: { action: 'CREATE', status: 'COMPLETE', suspended: false, completed_at: null },
  members: ['a', 'b'].map((name) => ({ name, created_at: name, failed: false, since: '2026-01-01T00:00:00.000Z' })),
  warm: ['w'],
  filling: false,
  lingers: false,
  state: {},
  cooldown: noCooldown,
  seconds: 0,
  bounds: { least: 1, most: 3 },
  order: 'oldest',
  now: 0,
  ...more,
});
const asked = { id: '1', reason: 'request', policy: null, message: null } as const;

describe('a group with a warm pool', () => {
  it('counts only the members in service, and shrinks by them', () => {
    expect(decideOn({ kind: 'resize', size: 3 }, asked, group())).toMatchObject({ before: 2, after: 3, leaving: [] });
    expect(decideOn({ kind: 'resize', size: 1 }, asked, group())).toMatchObject({
      leaving: ['a'],
      candidates: ['a', 'b'],
    });
  });

  it('keeps its size when a member of the pool is removed by name', () => {
    const wish = { kind: 'remove', members: ['w', 'b'], replace: false } as const;
    const proposal = decideOn(wish, asked, group());
    expect(proposal).toMatchObject({ before: 2, after: 1, leaving: ['w', 'b'] });
    expect(decideOn({ ...wish, members: ['w'] }, asked, group())).toMatchObject({
      before: 2,
      after: 2,
      leaving: ['w'],
    });
    // A listener chooses among the members in service only.
    if ('refusal' in proposal) throw new Error('refused');
    expect(amended(proposal, { victims: ['a'] }, group())).toMatchObject({ after: 1, leaving: ['a', 'w'] });
    expect(amended(proposal, { victims: ['w'] }, group())).toContain('no member w');
  });

  it('D1: is busy in an update, but not in one that only fills the pool', () => {
    const stack = { ...group().stack, action: 'UPDATE', status: 'IN_PROGRESS' } as const;
    const wish = { kind: 'resize', size: 3 } as const;
    expect(decideOn(wish, asked, group({ stack }))).toMatchObject({ refusal: 'busy' });
    expect(decideOn(wish, asked, group({ stack, filling: true }))).toMatchObject({ before: 2, after: 3 });
    const failed = { ...stack, status: 'FAILED' } as const;
    expect(decideOn(wish, asked, group({ stack: failed }))).toMatchObject({ refusal: 'failed' });
    expect(decideOn(wish, asked, group({ stack: failed, lingers: true }))).toMatchObject({ before: 2, after: 3 });
  });
});
