/** One node: its state, its last error, its inventory and what an operator can do with it. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { useParams } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { BmcHealth } from '../node/bmc.tsx';
import { NodeHistory } from '../node/node-parts.tsx';
import { CopyCommand } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useNotify } from '../parts/notices.tsx';
import { StatePill } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

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
              <p>{typeof shown.last_error === 'string' ? shown.last_error : JSON.stringify(shown.last_error)}</p>
            </section>
          )}
          <BmcHealth node={shown} />
          <NodeHistory node={name} />
          <section className="card">
            <header>
              <h2>Everything about it</h2>
            </header>
            <pre className="output" tabIndex={0}>
              {JSON.stringify(shown, null, 2)}
            </pre>
          </section>
          <div className="row dim">
            The same in a terminal: <CopyCommand command={`anneal node show ${name}`} />
          </div>
        </div>
      )}
    </Answer>
  );
}

function Heading({ node }: { node: NodeRepresentation }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const name = node.name ?? node.uuid;
  const isOn = node.power_state === 'power on';
  const maintain = () =>
    attempt(
      () => client.nodes.maintenance({ node: name, on: !node.maintenance }),
      node.maintenance ? `${name} is back in service.` : `${name} is in maintenance.`,
    );
  return (
    <div className="heading">
      <h1>{name}</h1>
      <StatePill state={node.provision_state ?? 'unknown'} />
      {node.fault !== null && <StatePill state={node.fault} tone="failed" />}
      <span className="dim">
        {node.power_state ?? 'power unknown'} · {node.resource_class}
      </span>
      <div className="actions">
        <button type="button" className="button" onClick={() => void maintain()}>
          {node.maintenance ? 'End maintenance' : 'Set maintenance'}
        </button>
        {isOn ? (
          <Confirm
            label="Power off"
            title={`Turn ${name} off?`}
            name={name}
            command={`anneal node power ${name} off`}
            onConfirm={() =>
              attempt(() => client.nodes.power({ node: name, target: 'power off' }), `${name} is being turned off.`)
            }
          >
            Everything that runs on it stops at once.
          </Confirm>
        ) : (
          <button
            type="button"
            className="button"
            onClick={() =>
              void attempt(() => client.nodes.power({ node: name, target: 'power on' }), `${name} is being turned on.`)
            }
          >
            Power on
          </button>
        )}
      </div>
    </div>
  );
}
