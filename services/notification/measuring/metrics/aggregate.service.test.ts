import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { aggregatePattern, plainAggregates } from '@anneal/contracts/calls/measuring.ts';
import { aggregateSeries, type SeriesPeriods } from './aggregate.ts';
import { fromStored, mergePeriods, percentileOf, periodOf, toStored, type Period } from './period.ts';

const values = fc.array(fc.oneof(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.integer({ min: -20, max: 20 })), {
  minLength: 1,
  maxLength: 60,
});
const merged = (all: readonly number[]): Period =>
  all.map((value, index) => periodOf(value, index)).reduce((a, b) => mergePeriods(a, b));

describe('a period', () => {
  it('has percentiles that differ from the exact ones by at most 1 %', () => {
    fc.assert(
      fc.property(values, fc.integer({ min: 1, max: 99 }), (all, percent) => {
        const exact = all.toSorted((a, b) => a - b)[Math.max(1, Math.ceil((percent / 100) * all.length)) - 1] ?? NaN;
        const found = percentileOf(merged(all), percent);
        expect(Math.abs(found - exact)).toBeLessThanOrEqual(Math.abs(exact) * 0.0101 + 1e-9);
      }),
    );
  });

  it('is the same in whatever order and through the store its values are merged', () => {
    fc.assert(
      fc.property(values, fc.nat(), (all, cut) => {
        const at = cut % all.length;
        const [left, right] = [all.slice(0, at), all.slice(at)];
        const parts = [left, right].filter((part) => part.length > 0).map((part) => fromStored(toStored(merged(part))));
        const joined = parts.reduceRight((a, b) => mergePeriods(a, b));
        const whole = merged(all);
        expect(joined.count).toBe(whole.count);
        expect([joined.min, joined.max]).toEqual([whole.min, whole.max]);
        expect(percentileOf(joined, 50)).toBeCloseTo(percentileOf(whole, 50), 6);
      }),
    );
  });
});

const series = (...points: [seconds: number, ...values: number[]][]): SeriesPeriods =>
  points.flatMap(([seconds, ...all]) =>
    all.length === 0
      ? []
      : [[seconds * 1000, all.map((value) => periodOf(value, seconds * 1000)).reduce(mergePeriods)] as const],
  );
const points = (aggregate: string, ...all: SeriesPeriods[]): [number, number][] =>
  aggregateSeries(all, { aggregate, granularity: 20_000, from: 0, to: 100_000 }).map(({ at, value }) => [
    at / 1000,
    value,
  ]);

describe('the aggregate of series', () => {
  const busy = series([0, 80, 90, 100], [10, 90], [20, 100]);
  const idle = series([0, 10], [20, 0]);

  it('counts each series the same, however often it posts', () => {
    expect(points('mean', busy, idle)).toEqual([
      [0, 50],
      [20, 50],
    ]);
  });
  it.each([
    ['min', 10, 0],
    ['max', 100, 100],
    ['sum', 370, 100],
    ['count', 5, 2],
    ['last', 50, 50],
  ] as const)('knows %s', (aggregate, first, second) => {
    expect(points(aggregate, busy, idle)).toEqual([
      [0, first],
      [20, second],
    ]);
  });
  it('takes percentiles over all values', () => {
    expect(points('median', busy, idle)[0]?.[1]).toBeCloseTo(90, -0.5);
    expect(points('1pct', busy, idle)[0]?.[1]).toBeCloseTo(10, 0);
  });
  it('computes the rate per second of a counter and survives its reset', () => {
    const counter = series([0, 100], [20, 300], [40, 20], [80, 60]);
    expect(points('rate', counter)).toEqual([
      [20, 10],
      [40, 1],
      [80, 1],
    ]);
    expect(points('rate', counter, counter)[0]).toEqual([20, 20]);
  });
  it('computes the change from period to period only between neighbours', () => {
    expect(points('rate:mean', series([0, 5], [20, 8], [60, 9]))).toEqual([[20, 3]]);
  });
  it('has no point for a period without a value', () => {
    expect(points('count', series([0, 1], [60, 1]))).toEqual([
      [0, 1],
      [60, 1],
    ]);
  });
  it('accepts each aggregate that the contract names', () => {
    for (const each of [...plainAggregates, '95pct', 'rate:sum', 'rate:90pct']) {
      expect(each).toMatch(aggregatePattern);
      for (const [, value] of points(each, busy, idle)) expect(value).not.toBeNaN();
    }
    expect('100pct').not.toMatch(aggregatePattern);
    expect(readFileSync(new URL('./aggregate.ts', import.meta.url), 'utf8')).not.toContain('Date.now');
  });
});
