/** Compares the figures of two revisions that ran in turn. */
import type { Row } from '../report.ts';

/** One figure of a case. */
export interface ComparedFigure {
  readonly bench: string;
  readonly case: string;
  readonly backend: string;
  readonly n: number;
  readonly metric: string;
  readonly unit: string;
  /** The median of the rounds. Undefined when the revision lacks the bench or the case. */
  readonly earlier: number | undefined;
  readonly now: number | undefined;
  /** `now` divided by `earlier`. */
  readonly ratio: number | undefined;
  readonly verdict: 'dearer' | 'cheaper' | 'same' | 'missing';
}

/** A smaller difference does not count. */
const tolerance = 1.05;

/** @param sides the rows of each round, of the earlier revision and of this one */
export function compareRounds({
  earlier,
  now,
}: {
  earlier: readonly Row[][];
  now: readonly Row[][];
}): ComparedFigure[] {
  const before = figuresOf(earlier);
  const after = figuresOf(now);
  return [...new Set([...after.keys(), ...before.keys()])].map((key) => {
    const [one, other] = [before.get(key), after.get(key)];
    const figure = (other ?? one)?.figure;
    if (!figure) throw new Error(`There is no figure ${key}.`);
    const [earlierSamples, nowSamples] = [one?.samples ?? [], other?.samples ?? []];
    const [earlierMedian, nowMedian] = [medianOf(earlierSamples), medianOf(nowSamples)];
    const ratio = earlierMedian === undefined || nowMedian === undefined ? undefined : nowMedian / earlierMedian;
    const verdict = ratio === undefined ? 'missing' : verdictOf(figure.unit, earlierSamples, nowSamples, ratio);
    return { ...figure, earlier: earlierMedian, now: nowMedian, ratio, verdict };
  });
}

type Figure = Pick<ComparedFigure, 'bench' | 'case' | 'backend' | 'n' | 'metric' | 'unit'>;

function figuresOf(rounds: readonly Row[][]): Map<string, { figure: Figure; samples: number[] }> {
  const found = new Map<string, { figure: Figure; samples: number[] }>();
  const add = (figure: Figure, value: number): void => {
    const key = JSON.stringify(figure);
    const { samples } = found.get(key) ?? { samples: [] };
    found.set(key, { figure, samples: [...samples, value] });
  };
  for (const { bench, case: name, backend, n, metric, unit, value, cpu } of rounds.flat()) {
    const figure = { bench, case: name, backend, n, metric, unit };
    add(figure, value);
    if (cpu !== undefined) add({ ...figure, metric: `${metric}, processor`, unit: 'µs' }, cpu);
  }
  return found;
}

function medianOf(samples: readonly number[]): number | undefined {
  const sorted = samples.toSorted((one, other) => one - other);
  const [low, high] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[Math.floor(sorted.length / 2)]];
  return low === undefined || high === undefined ? undefined : (low + high) / 2;
}

/**
 * A difference counts when it is more than the tolerance, and no round of one side is within the rounds of the other. One
 * round does not show how far they spread.
 */
function verdictOf(
  unit: string,
  earlier: readonly number[],
  now: readonly number[],
  ratio: number,
): ComparedFigure['verdict'] {
  if (Math.min(earlier.length, now.length) < 2) return 'same';
  // More work a second is better; less of anything else is.
  const isRate = unit.endsWith('/s');
  const isAbove = Math.min(...now) > Math.max(...earlier) && ratio > tolerance;
  const isBelow = Math.max(...now) < Math.min(...earlier) && ratio < 1 / tolerance;
  if (!isAbove && !isBelow) return 'same';
  return isAbove === isRate ? 'cheaper' : 'dearer';
}
