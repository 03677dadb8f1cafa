/** Whether a command printed what its page shows. Values that differ in each run count as equal: ids, times, addresses. */

const varying: readonly [RegExp, string][] = [
  // oxlint-disable-next-line no-control-regex -- colours
  [/\u001b\[[0-9;]*m/g, ''],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<id>'],
  [/^[0-9a-f]{8}-[0-9a-f]{4}(?= {2})/gm, '<id>'],
  [/\b(?:run|sub|evt)-<id>/g, '<id>'],
  [/\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|\+00:00)?/g, '<time>'],
  [/\b(?:\d{1,2} [A-Z][a-z]{2} )?\d{2}:\d{2}:\d{2}(?:\.\d+)?\b/g, '<time>'],
  [/(?<![\w.])(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ms|s)\b/g, '<duration>'],
  [/\b127(?:\.\d+){3}(?::\d+)?/g, '<address>'],
  [/\blocalhost:\d+/g, '<address>'],
  [/-[a-z2-7]{12}\b/g, '-<name>'],
  [/\bmachine-\d+\b/g, '<machine>'],
  [/\b[0-9a-f]{32,}\b/g, '<hash>'],
  // Columns get the width of their widest value.
  [/ {2,}/g, ' '],
  [/\s+$/g, ''],
];

const equalise = (line: string): string => varying.reduce((text, [from, to]) => text.replace(from, to), line);

/** Lines of the progress of `--wait`: a terminal redraws its tree instead. They have a date when midnight has passed. */
const isProgress = (line: string): boolean => /^(?:\d{1,2} [A-Z][a-z]{2} )?\d{2}:\d{2}:\d{2} {2}/.test(line);

/** The lines of an output that a page shows, without blank lines at the end. @param timed also lines of progress */
export function shownLines(output: string, timed = false): string[] {
  const lines = output.split('\n').filter((line) => timed || !isProgress(line));
  while (lines.at(-1)?.trim() === '') lines.pop();
  return lines;
}

const fits = (expected: string, actual: string): boolean => {
  const parts = equalise(expected).split('…');
  if (parts.length === 1) return parts[0] === equalise(actual);
  return new RegExp(
    `^${parts.map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('.*')}$`,
  ).test(equalise(actual));
};

/**
 * Compares an output with the lines of a page.
 *
 * @param expected `…` in a line represents any text, a line of only `…` any lines
 * @returns nothing when they agree, else the first line of the page that the output lacks
 */
export function firstDifference(expected: readonly string[], output: string): string | undefined {
  const actual = shownLines(output, expected.some(isProgress));
  const wanted = [...expected];
  while (wanted.at(-1)?.trim() === '') wanted.pop();
  /** The furthest line of the page that any attempt reached. */
  let furthest = 0;
  const agrees = (want: number, at: number): boolean => {
    furthest = Math.max(furthest, want);
    if (want === wanted.length) return at === actual.length;
    if (wanted[want]?.trim() === '…') {
      for (let next = at; next <= actual.length; next += 1) if (agrees(want + 1, next)) return true;
      return false;
    }
    return at < actual.length && fits(wanted[want] ?? '', actual[at] ?? '') && agrees(want + 1, at + 1);
  };
  if (agrees(0, 0)) return undefined;
  return wanted[furthest] ?? '(the end of the output)';
}
