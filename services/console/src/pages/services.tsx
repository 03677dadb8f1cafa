/** The services, one row per replica: health, version, age and shards, what waits, and the way to the queues. */
import { rangesText, remarksOn, serviceReplicas, type ServiceReplica } from '@anneal/client/replica-rows.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Count } from '../parts/count.tsx';
import { Mark, StateWord } from '../parts/state.tsx';
import { Same } from '../parts/same.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';

/** The numbers of a service, which its first row shows. */
const inFirst = (cell: (service: ServiceReplica['service']) => ReactNode) => (row: ServiceReplica) =>
  row.isFirst ? cell(row.service) : '';
const counted = (count: number | null | undefined): ReactNode =>
  typeof count === 'number' ? <Count of={count} /> : <span className="dim">not counted</span>;
const columns: readonly Column<ServiceReplica>[] = [
  {
    name: 'Service',
    cell: ({ service: { name } }) => (
      <Link to="/queues" search={{ find: `anneal.${name}` }}>
        <b>{name}</b>
      </Link>
    ),
    sort: ({ service }) => service.name,
  },
  { name: 'Status', cell: ({ status }) => <StateWord state={status} />, sort: ({ status }) => status },
  { name: 'Version', cell: ({ replica }) => replica?.version ?? '', sort: ({ replica }) => replica?.version ?? '' },
  { name: 'Up', cell: ({ replica }) => <Age since={replica?.started_at} />, isNumber: true },
  {
    name: 'Process',
    cell: ({ replica }) =>
      replica && (
        <span className="mono">
          {replica.machine} <span className="dim">{replica.pid}</span>
        </span>
      ),
    sort: ({ replica }) => (replica ? `${replica.machine} ${replica.pid}` : ''),
    isExtra: true,
  },
  { name: 'Shards', cell: ({ replica }) => rangesText(replica?.shards ?? []), isExtra: true },
  { name: 'Waiting', cell: inFirst(({ depth }) => counted(depth)), isNumber: true },
  {
    name: 'In flight',
    cell: inFirst(({ in_flight: count }) => counted(count)),
    isNumber: true,
    isExtra: true,
  },
  {
    name: 'Oldest',
    cell: inFirst(({ oldest_age_ms: age }) => (typeof age === 'number' ? formatDuration(age) : '')),
    isNumber: true,
    isExtra: true,
  },
];

export function ServicesPage() {
  const services = useAsk(['services'], (client) => client.services(), 3000);
  return (
    <div className="stackwise">
      <h1>Services</h1>
      <Answer of={services}>
        {(answer) => {
          const rows = serviceReplicas(answer);
          return (
            <>
              <Troubles rows={rows} remarks={remarksOn(answer)} />
              <section className="card">
                <Table
                  label="Services"
                  rows={rows}
                  columns={columns}
                  keyOf={({ service, replica }) => `${service.name} ${replica?.id ?? ''}`}
                  empty={<Empty>No service.</Empty>}
                />
              </section>
            </>
          );
        }}
      </Answer>
      <Same command="anneal service list" request="GET /api/v1/services" />
    </div>
  );
}

/** What an operator must look at, before the table. */
function Troubles({ rows, remarks }: { rows: readonly ServiceReplica[]; remarks: readonly string[] }) {
  const troubled = rows.filter(({ status }) => !['ready', 'up'].includes(status));
  if (troubled.length + remarks.length === 0) return null;
  return (
    <section className="card" aria-label="What needs a look">
      <ul className="needs">
        {troubled.map(({ service, replica, status }) => (
          <li key={`${service.name} ${replica?.id ?? ''}`}>
            <Mark tone={toneOf(status)} />
            <b>{service.name}</b>
            <span className="what">
              {replica ? (
                <>
                  Process {replica.pid} on {replica.machine}: {replica.reason}
                </>
              ) : (
                'No replica takes its requests.'
              )}
            </span>
          </li>
        ))}
        {remarks.map((remark) => (
          <li key={remark}>
            <Mark tone="wait" />
            <b>Upgrade</b>
            <span className="what">{remark}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
