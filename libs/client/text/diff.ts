/** The difference of two texts by lines. Pure. */
export interface DiffLine {
  readonly kind: 'same' | 'removed' | 'added';
  readonly text: string;
}

/** Above this many different lines, the parts are shown whole, because a finer difference of so many lines helps no reader. */
const mostChanges = 400;

/** The shortest way from one list of lines to another, after Myers. Costs time by the number of differences. */
function shortestWay(left: readonly string[], right: readonly string[]): DiffLine[] | undefined {
  const most = Math.min(left.length + right.length, mostChanges);
  const traces: Map<number, number>[] = [];
  const best = new Map<number, number>([[1, 0]]);
  const at = (k: number): number => best.get(k) ?? -1;
  for (let depth = 0; depth <= most; depth += 1) {
    traces.push(new Map(best));
    for (let k = -depth; k <= depth; k += 2) {
      let x = k === -depth || (k !== depth && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
      while (x < left.length && x - k < right.length && left[x] === right[x - k]) x += 1;
      best.set(k, x);
      if (x >= left.length && x - k >= right.length) return walkBack({ left, right, traces });
    }
  }
  return undefined;
}

function walkBack(of: {
  left: readonly string[];
  right: readonly string[];
  traces: readonly Map<number, number>[];
}): DiffLine[] {
  const { left, right, traces } = of;
  const lines: DiffLine[] = [];
  let [x, y] = [left.length, right.length];
  for (let depth = traces.length - 1; depth >= 0; depth -= 1) {
    const best = traces[depth] ?? new Map<number, number>();
    const at = (k: number): number => best.get(k) ?? -1;
    const k = x - y;
    const before = k === -depth || (k !== depth && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
    const fromX = depth === 0 ? 0 : at(before);
    const fromY = depth === 0 ? 0 : fromX - before;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      lines.push({ kind: 'same', text: left[x] ?? '' });
    }
    if (depth === 0) break;
    if (x > fromX) lines.push({ kind: 'removed', text: left[--x] ?? '' });
    else if (y > fromY) lines.push({ kind: 'added', text: right[--y] ?? '' });
  }
  return lines.reverse();
}

/** The lines of both texts in order, each with the sides that have it. */
export function diffLines(before: string, after: string): readonly DiffLine[] {
  const [left, right] = [before.split('\n'), after.split('\n')];
  return (
    shortestWay(left, right) ?? [
      ...left.map((text) => ({ kind: 'removed' as const, text })),
      ...right.map((text) => ({ kind: 'added' as const, text })),
    ]
  );
}

/** Runs of lines: those that differ with some lines around them, and the number of those that are left out. */
export function hunksOf(lines: readonly DiffLine[], around = 3): readonly (readonly DiffLine[] | number)[] {
  const isNear = lines.map(() => false);
  for (const [index, { kind }] of lines.entries()) {
    if (kind === 'same') continue;
    for (let near = Math.max(0, index - around); near <= Math.min(lines.length - 1, index + around); near += 1)
      isNear[near] = true;
  }
  const hunks: (DiffLine[] | number)[] = [];
  for (const [index, line] of lines.entries()) {
    const last = hunks.at(-1);
    if (isNear[index]) {
      if (Array.isArray(last)) last.push(line);
      else hunks.push([line]);
    } else if (typeof last === 'number') hunks[hunks.length - 1] = last + 1;
    else hunks.push(1);
  }
  return hunks;
}
