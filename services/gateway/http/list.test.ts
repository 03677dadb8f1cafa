import { describe, expect, it } from 'vitest';
import { takePage, type WantedRows } from './list.ts';

interface Row {
  readonly id: string;
  readonly size: number | null;
  readonly name: string;
}
const rows: Row[] = [
  { id: '1', size: 10, name: 'b' },
  { id: '2', size: 9, name: 'a' },
  { id: '3', size: null, name: 'b' },
  { id: '4', size: 10, name: 'a' },
];
const form = { idOf: ({ id }: Row) => id };
const ids = (wanted: WantedRows<Row>) => takePage(rows, wanted, form).rows.map(({ id }) => id);

describe('a page of a list', () => {
  it('is sorted by each key in turn, numbers by size and null first', () => {
    const size = ({ size: bytes }: Row) => bytes;
    expect(ids({ order: [{ of: size }] })).toEqual(['3', '2', '1', '4']);
    expect(ids({ order: [{ of: ({ name }) => name }, { of: size, isDescending: true }] })).toEqual([
      '4',
      '2',
      '1',
      '3',
    ]);
    expect(ids({ order: [{ of: size, isDescending: true }] })).toEqual(['1', '4', '2', '3']);
  });

  it('leads through all fitting rows by its marker, each once, and has no marker at the end', () => {
    const seen: string[] = [];
    for (let marker: string | undefined; ;) {
      const page = takePage(rows, { fits: ({ size }) => size !== 9, limit: 1, marker }, form);
      seen.push(...page.rows.map(({ id }) => id));
      marker = page.next;
      if (marker === undefined) break;
    }
    expect(seen).toEqual(['1', '3', '4']);
  });

  it('refuses a marker that no row has, in the way of the API', () => {
    expect(() => takePage(rows, { marker: 'x' }, form)).toThrow('The marker x is not in the list');
    expect(() => takePage(rows, { marker: 'x' }, { ...form, unknownMarker: 'InvalidRequest' })).toThrow(
      expect.objectContaining({ code: 'InvalidRequest' }),
    );
    expect(takePage(rows, { marker: 'x' }, { ...form, unknownMarker: 'ignored' }).rows).toHaveLength(4);
  });
});
