import { describe, expect, it } from 'vitest';
import { renderTable } from './table.ts';
import { formatAge, formatDuration } from '@anneal/client/text/time.ts';

describe('renderTable', () => {
  it('aligns columns without borders or trailing spaces', () => {
    const text = renderTable({
      head: ['NAME', 'STATE'],
      rows: [
        ['a', 'available'],
        ['longer', null],
      ],
    });
    expect(text.split('\n')).toEqual(['NAME    STATE', 'a       available', 'longer  -']);
  });

  it('keeps a multi-line value in its column', () => {
    expect(
      renderTable({
        rows: [
          ['a', '1\n2'],
          [true, 0],
        ],
      }).split('\n'),
    ).toEqual(['a    1', '     2', 'yes  0']);
  });

  it('aligns colors, wide characters and rows of different lengths', () => {
    const text = renderTable({
      head: ['\u001B[1mA\u001B[22m', 'B', 'C'],
      rows: [
        ['日本', 'x'],
        ['abc', 'y', 'z'],
      ],
    });
    expect(text.split('\n')).toEqual(['\u001B[1mA\u001B[22m     B  C', '日本  x', 'abc   y  z']);
  });

  it('prints long names and long values in full', () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `resource-${index} (OS::Heat::Value)`);
    const long = `“${'x'.repeat(1_000_000)}`;
    const lines = renderTable({
      rows: [
        ['resources', names.join('\n')],
        ['default', long, 1],
        ['next', 'a', 2],
      ],
    }).split('\n');
    expect(lines).toHaveLength(20_002);
    expect(lines[19_999]).toBe(`           ${names.at(-1)}`);
    expect(lines[20_000]).toBe(`default    ${long}  1`);
    expect(lines[20_001]).toMatch(/^next {7}a {500,600}2$/);
  });
});

describe('formatDuration', () => {
  it('formats every duration with at most two units', () => {
    const cases = [0, 400, 59_940, 59_960, 125_000, 3_599_600, 12_000_000, -5].map(formatDuration);
    expect(cases).toEqual(['0.0s', '0.4s', '59.9s', '1m00s', '2m05s', '1h00m', '3h20m', '0.0s']);
  });

  it('prints - for a missing time', () => {
    expect([formatAge(null, 0), formatAge('nonsense', 0)]).toEqual(['-', '-']);
  });
});
