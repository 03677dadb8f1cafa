/** The size of a group over time, as points of a chart. Pure. */

/** One change of a size. */
export interface SizeChange {
  /** ISO 8601. */
  readonly at: string;
  readonly before: number;
  readonly after: number;
}

/** A chart of `width` by `height`, with its origin at the top left. */
export interface SizeChart {
  readonly points: readonly (readonly [x: number, y: number])[];
  readonly from: number;
  readonly most: number;
}

/**
 * The steps from some time before the first change until now, at the places of their times. Undefined without a change.
 *
 * @param changes the newest first
 * @param now milliseconds since the epoch
 */
export function sizeSteps(
  changes: readonly SizeChange[],
  { now, width, height }: { now: number; width: number; height: number },
): SizeChart | undefined {
  const ordered = changes.toReversed();
  const [first] = ordered;
  if (!first) return undefined;
  const begin = Date.parse(first.at);
  // The size before the first change shows too.
  const from = begin - Math.max(1_000, (now - begin) * 0.05);
  const most = Math.max(1, ...ordered.flatMap(({ before, after }) => [before, after]));
  const x = (time: number): number => (width * (Math.min(time, now) - from)) / (now - from);
  const y = (size: number): number => height - (height * size) / most;
  const points: [number, number][] = [[0, y(first.before)]];
  for (const { at, after } of ordered) {
    const [, last = 0] = points.at(-1) ?? [];
    points.push([x(Date.parse(at)), last], [x(Date.parse(at)), y(after)]);
  }
  const [, last = 0] = points.at(-1) ?? [];
  points.push([width, last]);
  return { points, from, most };
}
