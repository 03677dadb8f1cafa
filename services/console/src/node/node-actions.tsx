/** What an operator does with a node: its next state, its place, its power, maintenance and removal. */
import type { NodeRepresentation } from '@anneal/client/representation.ts';
import { notesOf } from '@anneal/client/text/node-notes.ts';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent, type ReactNode } from 'react';
import { Act } from '../parts/act.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';
import { propertyOf } from './racks.ts';
import { isRemovable, offerOf, verbsOf, type OfferedVerb } from './verbs.ts';

export function NodeActions({ node }: { node: NodeRepresentation }) {
  const name = node.name ?? node.uuid;
  const isFree = isRemovable(node.provision_state ?? '') && node.instance_uuid === null;
  return (
    <div className="actions">
      {verbsOf(node).map((verb) => (
        <Provision key={verb} node={node} verb={verb} />
      ))}
      <Maintenance node={node} name={name} />
      <Power node={node} name={name} />
      {node.power_state === 'power on' && <Reboot node={node} name={name} />}
      {node.power_state === 'power on' && <Interrupt node={node} name={name} />}
      {isSuspect(node) && <ClearSuspect node={node} name={name} />}
      {node.power_state === null && <ConfirmOff node={node} name={name} />}
      {isFree && <Remove node={node} name={name} />}
      {!isFree && node.maintenance && <ForceRemoval node={node} name={name} />}
    </div>
  );
}

function Provision({ node, verb }: { node: NodeRepresentation; verb: OfferedVerb }) {
  const { client } = useSession();
  const change = useChange('nodes');
  const name = node.name ?? node.uuid;
  const { label, done, warning } = offerOf(verb, node);
  const same = {
    label,
    command: `anneal node provide ${quoted(name)}${verb === 'provide' ? '' : ` --verb ${verb}`}`,
    request: `PUT /baremetal/v1/nodes/${node.uuid}/states/provision`,
  };
  const act = () => change(() => client.nodes.provision({ node: name, target: verb }), done(name));
  if (warning === undefined) return <Act {...same} onAct={act} />;
  return (
    <Confirm {...same} title={`${label}: ${name}?`} onConfirm={act}>
      {warning}
    </Confirm>
  );
}

function Maintenance({ node, name }: { node: NodeRepresentation; name: string }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const inMaintenance = (on: boolean) => ({
    action: () => client.nodes.maintenance({ node: name, on }),
    done: on ? `${name} is in maintenance.` : `${name} is back in service.`,
  });
  const { action, done } = inMaintenance(!node.maintenance);
  return (
    <Act
      label={node.maintenance ? 'End maintenance' : 'Set maintenance'}
      command={`anneal node maintenance ${quoted(name)} ${node.maintenance ? 'off' : 'on'}`}
      request={`${node.maintenance ? 'DELETE' : 'PUT'} /baremetal/v1/nodes/${node.uuid}/maintenance`}
      onAct={() => attempt(action, done, inMaintenance(node.maintenance))}
    />
  );
}

function Power({ node, name }: { node: NodeRepresentation; name: string }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const request = `PUT /baremetal/v1/nodes/${node.uuid}/states/power`;
  if (node.power_state !== 'power on') {
    return (
      <Act
        label="Power on"
        command={`anneal node power ${quoted(name)} on`}
        request={request}
        onAct={() =>
          attempt(() => client.nodes.power({ node: name, target: 'power on' }), `${name} is being turned on.`)
        }
      />
    );
  }
  return (
    <Confirm
      label="Power off"
      title={`Turn ${name} off?`}
      name={name}
      command={`anneal node power ${quoted(name)} off`}
      request={request}
      onConfirm={() =>
        attempt(() => client.nodes.power({ node: name, target: 'power off' }), `${name} is being turned off.`)
      }
    >
      Everything that runs on it stops at once.
    </Confirm>
  );
}

function Reboot({ node, name }: { node: NodeRepresentation; name: string }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  return (
    <Confirm
      label="Reboot"
      title={`Reboot ${name}?`}
      command={`anneal node power ${quoted(name)} reboot`}
      request={`PUT /baremetal/v1/nodes/${node.uuid}/states/power`}
      onConfirm={() =>
        attempt(() => client.nodes.power({ node: name, target: 'rebooting' }), `${name} is being rebooted.`)
      }
    >
      The machine is turned off and on. Everything that runs on it stops at once, and its host asks for work again when
      it has booted.
    </Confirm>
  );
}

function Interrupt({ node, name }: { node: NodeRepresentation; name: string }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  return (
    <Confirm
      label="Send NMI"
      title={`Send an NMI to ${name}?`}
      command={`anneal node interrupt ${quoted(name)}`}
      request={`PUT /baremetal/v1/nodes/${node.uuid}/management/inject_nmi`}
      onConfirm={() => attempt(() => client.nodes.interrupt({ node: name }), `${name} was sent an NMI.`)}
    >
      Its kernel gets a non-maskable interrupt. It may stop, write a crash dump and start again, as it is set up.
    </Confirm>
  );
}

