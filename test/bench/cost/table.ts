/** The table of docs/reference/cost.md. */
import { figureText, type Row } from '../report.ts';
import { kinds } from './meter.ts';

/** Differences of two counts that were not exactly equal, such as -0.002 messages, are none. */
const least = 0.01;
const shown = (value: number | undefined): string =>
  value === undefined ? '' : Math.abs(value) < least ? '0' : figureText(value);

export function costTable(rows: readonly Row[]): string {
  const titles = Object.values(kinds).map(({ title, unit }) => (unit === '' ? title : `${title}, ${unit}`));
  const things = [...new Set(rows.map((row) => row.case))];
  const lineOf = (thing: string): string[] => [
    thing,
    ...Object.values(kinds).map(({ title }) =>
      shown(rows.find((row) => row.case === thing && row.metric === title)?.value),
    ),
  ];
  const lines = [['thing', ...titles], ['---', ...titles.map(() => '--:')], ...things.map(lineOf)];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
