/** Prints a comparison of two revisions. */
import { columns, figureText } from '../report.ts';
import type { ComparedFigure } from './compare.ts';

export function comparisonTable(compared: readonly ComparedFigure[]): string {
  const shown = (value: number | undefined): string => (value === undefined ? 'missing' : figureText(value));
  return columns([
    ['bench', 'case', 'backend', 'n', 'metric', 'unit', 'earlier', 'now', 'ratio', ''],
    ...compared.map(({ bench, case: name, backend, n, metric, unit, earlier, now, ratio, verdict }) => [
      bench,
      name,
      backend,
      String(n),
      metric,
      unit,
      shown(earlier),
      shown(now),
      ratio === undefined ? '' : ratio.toFixed(2),
      verdict === 'dearer' || verdict === 'cheaper' ? verdict : '',
    ]),
  ]);
}
