/** The nodes where they stand: one card for each rack, one slot for each node. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { CopyCommand } from '../parts/command.tsx';
import { Mark } from '../parts/state.tsx';
import { nameOfNode, powerDomainsOf, toneMeanings, toneOfNode, tonesOf, type Rack } from './racks.ts';

/** @param found how many nodes the server has found; `nodes` are the first of them */
export function RackView({
  nodes,
  found,
  onMore,
}: {
  nodes: readonly NodeRepresentation[];
  found: number;
  onMore: () => void;
}) {
  const domains = useMemo(() => powerDomainsOf(nodes), [nodes]);
  const counts = useMemo(() => tonesOf(nodes), [nodes]);
  const hidden = found - nodes.length;
  const isPlaced = domains.some(({ name, racks }) => name !== '' || racks.some((rack) => rack.name !== ''));
  return (
    <div className="stackwise">
      <ul className="row wrap legend" aria-label="Legend">
        {toneMeanings
          .filter(([tone]) => counts.has(tone))
          .map(([tone, meaning]) => (
            <li key={tone} className="row">
              <Mark tone={tone} /> {counts.get(tone)} <span className="dim">{meaning}</span>
            </li>
          ))}
      </ul>
      {!isPlaced && (
        <div className="row wrap dim">
          No node says where it is. Placement then counts each as a rack of its own:{' '}
          <CopyCommand command="anneal node set NODE --property rack=r1 --property power_domain=feed-a" />
        </div>
      )}
      {domains.map(({ name, racks }) => (
        <section key={name} className="stackwise tight" aria-label={domainTitle(name)}>
          <h2>{domainTitle(name)}</h2>
          <div className="racks">
            {racks.map((rack) => (
              <RackCard key={rack.name} rack={rack} />
            ))}
          </div>
        </section>
      ))}
      {hidden > 0 && (
        <div className="row wrap">
          <button type="button" className="button" onClick={onMore}>
            Show more nodes
          </button>
          <span className="dim">
            {nodes.length.toLocaleString()} of {found.toLocaleString()} nodes are shown
          </span>
        </div>
      )}
    </div>
  );
}

const domainTitle = (name: string): string => (name === '' ? 'No power domain' : `Power domain ${name}`);

function RackCard({ rack: { name, nodes } }: { rack: Rack }) {
  const failed = tonesOf(nodes).get('failed') ?? 0;
  const title = name === '' ? 'No rack' : name;
  return (
    <section className="card" aria-label={`Rack ${title}`}>
      <header>
        <h3>{title}</h3>
        <span className="more">
          {failed > 0 && <span className="tone-failed">{failed} failed · </span>}
          {nodes.length} {nodes.length === 1 ? 'node' : 'nodes'}
        </span>
      </header>
      <ul className="slots">
        {nodes.map((node) => (
          <li key={node.uuid}>
            <Slot node={node} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Slot({ node }: { node: NodeRepresentation }) {
  const tone = toneOfNode(node);
  const { fault, maintenance, provision_state: state, power_state: power } = node;
  const words = fault ?? (maintenance ? 'maintenance' : (state ?? 'unknown'));
  return (
    <Link
      to="/nodes/$node"
      params={{ node: nameOfNode(node) }}
      preload={false}
      className={`slot tone-${tone}`}
      title={`${nameOfNode(node)}: ${[state, power, fault, maintenance && 'maintenance'].filter(Boolean).join(', ')}`}
    >
      <Mark tone={tone} />
      <b className="cut">{nameOfNode(node)}</b>
      <span className="words cut">{words}</span>
    </Link>
  );
}
