import { describe, expect, it } from 'vitest';
import { closedPhase, courierEnd, withReason, type EndReason, type RunPhase } from './run-phase.ts';

const reasons: EndReason[] = [
  { kind: 'idle', resumeAt: 7 },
  { kind: 'changed' },
  { kind: 'stopped' },
  { kind: 'disabled', because: 'gone' },
  { kind: 'failed', error: new Error('broken') },
  { kind: 'lost' },
];

describe('the phases of a run', () => {
  it('keep the strongest reason, in whatever order the reasons arrive, and never send again', () => {
    for (const [i, first] of reasons.entries()) {
      for (const [j, second] of reasons.entries()) {
        let phase: RunPhase = { kind: 'sending' };
        for (const why of [first, second]) phase = withReason(phase, why);
        expect(phase).toEqual({ kind: 'ending', why: reasons[Math.max(i, j)] });
        expect(withReason(closedPhase(withReason({ kind: 'sending' }, first)), second)).toEqual({
          kind: 'closed',
          why: reasons[Math.max(i, j)],
        });
      }
    }
  });

  it('decide when the next run begins', () => {
    const endOf = (why: EndReason) => courierEnd({ why }, 1000);
    expect(endOf({ kind: 'idle', resumeAt: 7 })).toEqual({ resumeAt: 7, again: false, disabled: false });
    expect(endOf({ kind: 'changed' })).toMatchObject({ again: true });
    expect(endOf({ kind: 'stopped' })).toMatchObject({ again: false, resumeAt: 1000 });
    expect(endOf({ kind: 'disabled', because: 'gone' })).toMatchObject({ again: true, disabled: true });
    expect(endOf({ kind: 'lost' })).toEqual({ resumeAt: undefined, again: false, disabled: false });
    expect(() => endOf({ kind: 'failed', error: new Error('broken') })).toThrow('broken');
    expect(courierEnd(closedPhase({ kind: 'sending' }), 0)).toEqual({
      resumeAt: undefined,
      again: false,
      disabled: false,
    });
  });
});
