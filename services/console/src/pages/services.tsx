/** The services: whether each takes requests, and how many wait. */
import { formatDuration } from '@anneal/client/text/time.ts';
import type { ServiceRow } from '@anneal/client/representation.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { StateWord } from '../parts/state.tsx';
import { Same } from '../parts/same.tsx';
import { Table, type Column } from '../parts/table.tsx';

const count = (value: unknown): string => (typeof value === 'number' ? value.toLocaleString() : '–');
const columns: readonly Column<ServiceRow>[] = [
  { name: 'Service', cell: ({ name }) => <b>{name}</b>, sort: ({ name }) => name },
  { name: 'Status', cell: (row) => <StateWord state={String(row['status'])} /> },
  { name: 'Waiting', cell: (row) => count(row['depth']), isNumber: true },
  { name: 'In flight', cell: (row) => count(row['in_flight']), isNumber: true },
  {
    name: 'Oldest',
    cell: (row) => (typeof row['oldest_age_ms'] === 'number' ? formatDuration(row['oldest_age_ms']) : '–'),
    isNumber: true,
  },
  { name: 'Consumers', cell: (row) => count(row['consumers']), isNumber: true, isExtra: true },
];

export function ServicesPage() {
  const services = useAsk(['services'], (client) => client.services(), 3000);
  return (
    <div className="stackwise">
      <h1>Services</h1>
      <section className="card">
        <Answer of={services}>
          {(rows) => (
            <Table
              label="Services"
              rows={rows}
              columns={columns}
              keyOf={({ name }) => name}
              empty={<Empty>No service.</Empty>}
            />
          )}
        </Answer>
      </section>
      <Same command="anneal service list" />
    </div>
  );
}
