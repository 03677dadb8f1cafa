/**
 * The rows of a plan in the order in which they would be worked on, across nested stacks: what waits for a resource waits
 * for all that is nested in it.
 */
import type { PlannedChange } from '@anneal/contracts/scheduling.ts';

export interface PlannedTree {
  readonly row: Omit<PlannedChange, 'step'>;
  readonly name: string;
  /** Names of the rows beside it that come before. */
  readonly after: readonly string[];
  readonly inner: readonly PlannedTree[];
}

/** `trees`: each after those that it names. */
export function inOrder(trees: readonly PlannedTree[]): PlannedChange[] {
  const found: PlannedChange[] = [];
  place(trees, 1, found);
  return found.toSorted((a, b) => a.step - b.step);
}

/**
 * Gives the last step in which anything is done; `first - 1` when nothing is. What is deleted follows on all that stays,
 * and stands behind it.
 */
function place(trees: readonly PlannedTree[], first: number, found: PlannedChange[]): number {
  const ends = new Map<string, number>();
  let last = first - 1;
  let gone: number | undefined;
  for (const { row, name, after, inner } of trees) {
    if (row.change === 'delete') gone ??= last + 1;
    let step = row.change === 'delete' ? (gone ?? first) : first;
    for (const other of after) step = Math.max(step, (ends.get(other) ?? 0) + 1);
    found.push({ ...row, step });
    const end = Math.max(place(inner, step, found), row.change === 'unchanged' ? step - 1 : step);
    ends.set(name, end);
    last = Math.max(last, end);
  }
  return last;
}
