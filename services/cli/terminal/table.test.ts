import { describe, expect, it } from 'vitest';
import { renderTable } from './table.ts';
import { formatAge, formatClock, formatDuration } from '@anneal/client/text/time.ts';

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

it('renderTable shows sentences below their row where the terminal has no room beside it', () => {
  const table = {
    head: ['NAME', 'STATUS', 'AGE', 'WHY', 'ID'],
    rows: [
      [
        'web',
        'CREATE_IN_PROGRESS',
        '3.0s',
        'server waits for a node: no node has the trait CUSTOM_GPU.',
        '0198c9f0-0000',
      ],
      ['database', 'CREATE_COMPLETE', '1h00m', undefined, '0198c9f0-0001'],
    ],
    note: 3,
  };
  expect(renderTable({ ...table, width: 40 }).split('\n')).toEqual([
    'NAME      STATUS              AGE',
    'web       CREATE_IN_PROGRESS  3.0s',
    '  server waits for a node: no node has',
    '  the trait CUSTOM_GPU.',
    'database  CREATE_COMPLETE     1h00m',
  ]);
  expect(renderTable({ ...table, width: 80 }).split('\n')).toEqual([
    'NAME      STATUS              AGE    WHY',
    'web       CREATE_IN_PROGRESS  3.0s   server waits for a node: no node has the t…',
    'database  CREATE_COMPLETE     1h00m  -',
  ]);
});

describe('formatDuration', () => {
  it('formats every duration with at most two units', () => {
    const cases = [0, 400, 59_940, 59_960, 125_000, 3_599_600, 12_000_000, 172_800_000, 1_051_200_000, -5].map(
      formatDuration,
    );
    expect(cases).toEqual(['0.0s', '0.4s', '59.9s', '1m00s', '2m05s', '1h00m', '3h20m', '2d00h', '12d04h', '0.0s']);
  });

  it('prints an age in whole seconds, and - for a missing time', () => {
    const now = Date.parse('2030-01-01T00:01:00Z');
    expect(formatAge('2030-01-01T00:00:13.600Z', now)).toBe('46s');
    expect(formatAge('2030-01-01T00:00:00Z', now)).toBe('1m00s');
    expect([formatAge(null, 0), formatAge('nonsense', 0)]).toEqual(['-', '-']);
  });
});

describe('formatClock', () => {
  it('prints the date of another day, and the year of another year', () => {
    const now = new Date(2030, 10, 3, 12).getTime();
    const clock = (...[year, month, day, hour]: [number, number, number, number]): string =>
      formatClock(new Date(year, month, day, hour, 4, 5).toISOString(), now);
    expect([clock(2030, 10, 3, 23), clock(2030, 10, 4, 9), clock(2029, 10, 3, 12), formatClock('soon')]).toEqual([
      '23:04:05',
      '4 Nov 09:04:05',
      '3 Nov 2029 12:04:05',
      'soon',
    ]);
  });
});
