import { describe, expect, it } from 'vitest';
import { assignmentOf } from './shares.ts';

const wants = (members: Record<string, string[]>) =>
  new Map(Object.entries(members).map(([id, queues]) => [id, new Set(queues)]));
const ten = Array.from({ length: 10 }, (_, n) => `q${n}`);

/** Lets every process act on its assignment, again and again, until no assignment changes an owner. */
function settle(members: Record<string, string[]>, owners = new Map<string, string>()): Map<string, string> {
  for (let round = 0; round < 50; round += 1) {
    let moved = false;
    const settled = Object.keys(members).every((me) => assignmentOf({ me, members: wants(members), owners }).settled);
    for (const me of Object.keys(members)) {
      const assignment = assignmentOf({ me, members: wants(members), owners });
      for (const queue of assignment.yield) owners.delete(queue);
      for (const queue of assignment.claim) if (!owners.has(queue)) owners.set(queue, me);
      moved ||= assignment.claim.length + assignment.yield.length > 0;
    }
    // A process looks less often when `settled` is true, so then no process may have anything to do.
    expect(settled).toBe(!moved);
    if (!moved) return owners;
  }
  throw new Error('it does not come to rest');
}

function counts(owners: ReadonlyMap<string, string>): Record<string, number> {
  const held: Record<string, number> = {};
  for (const owner of owners.values()) held[owner] = (held[owner] ?? 0) + 1;
  return held;
}

describe('shares of queues with one active consumer', () => {
  it('become even and stable whenever a process joins', () => {
    const owners = settle({ a: ten });
    expect(counts(owners)).toEqual({ a: 10 });
    expect(counts(settle({ a: ten, b: ten }, owners))).toEqual({ a: 5, b: 5 });
    const third = counts(settle({ a: ten, b: ten, c: ten }, owners));
    expect(Object.values(third).sort((a, b) => a - b)).toEqual([3, 3, 4]);
  });

  it('move only the queues of the leaving process', () => {
    const owners = settle({ a: ten, b: ten, c: ten });
    const before = new Map(owners);
    for (const [queue, owner] of before) if (owner === 'c') owners.delete(queue);
    settle({ a: ten, b: ten }, owners);
    expect(counts(owners)).toEqual({ a: 5, b: 5 });
    for (const [queue, owner] of before) if (owner !== 'c') expect(owners.get(queue)).toBe(owner);
  });

  it('are counted separately for queues with different candidates', () => {
    const owners = settle({ a: [...ten, 'events.x'], b: [...ten, 'events.x'], c: ['events.y'] });
    expect(owners.get('events.y')).toBe('c');
    expect(Object.values(counts(owners)).sort((a, b) => a - b)).toEqual([1, 5, 6]);
  });

  it('keep a single queue with its owner', () => {
    const owners = new Map([['q', 'b']]);
    expect(settle({ a: ['q'], b: ['q'], c: ['q'] }, owners)).toEqual(new Map([['q', 'b']]));
  });

  it('free the queues of a dead process', () => {
    const assignment = assignmentOf({ me: 'a', members: wants({ a: ['q'] }), owners: new Map([['q', 'dead']]) });
    expect(assignment).toEqual({ claim: ['q'], yield: [], settled: false });
  });
});
