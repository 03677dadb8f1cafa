/** Tables without borders, easy to read and to cut. Drawing takes time proportional to the text. */
import stringWidth from 'string-width';
import { fitColumns, leastOfFirst, truncate, wrapWords } from './fit.ts';

export type Cell = string | number | boolean | null | undefined;

const between = 2;
/** A wider value shifts only its own line, because the columns to its right are beyond any terminal. */
const widest = 500;

/** `width`: fit it, with shorter values and fewer columns at the end. Without it, every value is whole. */
export function renderTable(parameters: {
  head?: readonly string[];
  rows: readonly (readonly Cell[])[];
  width?: number | undefined;
  /** The column that is neither left out nor cut. */
  key?: number | undefined;
  /** The column of sentences, which are below their row in full where they have no room in it. */
  note?: number | undefined;
}): string {
  const { width, key, note } = parameters;
  const head = parameters.head ? [parameters.head] : [];
  const rows = [...head, ...parameters.rows].map((row) => row.map(linesOf));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, lines] of row.entries()) {
      for (const line of lines) widths[column] = Math.min(widest, Math.max(widths[column] ?? 0, line.width));
    }
  }
  if (width === undefined) return rows.flatMap((row) => linesOfRow(row, widths)).join('\n');
  if (key !== undefined && head.length > 0 && needsOwnLine(widths, key, width)) return withKeyLines(parameters, key);
  const fitted = fitColumns(widths, { width, between, key, note });
  if (note !== undefined && fitted[note] === undefined) return withNotes(parameters, note);
  const shown = fitted.flatMap((room, column) => (room === undefined ? [] : { room, column }));
  return rows
    .map((row) => shown.map(({ room, column }) => (row[column] ?? []).map((line) => cut(line, room))))
    .flatMap((row) =>
      linesOfRow(
        row,
        shown.map(({ room }) => room),
      ),
    )
    .join('\n');
}

/** Whether a key in full leaves too little room for the first of the other columns. */
function needsOwnLine(widths: readonly number[], key: number, width: number): boolean {
  const first = widths.find((_, column) => column !== key);
  return first !== undefined && (widths[key] ?? 0) + between + Math.min(first, leastOfFirst) > width;
}

/** Each row in two lines: the other columns, and the key in full. A key that is the first column is the first line. */
function withKeyLines({ head = [], rows, width = 0 }: Parameters<typeof renderTable>[0], key: number): string {
  const others = (row: readonly Cell[]): Cell[] => row.filter((_, column) => column !== key);
  const indent = ' '.repeat(between);
  const lines = renderTable({
    head: others(head).map(String),
    rows: rows.map(others),
    width: key === 0 ? width - between : width,
  }).split('\n');
  return [head, ...rows]
    .flatMap((row, index) =>
      key === 0
        ? [textOf(row[key]), `${indent}${lines[index] ?? ''}`]
        : [lines[index] ?? '', `${indent}${textOf(row[key])}`],
    )
    .join('\n');
}

/** The table without the column of sentences, with each sentence below its row. */
function withNotes({ head = [], rows, width = 0 }: Parameters<typeof renderTable>[0], note: number): string {
  const others = (row: readonly Cell[]): Cell[] => row.filter((_, column) => column !== note);
  const lines = renderTable({ head: others(head).map(String), rows: rows.map(others), width }).split('\n');
  const indent = ' '.repeat(between);
  return [head, ...rows]
    .flatMap((row, index) => {
      const sentence = index === 0 ? '' : (row[note] ?? '');
      const below = sentence === '' ? [] : wrapWords(textOf(sentence), width - between).split('\n');
      return [lines[index] ?? '', ...below.map((line) => indent + line)];
    })
    .join('\n');
}

const cut = (line: Line, room: number): Line =>
  line.width <= room ? line : { text: truncate(line.text, room), width: room };

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
