/** All stacks of the project. */
import type { StackRow } from '@anneal/client/representation.ts';
import { Link } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';

const changed = (row: StackRow): string => row.updated_time ?? row.creation_time ?? '';

const columns: readonly Column<StackRow>[] = [
  {
    name: 'Name',
    cell: ({ stack_name: name }) => (
      <Link to="/stacks/$stack" params={{ stack: name }}>
        <b>{name}</b>
      </Link>
    ),
    sort: ({ stack_name: name }) => name,
  },
  {
    name: 'State',
    cell: ({ stack_status: status }) => <StateWord state={status} />,
    sort: ({ stack_status: status }) => status,
  },
  { name: 'Changed', cell: (row) => <Age since={changed(row)} />, sort: changed, isNumber: true },
  {
    name: 'Reason',
    cell: ({ stack_status_reason: reason }) => <span className="dim">{reason}</span>,
    isExtra: true,
  },
  { name: 'Tags', cell: ({ tags }) => (tags ?? []).join(', '), isExtra: true },
];

export function StacksPage() {
  const stacks = useAsk(['stacks'], (client) => client.stacks.list({ limit: 1000 }));
  const find = useFilter();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Stacks</h1>
        <Filter what="stacks by name, state or tag" />
        <Link className="button first" to="/create">
          New stack
        </Link>
      </div>
      <section className="card">
        <Answer of={stacks}>
          {(rows) => (
            <Table
              label="Stacks"
              rows={matching(rows, find, (row) => [row.stack_name, row.stack_status, ...(row.tags ?? [])])}
              columns={columns}
              keyOf={({ id }) => id}
              empty={
                <Empty command="anneal stack create web -t web.yaml">
                  {find === '' ? 'No stack yet. Create one:' : 'No stack matches the filter.'}
                </Empty>
              }
            />
          )}
        </Answer>
      </section>
    </div>
  );
}
