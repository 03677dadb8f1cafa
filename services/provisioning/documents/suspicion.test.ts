import { expect, it } from 'vitest';
import { afterLoss, afterSilence, isSuspected, suspectConditions } from './suspicion.ts';

const on = { state: 'active', power: 'power on', work: null, instance_id: 'srv' } as const;
const off = { ...on, power: 'power off' } as const;
const at = (hour: number): Date => new Date(Date.UTC(2026, 0, 1, hour));

it('S1: counts a loss of power at rest with a server, and nothing else', () => {
  const rules = { at: at(0), most: 3 };
  expect(afterLoss(on, off, rules)).toMatchObject({ losses: [{ reason: 'it lost its power' }], quarantined: false });
  expect(afterLoss({ ...on, work: {} }, off, rules)).toBeUndefined();
  expect(afterLoss(on, { ...off, instance_id: null }, rules)).toBeUndefined();
  expect(afterLoss({ ...on, power: null }, off, rules)).toBeUndefined();
  expect(afterLoss(on, on, rules)).toBeUndefined();
});

it('S2: a machine that is off falls silent without a further loss', () => {
  expect(afterSilence(on, 'now')).toEqual({ silent_since: 'now' });
  expect(afterSilence(off, 'now')).toBeUndefined();
});

it('S3: counts the losses of 24 hours, and keeps a quarantine after them', () => {
  const lose = (node: object, hour: number) => ({
    ...on,
    ...node,
    ...afterLoss({ ...on, ...node }, off, { at: at(hour), most: 3 }),
  });
  const slow = [0, 13, 26, 39].reduce(lose, {});
  expect(slow).toMatchObject({ quarantined: false });
  const often = lose(lose(slow, 40), 41);
  expect(often).toMatchObject({ quarantined: true });
  expect(lose(often, 400)).toMatchObject({ quarantined: true });
  expect(isSuspected(often)).toBe(true);
  expect(suspectConditions({ ...often, name: 'm1' })).toMatchObject([
    { reason: 'TooManyLosses', since: at(0).toISOString(), message: expect.stringContaining('It died 6 times') },
  ]);
});
