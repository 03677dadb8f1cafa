/** Every host: whether it answers, and what waits for it. */
import type { HostView } from '@anneal/contracts/calls/configuration.ts';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { JoinPanel } from '../host/join.tsx';
import { RunPanel } from '../host/run.tsx';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { CopyCommand, Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';

const serverOf = ({ server }: HostView): string => (server ? `${server.stack_name}/${server.resource_name}` : '');

const columns: readonly Column<HostView>[] = [
  {
    name: 'Host',
    cell: ({ name }) => (
      <Link to="/hosts/$host" params={{ host: name }}>
        <b>{name}</b>
      </Link>
    ),
    sort: ({ name }) => name,
  },
  { name: 'Status', cell: ({ status }) => <StateWord state={status} />, sort: ({ status }) => status },
  { name: 'Configs', cell: ({ pending }) => pending, sort: ({ pending }) => pending, isNumber: true },
  {
    name: 'Last seen',
    cell: ({ last_seen_at: seen }) => <Age since={seen} />,
    sort: ({ last_seen_at: seen }) => seen ?? '',
    isNumber: true,
  },
  { name: 'Server', cell: (host) => <span className="dim">{serverOf(host)}</span>, sort: serverOf, isExtra: true },
];

export function HostsPage() {
  const hosts = useAsk(['hosts'], (client) => client.hosts.list(), 10_000);
  const find = useFilter();
  const [panel, setPanel] = useState<'run' | 'join'>();
  const toggle = (name: 'run' | 'join', label: string) => (
    <button
      type="button"
      className="button"
      aria-expanded={panel === name}
      onClick={() => setPanel(panel === name ? undefined : name)}
    >
      {label}
    </button>
  );
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Hosts</h1>
        <Filter what="hosts by name, status or server" />
        {toggle('run', 'Run a command …')}
        {toggle('join', 'Join a machine …')}
      </div>
      {panel === 'run' && <RunPanel />}
      {panel === 'join' && <JoinPanel />}
      <section className="card">
        <Answer of={hosts}>
          {(rows) => (
            <Table
              label="Hosts"
              rows={matching(rows, find, (host) => [host.name, host.status, serverOf(host)])}
              columns={columns}
              keyOf={({ id }) => id}
              empty={
                <Empty command="anneal host join web1">
                  {find === ''
                    ? 'No host yet. A machine joins with the line that this command prints:'
                    : 'No host matches.'}
                </Empty>
              }
            />
          )}
        </Answer>
      </section>
      <div className="row dim">
        Run a command on many: <CopyCommand command={`anneal run uptime --hosts 'facts.os == "debian"'`} />
      </div>
    </div>
  );
}
