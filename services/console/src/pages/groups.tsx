/** Every group that scales: its size, the size that it goes to, and the last decision about it. */
import type { GroupRow } from '@anneal/contracts/calls/scaling.ts';
import { Link } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { Mark, StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';
import { Same } from '../parts/same.tsx';
import { useSession } from '../session/session.tsx';

const stackOf = ({ root }: GroupRow): string => root?.stack_name ?? '';

/** What happens with the group now, in words. */
function movesOf({ entering, leaving, warm, lost, paused, deciding_until: until }: GroupRow): readonly string[] {
  return [
    ...(entering > 0 ? [`${entering} entering`] : []),
    ...(leaving > 0 ? [`${leaving} leaving`] : []),
    ...(warm > 0 ? [`${warm} warm`] : []),
    ...(lost > 0 ? [`${lost} lost`] : []),
    ...(until === null ? [] : ['a listener decides']),
    ...(paused === 'none' ? [] : [`paused ${paused}`]),
  ];
}

function Decision({ row: { outcome } }: { row: GroupRow }) {
  if (!outcome) return <span className="dim">none yet</span>;
  const tone = outcome.result === 'applied' ? 'idle' : outcome.result === 'refused' ? 'failed' : 'wait';
  return (
    <span className="row" title={outcome.message}>
      <Mark tone={tone} label={outcome.result} />
      <span className="cut">{outcome.message}</span>
      <span className="dim">
        <Age since={outcome.at} />
      </span>
    </span>
  );
}

const refreshWords = ({ refresh }: GroupRow): string =>
  refresh ? `${refresh.state}, ${refresh.done} of ${refresh.total}` : '';

const columnsFor = (project: string): readonly Column<GroupRow>[] => [
  {
    name: 'Group',
    cell: (row) =>
      row.root && row.project === project ? (
        <Link
          to="/stacks/$stack"
          params={{ stack: row.root.stack_name }}
          search={{ tab: 'scaling' }}
          hash={`group-${row.path}`}
        >
          <b>{row.path}</b>
        </Link>
      ) : (
        // The APIs of stacks answer for the project of the session only.
        <b title={`Log in to the project ${row.project} to open it.`}>{row.path}</b>
      ),
    sort: ({ path }) => path,
  },
  { name: 'Stack', cell: stackOf, sort: stackOf },
  {
    name: 'Size',
    cell: ({ size, wanted }) => (wanted === size ? size : `${size} → ${wanted}`),
    sort: ({ size }) => size,
    isNumber: true,
  },
  {
    name: 'Limits',
    cell: ({ min_size: least, max_size: most }) => (
      <span className="dim">
        {least ?? 0} to {most ?? 'any'}
      </span>
    ),
    isNumber: true,
    isExtra: true,
  },
  { name: 'State', cell: ({ status }) => <StateWord state={status} />, sort: ({ status }) => status },
  { name: 'Members', cell: (row) => movesOf(row).join(', '), sort: (row) => movesOf(row).join(' '), isExtra: true },
  { name: 'Refresh', cell: refreshWords, sort: refreshWords, isExtra: true },
  {
    name: 'Last decision',
    cell: (row) => <Decision row={row} />,
    sort: ({ outcome }) => outcome?.at ?? '',
    isExtra: true,
    fills: true,
  },
];

export function GroupsPage() {
  const { session } = useSession();
  // Members are lost and refreshes continue without an event of the group.
  const groups = useAsk(['groups'], (client) => client.groups.list({ allProjects: session.operator }), 10_000);
  const find = useFilter();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Scaling</h1>
        <Filter what="groups by name, stack, state or decision" />
      </div>
      <section className="card">
        <Answer of={groups}>
          {(rows) => (
            <Table
              label="Groups that scale"
              rows={matching(rows, find, (row) => [
                row.path,
                stackOf(row),
                row.status,
                row.project,
                ...movesOf(row),
                row.outcome?.message ?? '',
              ])}
              columns={
                rows.every(({ project }) => project === session.project.id)
                  ? columnsFor(session.project.id)
                  : withProject(columnsFor(session.project.id))
              }
              keyOf={({ stack_id: id }) => id}
              empty={
                <Empty command="anneal explain OS::Heat::AutoScalingGroup">
                  {find === ''
                    ? 'No group yet. A stack has one when its template has a resource of such a type:'
                    : 'No group matches the filter.'}
                </Empty>
              }
            />
          )}
        </Answer>
      </section>
      <Same command="anneal group list" request="GET /api/v1/groups" />
    </div>
  );
}

const withProject = (columns: readonly Column<GroupRow>[]): readonly Column<GroupRow>[] => [
  ...columns,
  {
    name: 'Project',
    cell: ({ project }) => <span className="mono dim">{project}</span>,
    sort: ({ project }) => project,
    isExtra: true,
  },
];
