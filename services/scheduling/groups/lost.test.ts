import { mostSeconds } from '@anneal/contracts/readers/duration.ts';
import { describe, expect, it } from 'vitest';
import { lostNote, lossText, replacementDue, replaceLost } from './lost.ts';
import type { ScalingState } from './scaling-state.ts';
import type { GroupTurn } from './turn.ts';

const at = (seconds: number): string => new Date(seconds * 1000).toISOString();
const names = ['a', 'b', 'c'];
const turn = (scaling: ScalingState, replace_lost: Record<string, number | boolean>): GroupTurn =>
  ({
    scaling,
    properties: { replace_lost },
    group: { members: names.map((name) => ({ name })), warm: ['w'] },
  }) as unknown as GroupTurn;
const both = { after: 10, node_faults: true };
type Sign = 'silence' | 'fault';

/** The state after signs of the host `h` of member `a`, each at a time in seconds. */
function after(policy: Record<string, number | boolean>, ...given: readonly (readonly [Sign, boolean, number])[]) {
  let scaling: ScalingState = {};
  for (const [sign, lost, seconds] of given) {
    const report = { stack_id: 's', member: 'a', host_id: 'h', lost, since: at(seconds), event: `e${seconds}` };
    const noted = lostNote(turn(scaling, policy), { ...report, sign, ...(sign === 'fault' && { reason: 'broken' }) });
    scaling = noted?.scaling ?? scaling;
  }
  return scaling;
}
const due = (scaling: ScalingState, policy: Record<string, number | boolean>, seconds: number) => {
  const found = replacementDue(turn(scaling, policy), { member: 'a', now: seconds * 1000 });
  return found && 'members' in found ? found.members : found && [];
};

describe('a lost member', () => {
  it('is lost while one of two signs is there', () => {
    const silent = after(both, ['silence', true, 1], ['fault', true, 2], ['fault', false, 3]);
    expect(silent.lost?.['a']).toMatchObject({ since: at(1), signs: { silence: { since: at(1) } } });
    const faulty = after(both, ['silence', true, 1], ['fault', true, 2], ['silence', false, 3]);
    expect(faulty.lost?.['a']).toMatchObject({ since: at(2), event: 'e2' });
    expect(
      after(both, ['silence', true, 1], ['fault', true, 2], ['silence', false, 3], ['fault', false, 4]).lost,
    ).toBeUndefined();
  });

  it('is replaced at the time of the earliest sign that the policy counts', () => {
    const scaling = after(both, ['fault', true, 1], ['silence', true, 5]);
    expect(due(scaling, both, 10)).toEqual([]);
    expect(due(scaling, both, 11)).toEqual(['a']);
    expect(due(scaling, { after: 10 }, 14)).toEqual([]);
    expect(due(scaling, { after: 10 }, 15)).toEqual(['a']);
    expect(due(after(both, ['fault', true, 1]), { after: 10 }, 100)).toBeUndefined();
  });

  it('is read from documents of earlier versions as one whose host is silent', () => {
    const old: ScalingState = { lost: { a: { host_id: 'h', since: at(1), event: 'e1' } } };
    expect(due(old, { after: 10 }, 11)).toEqual(['a']);
    expect(lossText({ host_id: 'h', since: at(1), event: 'e1' })).toBe(`host h is silent since ${at(1)}`);
    const back = { stack_id: 's', member: 'a', host_id: 'h', lost: false, since: at(2), event: 'e2' };
    expect(lostNote(turn(old, both), back)?.scaling.lost).toBeUndefined();
  });

  it('is not back because of an event from before, or of another host', () => {
    const scaling = after(both, ['silence', true, 5]);
    const back = { stack_id: 's', member: 'a', host_id: 'h', lost: false, since: at(4), event: 'e4' };
    expect(lostNote(turn(scaling, both), back)).toBeUndefined();
    expect(lostNote(turn(scaling, both), { ...back, host_id: 'i', since: at(6) })).toBeUndefined();
  });

  it('counts the faults of nodes only when the policy says so', () => {
    expect(replaceLost({ replace_lost: { after: 1 } })?.node_faults).toBe(false);
    expect(replaceLost({ replace_lost: both })?.node_faults).toBe(true);
    expect(replaceLost({ replace_lost: { after: 1e15 } })?.after).toBe(mostSeconds);
  });
});
