/**
 * Aggregates the periods of several series to points. Each series is aggregated first, then the series together, so a
 * host that posts more often counts no more than another. Percentiles are over all values. Pure.
 */
import { mergePeriods, percentileOf, type Period } from './period.ts';

export interface Point {
  /** The start of the period, in milliseconds since the epoch. */
  readonly at: number;
  readonly value: number;
}

/** The periods of one series, in order of time. */
export type SeriesPeriods = readonly (readonly [start: number, period: Period])[];

export interface Aggregation {
  readonly aggregate: string;
  /** Milliseconds of a point. */
  readonly granularity: number;
  /** Inclusive and exclusive, in milliseconds since the epoch. Points that begin outside are left out. */
  readonly from: number;
  readonly to: number;
}

type Regrouped = ReadonlyMap<number, Period>;

/** The points of an aggregate over series. A period without a value has no point. */
export function aggregateSeries(all: readonly SeriesPeriods[], wanted: Aggregation): Point[] {
  const { aggregate, granularity } = wanted;
  const series = all.map((periods) => regroup(periods, granularity));
  const points = aggregate.startsWith('rate')
    ? rates(series, aggregate === 'rate' ? undefined : aggregate.slice('rate:'.length), granularity)
    : plain(series, aggregate);
  return points.filter(({ at }) => at >= wanted.from && at < wanted.to).toSorted((a, b) => a.at - b.at);
}

function regroup(periods: SeriesPeriods, granularity: number): Regrouped {
  const points = new Map<number, Period>();
  for (const [start, period] of periods) {
    const at = Math.floor(start / granularity) * granularity;
    const before = points.get(at);
    points.set(at, before ? mergePeriods(before, period) : period);
  }
  return points;
}

function plain(series: readonly Regrouped[], aggregate: string): Point[] {
  return byTime(series).map(([at, periods]) => ({ at, value: valueOver(periods, aggregate) }));
}

function byTime<V>(series: readonly ReadonlyMap<number, V>[]): [number, V[]][] {
  const found = new Map<number, V[]>();
  for (const each of series) {
    for (const [at, value] of each) {
      const values = found.get(at);
      if (values) values.push(value);
      else found.set(at, [value]);
    }
  }
  return [...found];
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function valueOver(periods: readonly Period[], aggregate: string): number {
  switch (aggregate) {
    case 'mean':
      return mean(periods.map((period) => period.sum / period.count));
    case 'sum':
      return sum(periods.map((period) => period.sum));
    case 'count':
      return sum(periods.map(({ count }) => count));
    case 'min':
      return Math.min(...periods.map(({ min }) => min));
    case 'max':
      return Math.max(...periods.map(({ max }) => max));
    case 'last':
      return mean(periods.map(({ last }) => last));
    default: {
      const percent = aggregate === 'median' ? 50 : Number(aggregate.slice(0, -'pct'.length));
      return percentileOf(
        periods.reduce((merged, period) => mergePeriods(merged, period)),
        percent,
      );
    }
  }
}

/**
 * The change of each series from one period to the next: of an aggregate, or of the last value per second (`rate`, for
 * counters: a counter that has become smaller began again at zero). Several series: the mean of changes, the sum of
 * rates.
 */
function rates(series: readonly Regrouped[], aggregate: string | undefined, granularity: number): Point[] {
  const changes = series.map((points) => {
    const found = new Map<number, number>();
    const inOrder = [...points].toSorted(([a], [b]) => a - b);
    inOrder.forEach(([at, period], index) => {
      const [before, previous] = inOrder[index - 1] ?? [];
      if (before === undefined || previous === undefined) return;
      if (aggregate === undefined) {
        const seconds = (period.lastAt - previous.lastAt) / 1000;
        const change = period.last < previous.last ? period.last : period.last - previous.last;
        if (seconds > 0) found.set(at, change / seconds);
      } else if (at - before === granularity) {
        found.set(at, valueOver([period], aggregate) - valueOver([previous], aggregate));
      }
    });
    return found;
  });
  return byTime(changes).map(([at, values]) => ({ at, value: aggregate === undefined ? sum(values) : mean(values) }));
}
