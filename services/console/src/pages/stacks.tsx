/** All stacks of the project. */
import type { StackRow } from '@anneal/client/representation.ts';
import { changedTime, shownState } from '@anneal/client/text/stack-state.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import type { Overview } from '@anneal/contracts/calls/overview.ts';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useAsk } from '../live/ask.ts';
import { Empty } from '../parts/command.tsx';
import { Filter } from '../parts/filter.tsx';
import { Same } from '../parts/same.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { StateWord } from '../parts/state.tsx';
import { PagedTable, type PagedColumn } from '../asking/paged-table.tsx';
import { Age } from '../parts/time.tsx';
import { Views, type View } from '../parts/views.tsx';

/** Why a stack does not go on. */
interface Reason {
  readonly summary: string;
  readonly needsPerson: boolean;
}
/** By the id of the stack: of stacks that need a person, and of those in progress. */
type Reasons = ReadonlyMap<string, Reason>;

function reasonsIn({ needs, working }: Overview): Reasons {
  const reasons = new Map<string, Reason>();
  for (const { id, why } of working) reasons.set(id, { summary: why.summary, needsPerson: false });
  for (const { kind, id, summary } of needs) if (kind === 'stack') reasons.set(id, { summary, needsPerson: true });
  return reasons;
}

const columnsWith = (reasons: Reasons): readonly PagedColumn<StackRow>[] => [
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
    cell: (row) => {
      const { id } = row;
      const status = shownState(row);
      const tone = toneOf(status);
      return <StateWord state={status} tone={tone === 'busy' && reasons.get(id)?.needsPerson ? 'wait' : tone} />;
    },
    by: 'status',
  },
  { name: 'Changed', cell: (row) => <Age since={changedTime(row) ?? ''} />, by: 'changed', isNumber: true },
  {
    name: 'Reason',
    cell: ({ id, stack_status_reason: reason }) => (
      <span className="dim">
        <Sentence text={reasons.get(id)?.summary ?? reason ?? ''} />
      </span>
    ),
    isExtra: true,
    fills: true,
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

const noReasons: Reasons = new Map();

export function StacksPage() {
  const overview = useAsk(['overview'], (client) => client.overview(), 15_000).data;
  const columns = useMemo(() => columnsWith(overview ? reasonsIn(overview) : noReasons), [overview]);
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Stacks</h1>
        <Filter what="stacks by name, state or tag" />
        <Link className="button" to="/take-over">
          Take over …
        </Link>
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
