/**
 * Rows of a preview in the order of the work, across nested stacks. A resource that waits for a nested stack waits for
 * all rows inside it.
 */
import type { PlannedChange } from '@anneal/contracts/calls/previews.ts';

/** A row of a preview with the rows inside its nested stack. */
export interface PlannedTree {
  readonly row: Omit<PlannedChange, 'step'>;
  readonly name: string;
  /** Names of the rows of the same stack that come before this one. */
  readonly after: readonly string[];
  readonly inner: readonly PlannedTree[];
}

/** `trees`: in an order where each comes after the ones it names. */
export function inOrder(trees: readonly PlannedTree[]): PlannedChange[] {
  const found: PlannedChange[] = [];
  place(trees, 1, found);
  return found.toSorted((a, b) => a.step - b.step);
}

/**
 * Returns the last step that changes anything; `first - 1` when no step does. Deletions come after all resources that
 * stay, in the steps and in the list.
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
