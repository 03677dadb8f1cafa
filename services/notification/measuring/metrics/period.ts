/**
 * The statistics of the values of one period. They merge without loss: a sketch counts values in buckets whose bounds
 * grow by a constant factor, so a percentile of any number of merged periods is exact to 1 %. Pure.
 */

/** Two values in one bucket differ by at most this share of them. */
const accuracy = 0.01;
const gamma = (1 + accuracy) / (1 - accuracy);
const logGamma = Math.log(gamma);
/** Values nearer to zero count as zero. */
const least = 1e-9;

export interface Period {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
  /** The value with the latest time, and that time in milliseconds. */
  readonly last: number;
  readonly lastAt: number;
  /** Counts by bucket. Empty while all values are equal. */
  readonly buckets: ReadonlyMap<number, number>;
}

/** Bucket 0 holds zero; bucket k > 0 holds values up to gamma^(k - offset), and bucket -k their negatives. */
const offset = Math.ceil(-Math.log(least) / logGamma) + 1;

function bucketOf(value: number): number {
  const size = Math.abs(value);
  if (size <= least) return 0;
  const index = Math.ceil(Math.log(size) / logGamma) + offset;
  return value > 0 ? index : -index;
}

function valueOf(bucket: number): number {
  if (bucket === 0) return 0;
  const size = (2 * gamma ** (Math.abs(bucket) - offset)) / (gamma + 1);
  return bucket > 0 ? size : -size;
}

export const periodOf = (value: number, at: number): Period => ({
  count: 1,
  sum: value,
  min: value,
  max: value,
  last: value,
  lastAt: at,
  buckets: new Map(),
});

/** The buckets of a period, also of one whose values are all equal. */
const bucketsOf = ({ count, min, buckets }: Period): ReadonlyMap<number, number> =>
  buckets.size > 0 ? buckets : new Map([[bucketOf(min), count]]);

/** The statistics of the values of both. */
export function mergePeriods(a: Period, b: Period): Period {
  const min = Math.min(a.min, b.min);
  const max = Math.max(a.max, b.max);
  const later = b.lastAt >= a.lastAt ? b : a;
  const merged = { count: a.count + b.count, sum: a.sum + b.sum, min, max, last: later.last, lastAt: later.lastAt };
  if (min === max) return { ...merged, buckets: new Map() };
  const buckets = new Map(bucketsOf(a));
  for (const [bucket, count] of bucketsOf(b)) buckets.set(bucket, (buckets.get(bucket) ?? 0) + count);
  return { ...merged, buckets };
}

/** The value below which `percent` of the values are, by the nearest rank. */
export function percentileOf(period: Period, percent: number): number {
  const rank = Math.max(1, Math.ceil((percent / 100) * period.count));
  if (rank === period.count) return period.max;
  let seen = 0;
  for (const [bucket, count] of [...bucketsOf(period)].toSorted(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= rank) return Math.min(Math.max(valueOf(bucket), period.min), period.max);
  }
  return period.max;
}

/** A period as a document stores it: `[value, at]` for one value, otherwise all statistics and the buckets in pairs. */
export type StoredPeriod = readonly number[];

export function toStored({ count, sum, min, max, last, lastAt, buckets }: Period): StoredPeriod {
  return count === 1 ? [last, lastAt] : [last, lastAt, count, sum, min, max, ...[...buckets].flat()];
}

export function fromStored([last = 0, lastAt = 0, count, sum = 0, min = 0, max = 0, ...pairs]: StoredPeriod): Period {
  if (count === undefined) return periodOf(last, lastAt);
  const buckets = new Map<number, number>();
  for (let index = 0; index + 1 < pairs.length; index += 2) buckets.set(pairs[index] ?? 0, pairs[index + 1] ?? 0);
  return { count, sum, min, max, last, lastAt, buckets };
}
