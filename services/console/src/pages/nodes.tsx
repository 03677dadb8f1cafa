/** Every bare-metal node: its power, its state and what it belongs to. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { EnrolMany } from '../node/node-parts.tsx';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { CopyCommand, Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';

const nameOf = ({ name, uuid }: NodeRepresentation): string => name ?? uuid;

const columns: readonly Column<NodeRepresentation>[] = [
  {
    name: 'Node',
    cell: (node) => (
      <Link to="/nodes/$node" params={{ node: nameOf(node) }}>
        <b>{nameOf(node)}</b>
      </Link>
    ),
    sort: nameOf,
  },
  {
    name: 'State',
    cell: ({ provision_state: state, fault }) => <StateWord state={fault === null ? (state ?? 'unknown') : fault} />,
    sort: ({ provision_state: state }) => state ?? '',
  },
  {
    name: 'Power',
    cell: ({ power_state: power }) => power ?? 'unknown',
    sort: ({ power_state: power }) => power ?? '',
  },
  {
    name: 'Class',
    cell: (node) => node.resource_class ?? '',
    sort: (node) => node.resource_class ?? '',
    isExtra: true,
  },
  {
    name: 'Maintenance',
    cell: ({ maintenance, maintenance_reason: reason }) => (maintenance ? (reason ?? 'yes') : ''),
    sort: ({ maintenance }) => Number(maintenance),
    isExtra: true,
  },
];

export function NodesPage() {
  const nodes = useAsk(['nodes'], (client) => client.nodes.list());
  const find = useFilter();
  const [isEnrolling, setEnrolling] = useState(false);
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Nodes</h1>
        <Filter what="nodes by name, state, power or class" />
        <button type="button" className="button" aria-expanded={isEnrolling} onClick={() => setEnrolling(!isEnrolling)}>
          Enrol many …
        </button>
      </div>
      {isEnrolling && <EnrolMany />}
      <section className="card">
        <Answer of={nodes}>
          {(rows) => (
            <Table
              label="Nodes"
              rows={matching(rows, find, (node) => [
                nameOf(node),
                node.provision_state ?? '',
                node.power_state ?? '',
                node.resource_class ?? '',
                node.fault ?? '',
              ])}
              columns={columns}
              keyOf={({ uuid }) => uuid}
              empty={
                <Empty command="anneal node enrol rack1-u01 --address https://bmc… --provide">
                  {find === '' ? 'No node yet. Enrol one:' : 'No node matches the filter.'}
                </Empty>
              }
            />
          )}
        </Answer>
      </section>
      <div className="row dim">
        The same in a terminal: <CopyCommand command="anneal node list" />
      </div>
    </div>
  );
}
