/** A table of any length: only the visible rows are in the page. Sorted by a column, filtered by words. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState, type ReactNode } from 'react';

export interface Column<T> {
  readonly name: string;
  readonly cell: (row: T) => ReactNode;
  /** What the column sorts by. Without it, it does not sort. */
  readonly sort?: (row: T) => number | string;
  readonly isNumber?: boolean;
  /** Left out on a small screen. */
  readonly isExtra?: boolean;
}

const rowHeight = 35;

export function Table<T>(props: {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  empty: ReactNode;
}) {
  const { label, rows, columns, keyOf, empty } = props;
  const view = useRef<HTMLDivElement>(null);
  const [order, setOrder] = useState<{ name: string; isUp: boolean }>();
  const shown = useMemo(
    () => sorted(rows, columns.find(({ name }) => name === order?.name)?.sort, order?.isUp),
    [rows, columns, order],
  );
  const virtual = useVirtualizer({
    count: shown.length,
    getScrollElement: () => view.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  if (rows.length === 0) return <>{empty}</>;
  const sortBy = (name: string) => setOrder((last) => ({ name, isUp: last?.name === name ? !last.isUp : true }));
  return (
    <div className="table-view" ref={view} tabIndex={0} role="region" aria-label={label}>
      <table className="table" aria-rowcount={shown.length + 1}>
        <thead>
          <tr>
            {columns.map(({ name, sort, isNumber, isExtra }) => (
              <th
                key={name}
                scope="col"
                className={`${isNumber ? 'number' : ''} ${isExtra ? 'wide-only' : ''}`}
                aria-sort={order?.name === name ? (order.isUp ? 'ascending' : 'descending') : undefined}
              >
                {sort ? (
                  <button type="button" onClick={() => sortBy(name)}>
                    {name} {order?.name === name ? (order.isUp ? '↑' : '↓') : ''}
                  </button>
                ) : (
                  name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {before > 0 && (
            <tr className="gap" aria-hidden="true">
              <td style={{ height: before }} />
            </tr>
          )}
          {items.map(({ index }) => {
            const row = shown[index];
            if (row === undefined) return null;
            return (
              <tr key={keyOf(row)} aria-rowindex={index + 2}>
                {columns.map(({ name, cell, isNumber, isExtra }) => (
                  <td key={name} className={`${isNumber ? 'number' : ''} ${isExtra ? 'wide-only' : ''}`}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          {after > 0 && (
            <tr className="gap" aria-hidden="true">
              <td style={{ height: after }} />
            </tr>
          )}
        </tbody>
      </table>
    </div>
  );
}

function sorted<T>(
  rows: readonly T[],
  by: ((row: T) => number | string) | undefined,
  isUp: boolean | undefined,
): readonly T[] {
  if (!by) return rows;
  const sign = isUp ? 1 : -1;
  return rows.toSorted((left, right) => {
    const [a, b] = [by(left), by(right)];
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b)));
  });
}

/** The rows that contain every word of the filter in one of their texts. */
export function matching<T>(rows: readonly T[], find: string, textsOf: (row: T) => readonly string[]): readonly T[] {
  const words = find
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return rows;
  return rows.filter((row) => {
    const text = textsOf(row).join(' ').toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
