import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { alarmStates } from '@anneal/contracts/calls/alarms.ts';
import {
  composite,
  judgePoints,
  judgeElements,
  missingPolicies,
  nextAlarmState,
  alarmReason,
  type AlarmState,
  type AlarmJudgement,
  type PointsRule,
} from './evaluate.ts';

const rule = (more: Partial<PointsRule> = {}): PointsRule => ({
  comparison: 'gt',
  threshold: 10,
  periods: 2,
  datapoints: 2,
  missing: 'insufficient',
  ...more,
});
const judged = (result: AlarmJudgement['result'], trend: AlarmJudgement['trend'] = null): AlarmJudgement => ({
  result,
  trend,
  outside: 1,
  count: 2,
  latest: 11,
});

describe('the points of a threshold alarm', () => {
  it.each<[(number | null)[], AlarmJudgement['result'], AlarmJudgement['trend']]>([
    [[1, 11, 12], 'alarm', null],
    [[99, 9, 10], 'ok', null],
    [[0, 9, 11], 'trend', 'alarm'],
    [[0, 11, 9], 'trend', 'ok'],
    [[null, null, 11], 'insufficient data', null],
    [[11, null, 12], 'alarm', null],
    [[], 'insufficient data', null],
  ])('E1 to E3: %j are %s', (window, result, trend) => {
    expect(judgePoints(window, rule())).toMatchObject({ result, trend });
  });

  it.each(missingPolicies)('treat missing periods as the alarm says: %s', (missing) => {
    const results = {
      insufficient: 'insufficient data',
      keep: 'keep',
      breaching: 'alarm',
      not_breaching: 'ok',
    };
    expect(judgePoints([null, null, null], rule({ missing })).result).toBe(results[missing]);
  });

  it('need as many breaches as the alarm says', () => {
    const wanted = rule({ periods: 3, datapoints: 2 });
    expect(judgePoints([0, 11, 0, 11], wanted).result).toBe('alarm');
    expect(judgePoints([11, 11, 0, 0], wanted).result).toBe('ok');
  });

  it.each([
    ['le', [10, 9], [11]],
    ['ge', [10, 11], [9]],
    ['eq', [10], [9, 11]],
    ['lt', [9], [10, 11]],
    ['gt', [11], [10, 9]],
    ['ne', [9, 11], [10]],
  ] as const)('compare with %s', (comparison, outside, inside) => {
    for (const value of outside) expect(judgeElements([value], { comparison, threshold: 10 }).result).toBe('alarm');
    for (const value of inside) expect(judgeElements([value], { comparison, threshold: 10 }).result).toBe('ok');
  });

  it('of an empty instant query are insufficient data', () => {
    expect(judgeElements([], rule()).result).toBe('insufficient data');
    expect(judgeElements([11, 9], rule()).result).toBe('trend');
  });
});

describe('the next state', () => {
  const judgements = [
    judged('ok'),
    judged('alarm'),
    judged('insufficient data'),
    judged('keep'),
    judged('trend', 'ok'),
    judged('trend', 'alarm'),
  ];
  const all = alarmStates.flatMap((current) =>
    [true, false].flatMap((repeat) => judgements.map((judgement) => ({ current, repeat, judgement }))),
  );

  it.each(all)('E4: $current, repeat $repeat, $judgement.result $judgement.trend', ({ current, repeat, judgement }) => {
    const { result, trend } = judgement;
    const isUnknown = current === 'insufficient data';
    const table: Record<AlarmJudgement['result'], AlarmState | null> = {
      ok: current === 'ok' && !repeat ? null : 'ok',
      alarm: current === 'alarm' && !repeat ? null : 'alarm',
      'insufficient data': isUnknown && !repeat ? null : 'insufficient data',
      keep: null,
      trend: isUnknown ? trend : repeat ? current : null,
    };
    expect(nextAlarmState(current, repeat, judgement)).toBe(table[result]);
    expect(alarmReason(current, current, judgement)).not.toBe('');
  });
});

describe('a composite alarm', () => {
  const known = [judged('ok'), judged('alarm'), judged('insufficient data')];
  const and = { operator: 'and', parts: [0, 1] } as const;
  const or = { operator: 'or', parts: [0, 1] } as const;

  it('is alarm or ok by its operator, for every pair of states', () => {
    for (const a of known)
      for (const b of known) {
        const states = [a.result, b.result];
        const expectedAnd = states.every((each) => each === 'alarm')
          ? 'alarm'
          : states.includes('ok')
            ? 'ok'
            : 'insufficient data';
        const expectedOr = states.includes('alarm')
          ? 'alarm'
          : states.every((each) => each === 'ok')
            ? 'ok'
            : 'insufficient data';
        expect(composite(and, [a, b], 'ok')).toBe(expectedAnd);
        expect(composite(or, [a, b], 'ok')).toBe(expectedOr);
      }
  });

  it('takes a mixed rule as its trend while its state is unknown, and as the opposite otherwise', () => {
    const mixed = judged('trend', 'alarm');
    expect(composite(and, [mixed, judged('alarm')], 'insufficient data')).toBe('alarm');
    expect(composite(and, [mixed, judged('alarm')], 'ok')).toBe('ok');
    expect(composite(or, [judged('trend', 'ok'), judged('ok')], 'alarm')).toBe('alarm');
  });

  it('nests', () => {
    const tree = { operator: 'or', parts: [{ operator: 'and', parts: [0, 1] }, 2] } as const;
    expect(composite(tree, [judged('alarm'), judged('alarm'), judged('ok')], 'ok')).toBe('alarm');
    expect(composite(tree, [judged('alarm'), judged('ok'), judged('ok')], 'alarm')).toBe('ok');
  });
});

it('never changes state because of the same points twice', () => {
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.integer({ min: 0, max: 20 })), { maxLength: 6 }),
      fc.constantFrom(...alarmStates),
      fc.constantFrom(...missingPolicies),
      (window, current, missing) => {
        const judgement = judgePoints(window, rule({ missing }));
        const next = nextAlarmState(current, false, judgement) ?? current;
        expect(nextAlarmState(next, false, judgement)).toBeNull();
      },
    ),
  );
});
