/** Converts an offset in a text to a line and column, both counted from 1. */

/**
 * Returns a function from an offset to its line and column. Offsets in growing order cost constant time, others
 * logarithmic.
 */
export function lineTable(text: string): (offset: number) => { line: number; column: number } {
  const starts = [0];
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  // Callers mostly ask for positions in the order of the text.
  let last = 0;
  return (offset) => {
    if ((starts[last] ?? 0) > offset || (starts[last + 50] ?? Infinity) <= offset) last = search(starts, offset);
    while ((starts[last + 1] ?? Infinity) <= offset) last += 1;
    return { line: last + 1, column: offset - (starts[last] ?? 0) + 1 };
  };
}

/** Returns the last line start at or before the offset. */
function search(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}
