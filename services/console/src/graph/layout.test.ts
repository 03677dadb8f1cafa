import { describe, expect, it } from 'vitest';
import { requiredFirst, layOut } from './layout.ts';

const columnsOf = (required: Record<string, string[]>): Record<string, number> =>
  Object.fromEntries(layOut(new Map(Object.entries(required))).boxes.map(({ name, column }) => [name, column]));

describe('the layout of a graph', () => {
  it('places each resource right of everything that it requires', () => {
    expect(columnsOf({ db: ['schema'], schema: ['app'], web: ['app'], app: [] })).toEqual({
      db: 0,
      schema: 1,
      web: 0,
      app: 2,
    });
  });

  it('ends on a cycle and ignores names that are not there', () => {
    const { boxes, edges } = layOut(
      new Map([
        ['a', ['b', 'gone']],
        ['b', ['a']],
      ]),
    );
    expect(boxes).toHaveLength(2);
    expect(edges.length).toBeLessThanOrEqual(1);
  });

  it('puts chains beside each other without crossing lines', () => {
    const { boxes } = layOut(
      new Map([
        ['a1', ['a2']],
        ['b1', ['b2']],
        ['b2', []],
        ['a2', []],
      ]),
    );
    const row = new Map(boxes.map(({ name, row: at }) => [name, at]));
    expect(row.get('a1')).toBe(row.get('a2'));
    expect(row.get('b1')).toBe(row.get('b2'));
  });

  it('gives every one of 3,000 resources a place of its own', () => {
    const required = new Map<string, string[]>();
    for (let index = 0; index < 3000; index += 1) required.set(`r${index}`, index % 10 === 9 ? [] : [`r${index + 1}`]);
    const { boxes, columns, rows } = layOut(required);
    expect([columns, rows]).toEqual([10, 300]);
    expect(new Set(boxes.map(({ column, row }) => `${column} ${row}`)).size).toBe(3000);
  });

  it('places a chain of 20,000, each in a column of its own', () => {
    const chain = new Map(Array.from({ length: 20_000 }, (_, at) => [`r${at}`, [`r${at + 1}`]]));
    expect(layOut(chain)).toMatchObject({ columns: 20_000, rows: 1 });
    expect(requiredFirst(new Map([...chain].toReversed()))).toEqual([...chain.keys()]);
  });
});
