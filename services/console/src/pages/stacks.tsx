/** All stacks of the project. */
import type { StackRow } from '@anneal/client/representation.ts';
import { Link } from '@tanstack/react-router';
import { Empty } from '../parts/command.tsx';
import { Filter } from '../parts/filter.tsx';
import { Same } from '../parts/same.tsx';
import { StateWord } from '../parts/state.tsx';
import { PagedTable, type PagedColumn } from '../parts/paged-table.tsx';
import { Age } from '../parts/time.tsx';
import { Views, type View } from '../parts/views.tsx';

const changed = (row: StackRow): string => row.updated_time ?? row.creation_time ?? '';

const columns: readonly PagedColumn<StackRow>[] = [
  {
    name: 'Name',
    cell: ({ stack_name: name }) => (
      <Link to="/stacks/$stack" params={{ stack: name }}>
        <b>{name}</b>
      </Link>
    ),
    by: 'name',
  },
  {
    name: 'State',
    cell: ({ stack_status: status }) => <StateWord state={status} />,
    by: 'status',
  },
  { name: 'Changed', cell: (row) => <Age since={changed(row)} />, by: 'changed', isNumber: true },
  {
    name: 'Reason',
    cell: ({ stack_status_reason: reason }) => <span className="dim">{reason}</span>,
    isExtra: true,
  },
  {
    name: 'Tags',
    cell: ({ tags }) => (
      <span className="row">
        {(tags ?? []).map((tag) => (
          <Link key={tag} className="chip" to="." search={(last) => ({ ...last, find: tag })}>
            {tag}
          </Link>
        ))}
      </span>
    ),
    isExtra: true,
  },
];

const views: readonly View[] = [
  { name: 'In progress', find: 'in_progress' },
  { name: 'Failed', find: 'failed' },
];

export function StacksPage() {
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Stacks</h1>
        <Filter what="stacks by name, state or tag" />
        <Link className="button first" to="/create">
          New stack
        </Link>
      </div>
      <Views list="stacks" known={views} />
      <section className="card">
        <PagedTable
          list="stacks"
          label="Stacks"
          ask={({ stacks }, page) => stacks.page(page)}
          columns={columns}
          keyOf={({ id }) => id}
          empty={(find) => (
            <Empty command="anneal stack create web -t web.yaml">
              {find === '' ? 'No stack yet. Create one:' : 'No stack matches the filter.'}
            </Empty>
          )}
        />
      </section>
      <Same command="anneal stack list" request="GET /api/v1/stacks" />
    </div>
  );
}
