/**
 * Compares an adapter with its raw driver. The two run in turn, every second round in the other order. The ratio is the
 * median over the rounds, because other work on the machine slows down both sides of a pair.
 */
import type { LoadSample } from './load.ts';
import { percentiles, type Row } from './report.ts';

export interface BenchSide {
  readonly backend: string;
  readonly run: () => Promise<LoadSample>;
}

export async function pair(parameters: {
  bench: string;
  case: string;
  metric: string;
  unit: string;
  rounds: number;
  adapter: BenchSide;
  /** Undefined when the raw driver has no comparable work. */
  raw: BenchSide | undefined;
  /** An open loop has a fixed rate, so its results are the latencies. */
  withRatio?: boolean;
}): Promise<Row[]> {
  const { adapter, raw, rounds, withRatio = true } = parameters;
  const measured: { adapter: LoadSample[]; raw: LoadSample[] } = { adapter: [], raw: [] };
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? (['raw', 'adapter'] as const) : (['adapter', 'raw'] as const);
    for (const side of order) {
      const sample = await parameters[side]?.run();
      if (sample) measured[side].push(sample);
    }
  }
  const row = (backend: string, samples: readonly LoadSample[]): Row => ({
    bench: parameters.bench,
    case: parameters.case,
    backend,
    n: samples.reduce((sum, { done }) => sum + done, 0),
    metric: parameters.metric,
    unit: parameters.unit,
    value: median(samples.map(rateOf)),
    ...percentiles(samples.flatMap(({ latencies }) => latencies)),
    cpu: median(samples.map(({ cpuMicros }) => cpuMicros)),
  });
  const own = row(adapter.backend, measured.adapter);
  if (!raw) return [own];
  const ratios = measured.adapter.map((sample, round) => rateOf(sample) / rateOf(measured.raw[round]));
  return [{ ...own, ...(withRatio && { ratio: median(ratios) }) }, row(raw.backend, measured.raw)];
}

const rateOf = (sample: LoadSample | undefined): number => (sample ? sample.done / sample.seconds : Number.NaN);

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]];
  return (low + high) / 2;
}