const isSuspect = (node: NodeRepresentation): boolean => notesOf(node).some(({ type }) => type === 'Suspect');

function ClearSuspect({ node, name }: { node: NodeRepresentation; name: string }) {
  const { client } = useSession();
  const change = useChange('nodes');
  return (
    <Act
      label="Trust again"
      command={`anneal node clear-suspect ${quoted(name)}`}
      request={`POST /api/v1/nodes/${node.uuid}/clear-suspect`}
      onAct={() => change(() => client.nodes.clearSuspect({ node: name }), `${name} is not suspect.`)}
    />
  );
}

function ConfirmOff({ node, name }: { node: NodeRepresentation; name: string }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const confirmOff = (reason: string) => {
    let said = `${name} counts as off.`;
    const act = async () => {
      const { warning } = await client.nodes.confirmOff({ node: name, reason });
      if (warning !== null) said = `${said} ${warning}`;
    };
    return attempt(act, () => said);
  };
  return (
    <Confirm
      label="It is off"
      title={`Confirm that the machine of ${name} is off?`}
      asks="Why, for the audit log"
      command={`anneal node confirm-off ${quoted(name)} --reason …`}
      request={`POST /api/v1/nodes/${node.uuid}/confirm-off`}
      onConfirm={confirmOff}
    >
      Nothing proves the power of this machine. What waits for the proof goes on: its host ends, and other machines take
      its place. If it still runs, two machines run as one host.
    </Confirm>
  );
}

function ForceRemoval({ node, name }: { node: NodeRepresentation; name: string }) {
  return (
    <Removal node={node} name={name} label="Force removal" force>
      Its work ends, and a server that it has stays without a machine. Anneal forgets its credentials and its history. A
      machine that may still run as a server is not removed: confirm first that it is off.
    </Removal>
  );
}

function Remove({ node, name }: { node: NodeRepresentation; name: string }) {
  return (
    <Removal node={node} name={name} label="Remove">
      Anneal forgets the machine, its credentials and its history. The machine itself stays as it is, and can be
      enrolled again.
    </Removal>
  );
}

function Removal(props: {
  node: NodeRepresentation;
  name: string;
  label: string;
  force?: boolean;
  /** What is lost. */
  children: ReactNode;
}) {
  const { node, name, label, force = false, children } = props;
  const { client } = useSession();
  const change = useChange('nodes');
  const navigate = useNavigate();
  return (
    <Confirm
      label={label}
      title={`Remove the node ${name}?`}
      name={name}
      command={`anneal node remove ${quoted(name)}${force ? ' --force' : ''}`}
      request={`DELETE /baremetal/v1/nodes/${node.uuid}${force ? '?force=true' : ''}`}
      onConfirm={async () => {
        const isDone = await change(() => client.nodes.remove({ node: name, force }), `${name} is removed.`);
        if (isDone) await navigate({ to: '/nodes' });
      }}
    >
      {children}
    </Confirm>
  );
}

/** Where the node stands: placement spreads servers over racks and power domains. */
export function NodePlace({ node }: { node: NodeRepresentation }) {
  const { client } = useSession();
  const change = useChange('nodes');
  const [rack, setRack] = useState(propertyOf(node, 'rack'));
  const [domain, setDomain] = useState(propertyOf(node, 'power_domain'));
  const name = node.name ?? node.uuid;
  const isChanged = rack !== propertyOf(node, 'rack') || domain !== propertyOf(node, 'power_domain');
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const fields = {
      ...(rack !== propertyOf(node, 'rack') && { 'properties/rack': rack === '' ? null : rack }),
      ...(domain !== propertyOf(node, 'power_domain') && {
        'properties/power_domain': domain === '' ? null : domain,
      }),
    };
    void change(() => client.nodes.set({ node: name, fields }), `${name} has its new place.`);
  };
  return (
    <form className="card" aria-label="Place" onSubmit={save}>
      <header>
        <h2>Place</h2>
        <span className="more">servers are spread over racks and power domains</span>
      </header>
      <div className="body row wrap">
        <label htmlFor="node-rack">Rack</label>
        <input id="node-rack" className="field" value={rack} onChange={(event) => setRack(event.target.value)} />
        <label htmlFor="node-domain">Power domain</label>
        <input id="node-domain" className="field" value={domain} onChange={(event) => setDomain(event.target.value)} />
        <button type="submit" className="button" disabled={!isChanged}>
          Save
        </button>
      </div>
      {isChanged && (
        <div className="body">
          <Same
            command={[
              `anneal node set ${quoted(name)}`,
              ...(rack !== propertyOf(node, 'rack') ? [`--property ${quoted(`rack=${rack}`)}`] : []),
              ...(domain !== propertyOf(node, 'power_domain')
                ? [`--property ${quoted(`power_domain=${domain}`)}`]
                : []),
            ].join(' ')}
            request={`PATCH /baremetal/v1/nodes/${node.uuid}`}
          />
        </div>
      )}
    </form>
  );
}
