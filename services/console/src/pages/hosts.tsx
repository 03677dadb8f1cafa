/** Every host: whether it answers, and what waits for it. */
import { hostStatusWord } from '@anneal/contracts/calls/hosts.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { Link } from '@tanstack/react-router';
import { JoinPanel } from '../host/join.tsx';
import { RunPanel } from '../host/run.tsx';
import { Empty } from '../parts/command.tsx';
import { Count } from '../parts/count.tsx';
import { Filter } from '../parts/filter.tsx';
import { PanelToggle, usePanel } from '../parts/panel.tsx';
import { Same } from '../parts/same.tsx';
import { StateWord } from '../parts/state.tsx';
import { PagedTable, type PagedColumn } from '../asking/paged-table.tsx';
import { Age } from '../parts/time.tsx';
import { Views, type View } from '../parts/views.tsx';

const serverOf = ({ server }: HostView): string => (server ? `${server.stack_name}/${server.resource_name}` : '');

const columns: readonly PagedColumn<HostView>[] = [
  {
    name: 'Host',
    cell: ({ name }) => (
      <Link to="/hosts/$host" params={{ host: name }}>
        <b>{name}</b>
      </Link>
    ),
    by: 'name',
  },
  { name: 'Status', cell: (host) => <StateWord state={hostStatusWord(host)} />, by: 'status' },
  { name: 'Pending', cell: ({ pending }) => <Count of={pending} />, isNumber: true, isExtra: true },
  {
    name: 'Last seen',
    cell: ({ last_seen_at: seen }) => <Age since={seen} none="never" />,
    by: 'last_seen',
    isNumber: true,
  },
  { name: 'Server', cell: (host) => <span className="dim">{serverOf(host)}</span>, by: 'server', isExtra: true },
];

const views: readonly View[] = [
  { name: 'Silent', find: 'silent' },
  { name: 'Expected', find: 'expected' },
];

export function HostsPage() {
  const { open } = usePanel();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Hosts</h1>
        <Filter what="hosts by name, status or server" />
        <PanelToggle name="run">Run a command …</PanelToggle>
        <PanelToggle name="join">Join a machine …</PanelToggle>
      </div>
      {open === 'run' && <RunPanel />}
      {open === 'join' && <JoinPanel />}
      <Views list="hosts" known={views} />
      <section className="card">
        <PagedTable
          list="hosts"
          label="Hosts"
          ask={({ hosts }, page) => hosts.page(page)}
          columns={columns}
          keyOf={({ id }) => id}
          everyMs={10_000}
          empty={(find) => (
            <Empty command="anneal host join web1">
              {find === ''
                ? 'No host yet. A machine joins with the line that this command prints:'
                : 'No host matches.'}
            </Empty>
          )}
        />
      </section>
      <Same command="anneal host list" request="GET /api/v1/hosts" />
    </div>
  );
}
