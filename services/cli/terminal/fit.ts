/** Fits texts to the width of a terminal. Colors take no width, and some characters take two columns. */
import stringWidth from 'string-width';

// oxlint-disable-next-line no-control-regex -- it exists to find them
const pieces = /\u001b\[[\d;]*m|[^\u001b]+|\u001b/g;
/** Made on demand, because it loads the data of all scripts. */
let segmenter: Intl.Segmenter | undefined;
function graphemesOf(text: string): Iterable<{ readonly segment: string }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

/** The text, or its begin and `…`. It keeps every color code, so that a color ends where it ended. */
export function truncate(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let cut = '';
  let room = width - 1;
  for (const [piece] of text.matchAll(pieces)) {
    if (piece.startsWith('\u001b[')) {
      cut += piece;
      continue;
    }
    if (room < 0) continue;
    for (const { segment } of graphemesOf(piece)) {
      const taken = stringWidth(segment);
      if (taken > room) {
        cut += '…';
        room = -1;
        break;
      }
      cut += segment;
      room -= taken;
    }
  }
  return cut;
}

/** The text in lines of at most this width, broken between words. A longer word stays whole, so that it can be copied. */
export const wrapWords = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap((line) => (stringWidth(line) <= width ? [line] : wrapped(line.split(' '), width)))
    .join('\n');

/** The same for sentences: further lines are indented below their first one, and a command stays whole. */
export const wrapProse = (text: string, width: number): string =>
  text
    .split('\n')
    .flatMap((line) => {
      if (stringWidth(line) <= width) return [line];
      const [branches = ''] = treeBranches.exec(line) ?? [];
      const hang = ' '.repeat(Math.min(stringWidth(branches), Math.floor(width / 2)) + 2);
      const words = line.slice(branches.length).match(wordOrCommand) ?? [];
      return wrapped(words, width - hang.length).map((each, at) => (at === 0 ? branches : hang) + each);
    })
    .join('\n');

const treeBranches = /^[ └├│─]*/;
/** The last alternative is a second space between two columns. */
const wordOrCommand = /[`(]?(?:npx )?\banneal(?: [^ ;`]+)+[^ ]*|[^ ]+|(?<= )(?= )/g;

function wrapped(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let last = '';
  for (const word of words) {
    const longer = last === '' ? word : `${last} ${word}`;
    if (last !== '' && stringWidth(longer) > width) {
      lines.push(last.trimEnd());
      last = word;
    } else last = longer;
  }
  return [...lines, last];
}

/** The first column says most, so it is cut last. */
export const leastOfFirst = 24;
/** The width of the states that most rows have, such as CREATE_COMPLETE: half a state says little. */
const leastOfOthers = 15;
/** With less, a sentence says nothing. */
const leastOfNote = 40;
const leastOfAny = 4;

/**
 * The width of each column that fits. The columns at the end, which matter least, are left out first (undefined). The
 * first column and `key`, by which commands name a row, always stay; `key` stays whole, so that it can be copied.
 */
export function fitColumns(
  natural: readonly number[],
  {
    width,
    between,
    key,
    note,
  }: { width: number; between: number; key?: number | undefined; note?: number | undefined },
): (number | undefined)[] {
  const least = natural.map((one, column) => {
    if (column === key) return one;
    return Math.min(one, column === 0 ? leastOfFirst : column === note ? leastOfNote : leastOfOthers);
  });
  const widths: (number | undefined)[] = [...natural];
  const total = (of: readonly number[]): number => {
    const shown = of.filter((_, column) => widths[column] !== undefined);
    return shown.reduce((sum, one) => sum + one, 0) + between * (shown.length - 1);
  };
  for (let column = natural.length - 1; column > 0 && total(least) > width; column -= 1) {
    if (column !== key && (key !== undefined || column > 1)) widths[column] = undefined;
  }
  for (const floor of [least, least.map((one, column) => (column === key ? one : Math.min(one, leastOfAny)))]) {
    // Level the widest columns, so that a short one keeps its place.
    let excess = total(widths.map((one) => one ?? 0)) - width;
    while (excess > 0) {
      const [widest] = [...widths.keys()]
        .filter((column) => (widths[column] ?? 0) > (floor[column] ?? 0))
        .toSorted((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
      if (widest === undefined) break;
      const next = Math.max(
        floor[widest] ?? 0,
        (widths[widest] ?? 0) - excess,
        ...[...widths.keys()]
          .filter((column) => (widths[column] ?? 0) < (widths[widest] ?? 0))
          .map((column) => widths[column] ?? 0)
          .filter((one) => one >= (floor[widest] ?? 0)),
      );
      excess -= (widths[widest] ?? 0) - next;
      widths[widest] = next;
    }
  }
  return widths;
}
