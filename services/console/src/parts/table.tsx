/** A table of any length: only the visible rows are in the page. Sorted by a column, filtered by words. */
import { byNaturalOrder } from '@anneal/contracts/natural-order.ts';
import { rowMatcherOf } from '@anneal/contracts/page.ts';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useMemo, useRef, useState, type ReactNode, type RefObject } from 'react';
import { isTyping } from './filter.tsx';

/** How a column shows a row. */
export interface Shown<T> {
  readonly name: string;
  readonly cell: (row: T) => ReactNode;
  readonly isNumber?: boolean;
  /** Left out on a small screen. */
  readonly isExtra?: boolean;
  /** Gets the width that the others leave, so that a long text pushes no column out of the screen. */
  readonly fills?: boolean;
}
export interface Column<T> extends Shown<T> {
  /** What the column sorts by. Without it, it does not sort. */
  readonly sort?: (row: T) => number | string;
}

/** The column that sorts, by its name, and its direction. */
export interface Order {
  readonly name: string;
  readonly isUp: boolean;
}

const rowHeight = 35;

/** The rows of a list that the page has as a whole. */
export function Table<T>(props: {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  empty: ReactNode;
}) {
  const { label, rows, columns, keyOf, empty } = props;
  const [order, setOrder] = useState<Order>();
  const shown = useMemo(
    () => sorted(rows, columns.find(({ name }) => name === order?.name)?.sort, order?.isUp),
    [rows, columns, order],
  );
  if (rows.length === 0) return <>{empty}</>;
  return (
    <Grid
      label={label}
      count={shown.length}
      rowAt={(index) => shown[index]}
      columns={columns}
      keyOf={keyOf}
      canSort={({ sort }) => sort !== undefined}
      order={order}
      onOrder={setOrder}
    />
  );
}

/** The visible rows of a list, of which the page may have only some. */
export function Grid<T, C extends Shown<T>>(props: {
  label: string;
  count: number;
  /** Undefined for a row that has not arrived yet. */
  rowAt: (index: number) => T | undefined;
  columns: readonly C[];
  keyOf: (row: T) => string;
  canSort: (column: C) => boolean;
  order: Order | undefined;
  onOrder: (order: Order) => void;
  /** Called with the first and the last row that are near the screen. */
  onRange?: (first: number, last: number) => void;
}) {
  const { label, count, rowAt, columns, keyOf, canSort, order, onOrder, onRange } = props;
  const view = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => view.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const [first, last] = [items[0]?.index ?? 0, items.at(-1)?.index ?? 0];
  useEffect(() => onRange?.(first, last), [onRange, first, last]);
  useRowKeys(view);
  const sortBy = (name: string) => onOrder({ name, isUp: order?.name === name ? !order.isUp : true });
  const classOf = ({ isNumber, isExtra, fills }: C): string =>
    `${isNumber ? 'number' : ''} ${isExtra ? 'wide-only' : ''} ${fills ? 'fills' : ''}`;
  return (
    <div className="table-view" ref={view} tabIndex={0} role="region" aria-label={label}>
      <table className="table" aria-rowcount={count + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={classOf(column)}
                aria-sort={order?.name === column.name ? (order.isUp ? 'ascending' : 'descending') : undefined}
              >
                {canSort(column) ? (
                  <button type="button" onClick={() => sortBy(column.name)}>
                    {column.name} {order?.name === column.name ? (order.isUp ? '↑' : '↓') : ''}
                  </button>
                ) : (
                  column.name
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <Gap height={before} />
          {items.map(({ index }) => {
            const row = rowAt(index);
            return (
              <tr key={row === undefined ? `row ${index}` : keyOf(row)} aria-rowindex={index + 2}>
                {columns.map((column) => (
                  <td key={column.name} className={classOf(column)}>
                    {row === undefined ? <span className="coming" /> : column.cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
          <Gap height={after} />
        </tbody>
      </table>
    </div>
  );
}

/** `j` and `k` move the focus to the next and the previous row of the first table of the page. */
function useRowKeys(view: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (!/^[jk]$/.test(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('.table-view') !== view.current) return;
      const rows = [...(view.current?.querySelectorAll('tbody tr:not(.gap)') ?? [])];
      const at = rows.findIndex((row) => row.contains(document.activeElement));
      const next = rows[at === -1 ? 0 : at + (event.key === 'j' ? 1 : -1)];
      next?.querySelector<HTMLElement>('a, button')?.focus();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [view]);
}

function Gap({ height }: { height: number }) {
  if (height <= 0) return null;
  return (
    <tr className="gap" aria-hidden="true">
      <td style={{ height }} />
    </tr>
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
    return sign * (typeof a === 'number' && typeof b === 'number' ? a - b : byNaturalOrder(String(a), String(b)));
  });
}

/** The rows that contain every word of the filter in one of their texts. */
export function matching<T>(rows: readonly T[], find: string, textsOf: (row: T) => readonly string[]): readonly T[] {
  const fits = rowMatcherOf(find);
  return rows.filter((row) => fits(textsOf(row)));
}
