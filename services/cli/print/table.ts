/** Tables without borders: easy to read, easy to cut. */
import Table from 'cli-table3';

export type Cell = string | number | boolean | null | undefined;

const blank = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

export function renderTable(parameters: { head?: readonly string[]; rows: readonly (readonly Cell[])[] }): string {
  const table = new Table({
    chars: blank,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    ...(parameters.head && { head: [...parameters.head] }),
  });
  for (const row of parameters.rows) table.push(row.map(textOf));
  // The last column is padded too; blanks at a line's end only get in the way of who copies it.
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

const textOf = (cell: Cell): string => {
  if (cell === null || cell === undefined || cell === '') return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  // A tab has no width of its own, so it would push the columns apart.
  return String(cell).replaceAll('\t', '    ');
};
