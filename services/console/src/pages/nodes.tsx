/** Every bare-metal node: its power, its state and what it belongs to. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { Link, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { EnrolMany } from '../node/node-parts.tsx';
import { RackView } from '../node/rack-view.tsx';
import { nameOfNode, propertyOf } from '../node/racks.ts';
import type { Client } from '@anneal/client/connect.ts';
import { useAsk, useAskEach } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { PagedTable, type PagedColumn } from '../asking/paged-table.tsx';
import { Same } from '../parts/same.tsx';
import { Age } from '../parts/time.tsx';
import { Views } from '../parts/views.tsx';

const columns: readonly PagedColumn<NodeRepresentation>[] = [
  {
    name: 'Node',
    cell: (node) => (
      <Link to="/nodes/$node" params={{ node: nameOfNode(node) }}>
        <b>{nameOfNode(node)}</b>
      </Link>
    ),
    by: 'name',
  },
  {
    name: 'State',
    cell: ({ provision_state: state, fault, maintenance }) => (
      <span className="row">
        <StateWord state={fault === null ? (state ?? 'unknown') : fault} />
        {maintenance && <StateWord state="maintenance" />}
      </span>
    ),
    by: 'state',
  },
  {
    name: 'Power',
    cell: ({ power_state: power }) => power ?? 'unknown',
    by: 'power',
  },
  {
    name: 'Server',
    cell: ({ instance_uuid: id, instance_info: info }) =>
      id !== null && (
        <Link to="/hosts/$host" params={{ host: id }}>
          {info?.name ?? id}
        </Link>
      ),
    fills: true,
  },
  {
    name: 'BMC answered',
    cell: ({ bmc }) =>
      bmc === null || bmc.failures === 0 ? (
        <Age since={bmc?.last_contact} />
      ) : (
        <span className="tone-failed">
          <Age since={bmc.last_contact} />, {bmc.failures} failed
        </span>
      ),
    isNumber: true,
    isExtra: true,
  },
  {
    name: 'Class',
    cell: (node) => node.resource_class ?? '',
    by: 'class',
    isExtra: true,
  },
  {
    name: 'Rack',
    cell: (node) => propertyOf(node, 'rack'),
    isExtra: true,
  },
  {
    name: 'Note',
    cell: ({ maintenance, maintenance_reason: reason, last_error: error }) => (
      <span className="dim">{(maintenance ? reason : null) ?? (typeof error === 'string' ? error : '')}</span>
    ),
    isExtra: true,
    fills: true,
  },
];

const tabs = ['list', 'racks'] as const;
const mute = 'BMC does not answer';

export function NodesPage() {
  const silent = useAsk(['nodes', 'silent'], (client) => client.nodes.page({ find: mute, limit: 1 })).data?.found ?? 0;
  const find = useFilter();
  const { tab = 'list' } = useSearch({ from: '/nodes' });
  const [isToggled, toggle] = useState(false);
  const isEnrolling = isToggled !== (tab === 'enrol');
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Nodes</h1>
        <Filter what="nodes by name, state, rack or class" />
        <button type="button" className="button" aria-expanded={isEnrolling} onClick={() => toggle(!isToggled)}>
          Enrol many …
        </button>
      </div>
      {isEnrolling && <EnrolMany />}
      <Views
        list="nodes"
        known={[
          { name: 'In use', find: 'active' },
          { name: 'Free', find: 'available' },
          { name: silent > 0 ? `${mute} (${silent.toLocaleString()})` : mute, find: mute },
        ]}
      />
      <nav className="tabs" aria-label="Views of the nodes">
        {tabs.map((one) => (
          <Link
            key={one}
            to="."
            search={(last) => ({ ...last, tab: one === 'list' ? undefined : one })}
            activeOptions={{ includeSearch: true, explicitUndefined: true }}
          >
            {one === 'list' ? 'List' : 'Racks'}
          </Link>
        ))}
      </nav>
      {tab === 'racks' ? (
        <Racks find={find} />
      ) : (
        <section className="card">
          <PagedTable
            list="nodes"
            label="Nodes"
            ask={({ nodes }, page) => nodes.page(page)}
            columns={columns}
            keyOf={({ uuid }) => uuid}
            empty={noNode}
          />
        </section>
      )}
      <Same command="anneal node list" request="GET /api/v1/nodes" />
    </div>
  );
}

const noNode = (find: string) => (
  <Empty command="anneal node enrol rack1-u01 --address https://bmc… --username admin --password-file FILE">
    {find === '' ? 'No node yet. Enrol one:' : 'No node matches the filter.'}
  </Empty>
);

/** Nodes of one question. Racks have some dozens of nodes. */
const nodesAtOnce = 200;

/** The nodes where they stand, in the order of their places. More are asked for when the reader wants them. */
function Racks({ find }: { find: string }) {
  const [pages, setPages] = useState(1);
  const answers = useAskEach(
    Array.from({ length: pages }, (_, page) => ({
      key: ['nodes', 'racks', find, String(page)],
      ask: (client: Client) =>
        client.nodes.page({
          sort: 'place',
          ...(find !== '' && { find }),
          offset: page * nodesAtOnce,
          limit: nodesAtOnce,
        }),
    })),
  );
  const [first] = answers;
  if (!first) return null;
  return (
    <Answer of={first}>
      {({ found }) =>
        found === 0 ? (
          <section className="card">{noNode(find)}</section>
        ) : (
          <RackView
            nodes={answers.flatMap(({ data }) => data?.rows ?? [])}
            found={found}
            onMore={() => setPages(pages + 1)}
          />
        )
      }
    </Answer>
  );
}
