import { describe, expect, it } from 'vitest';
import { renderTable } from './table.ts';
import { formatAge, formatDuration } from './time.ts';

describe('renderTable', () => {
  it('aligns columns without borders and without blanks at the end', () => {
    const text = renderTable({
      head: ['NAME', 'STATE'],
      rows: [
        ['a', 'available'],
        ['longer', null],
      ],
    });
    expect(text.split('\n')).toEqual(['NAME    STATE', 'a       available', 'longer  -']);
  });

  it('shows a value of several lines in its column', () => {
    expect(
      renderTable({
        rows: [
          ['a', '1\n2'],
          [true, 0],
        ],
      }).split('\n'),
    ).toEqual(['a    1', '     2', 'yes  0']);
  });
});

describe('formatDuration', () => {
  it('is short at every length', () => {
    const cases = [0, 400, 59_940, 59_960, 125_000, 3_599_600, 12_000_000, -5].map(formatDuration);
    expect(cases).toEqual(['0.0s', '0.4s', '59.9s', '1m00s', '2m05s', '1h00m', '3h20m', '0.0s']);
  });

  it('knows never', () => {
    expect([formatAge(null, 0), formatAge('nonsense', 0)]).toEqual(['-', '-']);
  });
});
