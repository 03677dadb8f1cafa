import { AnnealError } from '@anneal/contracts/errors.ts';
import { describe, expect, it } from 'vitest';
import type { NodeDocument } from '../documents/node.ts';
import { faultReason } from '../documents/event-reason.ts';
import { afterMiss, afterReading, pauseUntilBeat, watchedPart } from './power-poll.ts';
import { identityFault } from '../documents/identity.ts';

const at = new Date(0);
const node = (change: Partial<NodeDocument> = {}): NodeDocument =>
  ({
    power: 'power on',
    fault: null,
    poll: { failures: 0, reading: 'power on', answered_at: at.toISOString() },
    ...change,
  }) as NodeDocument;
const dead = new AnnealError('BmcUnreachable', 'no answer');

describe('power poll', () => {
  it('writes nothing while nothing changes', () => {
    expect(afterReading(node(), 'power on', at)).toBeUndefined();
  });

  it('renews the time of the last contact after ten minutes, for the other replicas', () => {
    expect(afterReading(node(), 'power on', new Date(599_999))).toBeUndefined();
    const renewed = new Date(600_000);
    expect(afterReading(node(), 'power on', renewed)).toMatchObject({ poll: { answered_at: renewed.toISOString() } });
  });

  it('L1: records a change after two equal readings', () => {
    const first = afterReading(node(), 'power off', at);
    expect(first).toMatchObject({ poll: { failures: 0, reading: 'power off' } });
    expect(first).not.toHaveProperty('power');
    expect(afterReading(node({ ...first }), 'power off', at)).toMatchObject({ power: 'power off' });
    expect(afterReading(node({ ...first }), 'power on', at)).not.toMatchObject({ power: 'power off' });
  });

  it('L2: sets a fault and unknown power after three failed readings, and clears them after one good reading', () => {
    let seen = node();
    for (let miss = 1; miss <= 3; miss += 1) {
      expect(seen.fault).toBeNull();
      seen = { ...seen, ...afterMiss(seen, dead, { at }) };
    }
    expect(seen).toMatchObject({ fault: 'power failure', power: null, last_error: { code: 'BmcUnreachable' } });
    expect(afterReading(seen, 'power off', at)).toMatchObject({ fault: null, power: 'power off', last_error: null });
  });

  it('L2: keeps the error of a node that failed before, and shows that of the reading beside it', () => {
    const failure = { code: 'ResourceFailed', message: 'the checksum is wrong' } as const;
    let seen = node({ state: 'deploy failed', last_error: failure });
    for (let miss = 1; miss <= 3; miss += 1) seen = { ...seen, ...afterMiss(seen, dead, { at }) };
    expect(seen).toMatchObject({
      fault: 'power failure',
      last_error: failure,
      poll: { error: { message: 'no answer' } },
    });
    expect(faultReason(node(), seen)).toBe('power failure: no answer');
    expect({ ...seen, ...afterReading(seen, 'power off', at) }).toMatchObject({ fault: null, last_error: failure });
  });

  it('keeps of a node only what a reading needs', () => {
    const large = 'x'.repeat(100_000);
    const kept = watchedPart(
      node({
        properties: { capabilities: 'boot_mode:bios', disks: large },
        instance_info: { user_data: large },
        facts: { large },
        history: [{ reason: large } as never],
        extra: { large },
      }),
    );
    expect(JSON.stringify(kept).length).toBeLessThan(1_000);
    expect(kept.properties).toEqual({ capabilities: 'boot_mode:bios' });
    expect(afterReading(kept, 'power on', at)).toBeUndefined();
    expect(afterReading(kept, 'power off', at)).toMatchObject({ poll: { reading: 'power off' } });
  });

  it('begins readings at shared beats, never late and at most a beat early', () => {
    for (const everyMs of [1_000, 6_000, 60_000]) {
      const beat = Math.min(1_000, everyMs / 20);
      for (let now = 0; now < 5_000; now += 137.7) {
        const pause = pauseUntilBeat(everyMs * 0.95, { now, everyMs });
        expect(pause).toBeLessThanOrEqual(everyMs * 0.95);
        expect(pause).toBeGreaterThan(everyMs * 0.95 - beat);
        expect((now + pause) / beat).toBeCloseTo(Math.round((now + pause) / beat));
      }
    }
    expect(pauseUntilBeat(0, { now: 999, everyMs: 60_000 })).toBe(0);
  });

  it('keeps other faults', () => {
    expect(
      afterMiss(node({ fault: 'clean failure', poll: { failures: 2, reading: null } }), dead, { at }),
    ).not.toHaveProperty('fault');
  });

  it('L4: sets a fault at the first reading of another machine, until the original machine answers', () => {
    const reported = { uuid: 'u2', serial: null, manufacturer: null, model: null, path: null };
    const other = new AnnealError('IdentityMismatch', 'another machine', { details: { reported } });
    const seen = { ...node(), ...afterMiss(node(), other, { at }) };
    expect(seen).toMatchObject({ fault: identityFault, power: null, foreign: reported, poll: { failures: 0 } });
    expect(afterMiss(seen, other, { at })).toBeUndefined();
    expect(afterMiss(seen, dead, { at })).not.toHaveProperty('fault');
    expect(afterReading(seen, 'power on', at)).toMatchObject({ fault: null, foreign: null, power: 'power on' });
  });

  it('keeps the fault of a node that is the same machine as another node', () => {
    const twin = node({ fault: identityFault, foreign: null });
    expect(afterReading(twin, 'power off', at)).not.toHaveProperty('fault');
  });
});
