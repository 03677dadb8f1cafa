/** Tables without borders, easy to read and to cut. Drawing takes time proportional to the text. */
import stringWidth from 'string-width';

export type Cell = string | number | boolean | null | undefined;

const between = 2;
/** A wider value shifts only its own line, because the columns to its right are beyond any terminal. */
const widest = 500;

export function renderTable(parameters: { head?: readonly string[]; rows: readonly (readonly Cell[])[] }): string {
  const head = parameters.head ? [parameters.head] : [];
  const rows = [...head, ...parameters.rows].map((row) => row.map(linesOf));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, lines] of row.entries()) {
      for (const { width } of lines) widths[column] = Math.min(widest, Math.max(widths[column] ?? 0, width));
    }
  }
  return rows.flatMap((row) => linesOfRow(row, widths)).join('\n');
}

interface Line {
  readonly text: string;
  /** In terminal columns: colors take none, some characters take two. */
  readonly width: number;
}

/** As many lines as the tallest cell has, without trailing blanks. */
function linesOfRow(row: readonly (readonly Line[])[], widths: readonly number[]): string[] {
  const height = Math.max(...row.map((lines) => lines.length));
  return Array.from({ length: height }, (_, index) => {
    let drawn = '';
    let blanks = 0;
    for (const [column, lines] of row.entries()) {
      const { text, width } = lines[index] ?? { text: '', width: 0 };
      if (text !== '') {
        drawn += ' '.repeat(blanks) + text;
        blanks = 0;
      }
      blanks += Math.max(0, (widths[column] ?? 0) - width) + between;
    }
    return drawn.trimEnd();
  });
}

const linesOf = (cell: Cell): Line[] =>
  textOf(cell)
    .split('\n')
    .map((text) => ({ text, width: stringWidth(text) }));

const textOf = (cell: Cell): string => {
  if (cell === null || cell === undefined || cell === '') return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  // A tab has no width of its own, so it would push the columns apart.
  return String(cell).replaceAll('\t', '    ');
};
