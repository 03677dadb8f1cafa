/** Every queue: of services, hosts and users. */
import { type Tone } from '@anneal/client/text/tone.ts';
import type { QueueRow } from '@anneal/client/representation.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { Link } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { Mark, QuietMark } from '../parts/state.tsx';
import { Same } from '../parts/same.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';

/** What a queue without consumers and with messages needs: a look. */
const toneOfQueue = ({ depth, consumers, in_flight: busy }: QueueRow): Tone =>
  depth > 0 && consumers === 0 ? 'failed' : depth + busy > 0 ? 'busy' : 'idle';

const columns: readonly Column<QueueRow>[] = [
  {
    name: 'Queue',
    cell: (row) => (
      <span className="row">
        {toneOfQueue(row) === 'idle' ? <QuietMark /> : <Mark tone={toneOfQueue(row)} />}
        <Link to="/queues/$queue" params={{ queue: row.name }} className="mono cut">
          {row.name}
        </Link>
      </span>
    ),
    sort: ({ name }) => name,
  },
  { name: 'Waiting', cell: ({ depth }) => depth.toLocaleString(), sort: ({ depth }) => depth, isNumber: true },
  { name: 'In flight', cell: ({ in_flight: busy }) => busy, sort: ({ in_flight: busy }) => busy, isNumber: true },
  {
    name: 'Oldest',
    cell: ({ oldest_age_ms: age }) => (age === null ? '–' : formatDuration(age)),
    sort: ({ oldest_age_ms: age }) => age ?? -1,
    isNumber: true,
  },
  {
    name: 'Consumers',
    cell: ({ consumers }) => consumers ?? '–',
    sort: ({ consumers }) => consumers ?? -1,
    isNumber: true,
    isExtra: true,
  },
  { name: 'Kind', cell: ({ kind }) => <span className="dim">{kind}</span>, sort: ({ kind }) => kind, isExtra: true },
];

export function QueuesPage() {
  const queues = useAsk(['queues'], (client) => client.queues.list(), 2000);
  const find = useFilter();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Queues</h1>
        <Filter what="queues by name or kind" />
      </div>
      <section className="card">
        <Answer of={queues}>
          {(rows) => (
            <Table
              label="Queues"
              rows={matching(rows, find, ({ name, kind }) => [name, kind])}
              columns={columns}
              keyOf={({ name }) => name}
              empty={<Empty>No queue matches the filter.</Empty>}
            />
          )}
        </Answer>
      </section>
      <Same command="anneal queue list" />
    </div>
  );
}
