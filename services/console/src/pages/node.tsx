/** One node: its state, its last error, its inventory and what an operator can do with it. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { useParams } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Act } from '../parts/act.tsx';
import { Answer } from '../parts/answer.tsx';
import { BmcHealth } from '../node/bmc.tsx';
import { Consoles } from '../node/consoles.tsx';
import { NodeHistory } from '../node/node-parts.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { quoted } from '../parts/quoted.ts';
import { useNotify } from '../parts/notices.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { StatePill } from '../parts/state.tsx';
import { Same } from '../parts/same.tsx';
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
              <p>
                <Sentence
                  text={typeof shown.last_error === 'string' ? shown.last_error : JSON.stringify(shown.last_error)}
                />
              </p>
            </section>
          )}
          <BmcHealth node={shown} />
          <Consoles node={shown} />
          <NodeHistory node={name} />
          <details className="card body">
            <summary>All fields</summary>
            <pre className="output" tabIndex={0}>
              {JSON.stringify(shown, null, 2)}
            </pre>
          </details>
          <Same command={`anneal node show ${name}`} />
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
  const path = `/baremetal/v1/nodes/${node.uuid}`;
  const inMaintenance = (on: boolean) => ({
    action: () => client.nodes.maintenance({ node: name, on }),
    done: on ? `${name} is in maintenance.` : `${name} is back in service.`,
  });
  const maintain = () => {
    const { action, done } = inMaintenance(!node.maintenance);
    return attempt(action, done, inMaintenance(node.maintenance));
  };
  return (
    <div className="heading">
      <h1>{name}</h1>
      <StatePill state={node.provision_state ?? 'unknown'} />
      {node.fault !== null && <StatePill state={node.fault} tone="failed" />}
      <span className="dim">
        {node.power_state ?? 'power unknown'} · {node.resource_class}
      </span>
      <div className="actions">
        <Act
          label={node.maintenance ? 'End maintenance' : 'Set maintenance'}
          command={`anneal node maintenance ${quoted(name)} ${node.maintenance ? 'off' : 'on'}`}
          request={`${node.maintenance ? 'DELETE' : 'PUT'} ${path}/maintenance`}
          onAct={maintain}
        />
        {isOn ? (
          <Confirm
            label="Power off"
            title={`Turn ${name} off?`}
            name={name}
            command={`anneal node power ${quoted(name)} off`}
            request={`PUT ${path}/states/power`}
            onConfirm={() =>
              attempt(() => client.nodes.power({ node: name, target: 'power off' }), `${name} is being turned off.`)
            }
          >
            Everything that runs on it stops at once.
          </Confirm>
        ) : (
          <Act
            label="Power on"
            command={`anneal node power ${quoted(name)} on`}
            request={`PUT ${path}/states/power`}
            onAct={() =>
              attempt(() => client.nodes.power({ node: name, target: 'power on' }), `${name} is being turned on.`)
            }
          />
        )}
      </div>
    </div>
  );
}
