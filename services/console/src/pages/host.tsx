/** One host: its facts, and what ran on it. */
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { Link, useParams } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { useChosen } from '../parts/chosen.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { StatePill, StateWord } from '../parts/state.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';
import { useSession } from '../session/session.tsx';
import { SecretOnce, type ShownSecret } from '../access/secret.tsx';
import { HostActions, WaitOf } from '../host/host-actions.tsx';
import { hostStatusWord, rebootCount, rebootSentence } from '@anneal/contracts/calls/hosts.ts';
import { Output } from '../host/output.tsx';
import { useState } from 'react';
import { Same } from '../parts/same.tsx';
import { ProgressLine } from '../node/progress.tsx';
import { RunPanel } from '../host/run.tsx';

export function HostPage() {
  const { host: name } = useParams({ from: '/hosts/$host' });
  const [secret, setSecret] = useState<ShownSecret>();
  const host = useAsk(['hosts', name], (client) => client.hosts.show({ host: name }), 10_000);
  return (
    <Answer of={host}>
      {(shown) => (
        <div className="stackwise">
          <div className="heading">
            <h1>{shown.name}</h1>
            <StatePill state={hostStatusWord(shown)} />
            <span className="dim">
              {shown.last_seen_at === null ? (
                'has not connected yet'
              ) : (
                <>
                  last seen <Age since={shown.last_seen_at} /> ago
                </>
              )}
            </span>
            {shown.reboot && <span className="dim">{rebootSentence(shown)}</span>}
            <HostActions host={shown} onSecret={setSecret} />
          </div>
          {secret && <SecretOnce secret={secret} close={() => setSecret(undefined)} />}
          <WaitOf host={shown} />
          <div className="two">
            <Deployments host={shown} />
            <Facts host={shown} />
          </div>
          <Same command={`anneal host show ${shown.name}`} request={`GET /api/v1/hosts/${shown.name}`} />
        </div>
      )}
    </Answer>
  );
}

/** The node that the host runs on. The id of the server is the id of its host. */
function Machine({ host }: { host: string }) {
  const nodes = useAsk(['nodes', 'of host', host], (client) => client.nodes.list({ instance: host }), 10_000);
  const [node] = nodes.data ?? [];
  if (!node) return null;
  const name = node.name ?? node.uuid;
  return (
    <>
      <dt>Node</dt>
      <dd>
        <Link to="/nodes/$node" params={{ node: name }}>
          {name}
        </Link>{' '}
        <span className="dim">{node.power_state}</span>
      </dd>
      {node.progress && (
        <>
          <dt>Machine</dt>
          <dd>
            <ProgressLine progress={node.progress} />
          </dd>
        </>
      )}
    </>
  );
}

/** A fact is a text, a number, or several of them. */
const factText = (value: unknown): string =>
  Array.isArray(value) ? value.map(factText).join(', ') : typeof value === 'string' ? value : JSON.stringify(value);

function Facts({ host }: { host: HostView }) {
  const { session } = useSession();
  const facts = Object.entries(host.facts);
  return (
    <section className="card">
      <header>
        <h2>Facts</h2>
      </header>
      <dl className="facts body">
        {host.server && (
          <>
            <dt>Server</dt>
            <dd>
              <Link to="/stacks/$stack" params={{ stack: host.server.stack_name }}>
                {host.server.stack_name}/{host.server.resource_name}
              </Link>
            </dd>
          </>
        )}
        {host.server && session.operator && <Machine host={host.id} />}
        <dt>Queue</dt>
        <dd>
          <Link to="/queues/$queue" params={{ queue: host.requests_queue }} className="mono">
            {host.requests_queue}
          </Link>
        </dd>
        {facts.map(([key, value]) => (
          <div key={key} style={{ display: 'contents' }}>
            <dt>{key}</dt>
            <dd className="mono">{factText(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Deployments({ host }: { host: HostView }) {
  const deployments = useAsk(['deployments', host.id], (client) => client.deployments.list({ host: host.id }));
  const [chosen, choose] = useChosen();
  const columns: readonly Column<DeploymentView>[] = [
    {
      name: 'Config',
      cell: ({ id, name, resource_name: resource }) => (
        <button type="button" className="link" onClick={() => choose(id)}>
          {resource || name}
        </button>
      ),
      sort: ({ resource_name: resource, name }) => resource || name,
    },
    { name: 'State', cell: ({ status }) => <StateWord state={status} />, sort: ({ status }) => status },
    {
      name: 'Reboots',
      cell: ({ reboot }) => <span className="dim">{reboot ? rebootCount(reboot) : ''}</span>,
      isExtra: true,
    },
    {
      name: 'Queued',
      cell: (row) => <Age since={row.queued_at ?? row.created_at} />,
      sort: (row) => row.queued_at ?? row.created_at,
      isNumber: true,
    },
    { name: 'Reason', cell: ({ reason }) => <span className="dim">{reason}</span>, isExtra: true, fills: true },
  ];
  return (
    <div className="stackwise">
      <section className="card">
        <header>
          <h2>Configs</h2>
          <span className="more">choose one to see its output</span>
        </header>
        <Answer of={deployments}>
          {(rows) => (
            <Table
              label="Configs"
              rows={rows.toSorted((a, b) => b.created_at.localeCompare(a.created_at))}
              columns={columns}
              keyOf={({ id }) => id}
              empty={<Empty command={`anneal run uptime --hosts ${host.name}`}>Nothing ran yet. Run something:</Empty>}
            />
          )}
        </Answer>
      </section>
      {chosen !== undefined && <Output key={chosen} deployment={chosen} />}
      <RunPanel host={host} />
    </div>
  );
}
