/** A table of a list that the server searches, sorts and counts. It asks only for the rows that are near the screen. */
import type { Client } from '@anneal/client/connect.ts';
import type { PageOf } from '@anneal/client/page.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { useCallback, useState, type ReactNode } from 'react';
import { useAskEach } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { useFilter } from '../parts/filter.tsx';
import { useQuiet } from '../parts/use-quiet.ts';
import { Grid, type Order, type Shown } from '../parts/table.tsx';

export interface PagedColumn<T> extends Shown<T> {
  /** The name by which the server sorts the column. Without it, it does not sort. */
  readonly by?: string;
}

/** The rows that one request asks for. */
const rowsAtOnce = 100;
/** The writer of a filter has stopped to type. */
const typingMs = 150;

export function PagedTable<T>(props: {
  /** The first word of the answers, which events make out of date. */
  list: string;
  /** The object that the list belongs to. */
  of?: string;
  label: string;
  ask: (client: Client, page: PageRequest) => Promise<PageOf<T>>;
  columns: readonly PagedColumn<T>[];
  keyOf: (row: T) => string;
  empty: (find: string) => ReactNode;
  everyMs?: number;
}) {
  const { list, of = '', label, ask, columns, keyOf, empty, everyMs } = props;
  const find = useQuiet(useFilter(), typingMs);
  const [order, setOrder] = useState<Order>();
  const [[first, last], setRange] = useState<readonly [number, number]>([0, 0]);
  const onRange = useCallback((from: number, to: number) => setRange([from, to]), []);

  const by = columns.find(({ name }) => name === order?.name)?.by;
  const sorting = {
    ...(by !== undefined && { sort: by, descending: order?.isUp === false }),
    ...(find !== '' && { find }),
  };
  // The first page stays asked for: it has the counts, so the table keeps its place while another page arrives.
  const pages = [...new Set([0, ...pagesBetween(first, last)])];
  const answers = useAskEach(
    pages.map((page) => ({
      key: [list, of, 'page', find, by ?? '', String(order?.isUp ?? ''), String(page)],
      ask: (client: Client) => ask(client, { ...sorting, offset: page * rowsAtOnce, limit: rowsAtOnce }),
    })),
    everyMs,
  );
  const [shown] = answers;
  if (!shown) return null;
  // A page that is asked for shows no rows of another one.
  const rowsOf = (page: number): readonly T[] | undefined => {
    const answer = answers[pages.indexOf(page)];
    return answer?.isPlaceholderData === true && page > 0 ? undefined : answer?.data?.rows;
  };
  return (
    <Answer of={shown}>
      {({ total, found }) =>
        found === 0 ? (
          empty(find)
        ) : (
          <>
            <p className="counts dim" role="status">
              {found === total ? count(total, label) : `${found.toLocaleString()} of ${count(total, label)}`}
            </p>
            <Grid
              label={label}
              count={found}
              rowAt={(index) => rowsOf(Math.floor(index / rowsAtOnce))?.[index % rowsAtOnce]}
              columns={columns}
              keyOf={keyOf}
              canSort={({ by: name }) => name !== undefined}
              order={order}
              onOrder={setOrder}
              onRange={onRange}
            />
          </>
        )
      }
    </Answer>
  );
}

const pagesBetween = (first: number, last: number): number[] => {
  const start = Math.floor(first / rowsAtOnce);
  return Array.from({ length: Math.floor(last / rowsAtOnce) - start + 1 }, (_, index) => start + index);
};

const count = (total: number, label: string): string => {
  const noun = label.toLowerCase();
  return `${total.toLocaleString()} ${total === 1 ? noun.slice(0, -1) : noun}`;
};
