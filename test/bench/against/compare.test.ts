import { describe, expect, it } from 'vitest';
import type { Row } from '../report.ts';
import { compareRounds } from './compare.ts';

const row = (given: Partial<Row> = {}): Row => ({
  bench: 'stack',
  case: 'flat',
  backend: 'embedded',
  n: 10,
  metric: 'create',
  unit: 's',
  value: 1,
  ...given,
});
const rounds = (values: readonly number[], given: Partial<Row> = {}): Row[][] =>
  values.map((value) => [row({ ...given, value })]);

describe('the comparison of two revisions', () => {
  it('divides the medians of the rounds of both revisions', () => {
    const [found] = compareRounds({ earlier: rounds([2, 9, 1]), now: rounds([3, 3, 20]) });
    expect(found).toMatchObject({ earlier: 2, now: 3, ratio: 1.5 });
  });

  it('takes the middle between the two medians of an even number of rounds', () => {
    expect(compareRounds({ earlier: rounds([1, 2]), now: rounds([4, 2]) })[0]).toMatchObject({ earlier: 1.5, now: 3 });
  });

  it('marks a figure as dearer only outside of the spread of the rounds', () => {
    const verdict = (earlier: number[], now: number[]) =>
      compareRounds({ earlier: rounds(earlier), now: rounds(now) })[0]?.verdict;
    expect(verdict([1, 1.1, 1.2], [1.3, 1.4, 1.5])).toBe('dearer');
    expect(verdict([1, 1.1, 1.4], [1.3, 1.4, 1.5])).toBe('same');
    expect(verdict([1.3, 1.4, 1.5], [1, 1.1, 1.2])).toBe('cheaper');
    expect(verdict([1], [2])).toBe('same');
  });

  it('ignores a difference of less than five percent', () => {
    expect(compareRounds({ earlier: rounds([1, 1.01]), now: rounds([1.03, 1.04]) })[0]?.verdict).toBe('same');
  });

  it('counts a lower rate as dearer', () => {
    const given = { unit: 'configs/s' };
    expect(compareRounds({ earlier: rounds([100, 90], given), now: rounds([50, 60], given) })[0]?.verdict).toBe(
      'dearer',
    );
    expect(compareRounds({ earlier: rounds([50, 60], given), now: rounds([100, 90], given) })[0]?.verdict).toBe(
      'cheaper',
    );
  });

  it('compares the processor time of a row as a figure of its own', () => {
    const found = compareRounds({ earlier: rounds([1], { cpu: 10 }), now: rounds([1], { cpu: 20 }) });
    expect(found.map(({ metric, unit, ratio }) => [metric, unit, ratio])).toEqual([
      ['create', 's', 1],
      ['create, processor', 'µs', 2],
    ]);
  });

  it('reports a case that one revision lacks as missing', () => {
    const found = compareRounds({ earlier: [], now: rounds([1]) });
    expect(found).toMatchObject([{ earlier: undefined, now: 1, ratio: undefined, verdict: 'missing' }]);
    expect(compareRounds({ earlier: rounds([1]), now: [] })[0]?.verdict).toBe('missing');
  });
});
