/** One node: its state, its last error, its inventory and what an operator can do with it. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { Link, useParams } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { BmcHealth } from '../node/bmc.tsx';
import { ConsoleLog } from '../node/console-log.tsx';
import { Consoles } from '../node/consoles.tsx';
import { NodeActions, NodePlace } from '../node/node-actions.tsx';
import { NodeHistory } from '../node/node-parts.tsx';
import { MachineProgress } from '../node/progress.tsx';
import { Notes } from '../node/notes.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { StatePill } from '../parts/state.tsx';
import { Same } from '../parts/same.tsx';

export function NodePage() {
  const { node: name } = useParams({ from: '/nodes/$node' });
  const node = useAsk(['nodes', name], (client) => client.nodes.show({ node: name }), 10_000);
  return (
    <Answer of={node}>
      {(shown) => (
        <div className="stackwise">
          <Heading node={shown} />
          {shown.last_error !== null && shown.last_error !== undefined && (
            <section className="why tone-failed">
              <p>
                <Sentence
                  text={typeof shown.last_error === 'string' ? shown.last_error : JSON.stringify(shown.last_error)}
                />
              </p>
            </section>
          )}
          <MachineProgress node={shown} />
          <Notes node={shown} />
          <BmcHealth node={shown} />
          <Consoles node={shown} />
          <ConsoleLog node={shown} />
          <NodeHistory node={name} />
          <NodePlace key={`place ${shown.uuid}`} node={shown} />
          <details className="card body">
            <summary>All fields</summary>
            <pre className="output" tabIndex={0}>
              {JSON.stringify(shown, null, 2)}
            </pre>
          </details>
          <Same command={`anneal node show ${name}`} request={`GET /baremetal/v1/nodes/${name}`} />
        </div>
      )}
    </Answer>
  );
}

/** The host and the stack that use the node. The id of the server is the id of its host. */
function UserOf({ instance }: { instance: string }) {
  const host = useAsk(['hosts', instance], (client) => client.hosts.show({ host: instance })).data;
  if (!host) return null;
  return (
    <>
      {' · used by '}
      {host.server && (
        <>
          <Link to="/stacks/$stack" params={{ stack: host.server.stack_name }}>
            {host.server.stack_name}/{host.server.resource_name}
          </Link>{' '}
        </>
      )}
      as host{' '}
      <Link to="/hosts/$host" params={{ host: host.name }}>
        {host.name}
      </Link>
    </>
  );
}

function Heading({ node }: { node: NodeRepresentation }) {
  return (
    <div className="heading">
      <h1>{node.name ?? node.uuid}</h1>
      <StatePill state={node.provision_state ?? 'unknown'} />
      {node.fault !== null && <StatePill state={node.fault} tone="failed" />}
      {node.maintenance && <StatePill state="maintenance" />}
      <span className="dim about">
        {node.power_state ?? 'power unknown'}
        {node.target_power_state !== null && `, changing to ${node.target_power_state}`} · {node.resource_class}
        {node.instance_uuid !== null && <UserOf instance={node.instance_uuid} />}
      </span>
      <NodeActions node={node} />
    </div>
  );
}
