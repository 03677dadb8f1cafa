import { stripVTControlCharacters } from 'node:util';
import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { fitColumns, truncate, wrapProse, wrapWords } from './fit.ts';
import { renderTable } from './table.ts';

const id = '0198c2f1-7a55-7cc3-9c1b-0f6a3c5b9e11';
const head = ['NAME', 'STATE', 'POWER', 'CLASS', 'SERVER', 'ID'];
const rows = [
  ['machine-1-with-a-long-name-in-rack-7', '\u001b[32mavailable\u001b[39m', 'power on', 'baremetal', id, id],
  ['日本語のとても長い名前のマシンです', 'active', 'power off', 'gold', null, id],
];

describe('a table on a terminal', () => {
  it.each([40, 80, 120, 200])('is never wider than %i columns', (width) => {
    const lines = renderTable({ head, rows, width }).split('\n');
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(width);
    expect(lines).toHaveLength(3);
  });

  it('leaves out the last columns first, and shortens the others with …', () => {
    const narrow = stripVTControlCharacters(renderTable({ head, rows, width: 40 }));
    expect(narrow.split('\n')).toEqual([
      'NAME                           STATE',
      'machine-1-with-a-long-name-i…  available',
      '日本語のとても長い名前のマシ…  active',
    ]);
    expect(renderTable({ head, rows, width: 200 })).toBe(renderTable({ head, rows }));
  });

  it('keeps the column by which commands name a row, in full', () => {
    const text = renderTable({ head, rows, width: 80, key: 5 });
    expect(
      text
        .split('\n')
        .slice(1)
        .every((line) => line.includes(id)),
    ).toBe(true);
    expect(renderTable({ head, rows, width: 40, key: 5 })).toContain(id);
  });

  it('gives a key that leaves no room for the other columns a line of its own', () => {
    const short = { head: ['NAME', 'STATE', 'ID'], rows: [['web', 'active', id]] };
    expect(renderTable({ ...short, width: 40, key: 2 }).split('\n')).toEqual([
      'NAME  STATE',
      '  ID',
      'web   active',
      `  ${id}`,
    ]);
    const queues = { head: ['NAME', 'KIND', 'DEPTH'], rows: [[`${id}.requests`, 'host', 3]] };
    expect(renderTable({ ...queues, width: 48, key: 0 }).split('\n')).toEqual([
      'NAME',
      '  KIND  DEPTH',
      `${id}.requests`,
      '  host  3',
    ]);
    expect(renderTable({ ...short, width: 60, key: 2 }).split('\n')).toHaveLength(2);
  });

  it('gives a short column the room that it needs before a long one', () => {
    expect(fitColumns([10, 100, 20], { width: 60, between: 2 })).toEqual([10, 26, 20]);
    expect(fitColumns([10, 20], { width: 60, between: 2 })).toEqual([10, 20]);
  });
});

it('truncate ends a color where it ended', () => {
  expect(truncate('\u001b[32mavailable\u001b[39m', 5)).toBe('\u001b[32mavai…\u001b[39m');
  expect(truncate('short', 5)).toBe('short');
});

it('wrapWords breaks between words only', () => {
  expect(wrapWords(`see ${id} and more words`, 20)).toBe(`see\n${id}\nand more words`);
});

describe('sentences on a terminal', () => {
  it('break between words, with further lines below the first one of a tree', () => {
    const text = '  └ resource web: waits for a node that fits\nshort';
    expect(wrapProse(text, 24).split('\n')).toEqual([
      '  └ resource web:',
      '      waits for a node',
      '      that fits',
      'short',
    ]);
    expect(wrapProse(text, 200)).toBe(text);
  });

  it('keep a command and a long word whole, so that they can be copied, and two spaces between columns', () => {
    const command = 'anneal stack events first --follow';
    expect(wrapProse(`Creating first. Follow it with: \`${command}\`; then rest`, 30).split('\n')).toEqual([
      'Creating first. Follow it',
      '  with:',
      `  \`${command}\`;`,
      '  then rest',
    ]);
    expect(wrapProse('12:00:01  stack.create.started  web  started', 34).split('\n')).toEqual([
      '12:00:01  stack.create.started',
      '  web  started',
    ]);
  });
});
