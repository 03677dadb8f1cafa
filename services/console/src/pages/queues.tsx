/** Every queue: of services, hosts and users. */
import { keepsAnswers, shownQueueKind } from '@anneal/client/text/queue-name.ts';
import { type Tone } from '@anneal/client/text/tone.ts';
import type { QueueRow } from '@anneal/client/representation.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { Link } from '@tanstack/react-router';
import { Empty } from '../parts/command.tsx';
import { Count } from '../parts/count.tsx';
import { Filter } from '../parts/filter.tsx';
import { Mark, QuietMark } from '../parts/state.tsx';
import { Same } from '../parts/same.tsx';
import { PagedTable, type PagedColumn } from '../asking/paged-table.tsx';
import { Views, type View } from '../parts/views.tsx';

/** What a queue without consumers and with messages needs: a look. */
const toneOfQueue = ({ depth, consumers, in_flight: busy, ...row }: QueueRow): Tone =>
  keepsAnswers(row) ? 'idle' : depth > 0 && consumers === 0 ? 'failed' : depth + busy > 0 ? 'busy' : 'idle';

const columns: readonly PagedColumn<QueueRow>[] = [
  {
    name: 'Queue',
    cell: (row) => (
      <span className="row">
        {toneOfQueue(row) === 'idle' ? <QuietMark /> : <Mark tone={toneOfQueue(row)} />}
        <Link to="/queues/$queue" params={{ queue: row.name }} className="mono cut begin">
          <bdi>{row.name}</bdi>
        </Link>
      </span>
    ),
  },
  { name: 'Waiting', cell: ({ depth }) => <Count of={depth} />, by: 'depth', isNumber: true },
  {
    name: 'In flight',
    cell: ({ in_flight: busy }) => <Count of={busy} />,
    by: 'in_flight',
    isNumber: true,
    isExtra: true,
  },
  {
    name: 'Oldest',
    cell: ({ oldest_age_ms: age }) => (age === null ? '' : formatDuration(age)),
    by: 'oldest',
    isNumber: true,
  },
  {
    name: 'Consumers',
    cell: ({ consumers }) => consumers ?? '–',
    isNumber: true,
    isExtra: true,
  },
  { name: 'Kind', cell: (row) => <span className="dim">{shownQueueKind(row)}</span>, isExtra: true },
];

const views: readonly View[] = [
  { name: 'Of services', find: 'service' },
  { name: 'Of hosts', find: 'host' },
  { name: 'Of users', find: 'user' },
];

export function QueuesPage() {
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Queues</h1>
        <Filter what="queues by name or kind" />
      </div>
      <Views list="queues" known={views} />
      <section className="card">
        <PagedTable
          list="queues"
          label="Queues"
          ask={({ queues }, page) => queues.page(page)}
          columns={columns}
          keyOf={({ name }) => name}
          everyMs={2000}
          empty={() => <Empty>No queue matches the filter.</Empty>}
        />
      </section>
      <Same command="anneal queue list" request="GET /api/v1/queues" />
    </div>
  );
}
