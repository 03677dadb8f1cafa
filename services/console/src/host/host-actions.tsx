/** Why a host does no work, and what an operator does with it: credentials, and its removal. */
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { useNavigate } from '@tanstack/react-router';
import type { ShownSecret } from '../access/secret.tsx';
import { CopyCommand } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { Age } from '../parts/time.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

/** Why what waits for the host does not go on; nothing for a host that answers. */
export function WaitOf({ host: { name, status, pending, last_seen_at: seen } }: { host: HostView }) {
  if (status !== 'silent' && status !== 'expected') return null;
  const waiting =
    pending === 0 ? 'No config waits for it.' : `${pending} ${pending === 1 ? 'config waits' : 'configs wait'} for it.`;
  return (
    <section className="why tone-wait" aria-label="Why">
      <p>
        {status === 'silent' ? (
          <>
            <b>{name} has fallen silent.</b> Its agent last asked for work <Age since={seen} /> ago. {waiting} Look
            whether the machine is on and reaches this server, then start its agent:
          </>
        ) : (
          <>
            <b>{name} has not connected yet.</b> {waiting} This command prints the line to run on the machine:
          </>
        )}
      </p>
      <div className="exits">
        {status === 'silent' ? (
          <>
            <CopyCommand command="systemctl restart anneal-agent" />
            <CopyCommand command="journalctl -u anneal-agent -n 50" />
          </>
        ) : (
          <CopyCommand command={`anneal host join ${quoted(name)}`} />
        )}
      </div>
    </section>
  );
}

export function HostActions({ host, onSecret }: { host: HostView; onSecret: (secret: ShownSecret) => void }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const change = useChange('hosts');
  const navigate = useNavigate();
  const { name, server } = host;
  const path = `/api/v1/hosts/${encodeURIComponent(name)}`;
  const renew = () =>
    attempt(async () => {
      const { token } = await client.hosts.renewToken({ host: name });
      onSecret({ title: `${name} has a new token.`, values: { token } });
    }, `The token of ${name} is renewed.`);
  const remove = async (): Promise<void> => {
    if (await change(() => client.hosts.delete({ host: name }), `${name} is removed.`))
      await navigate({ to: '/hosts' });
  };
  return (
    <div className="actions">
      <Confirm
        label="New token"
        title={`Replace the token of ${name}?`}
        command={`anneal host token ${quoted(name)}`}
        request={`POST ${path}/token`}
        onConfirm={renew}
      >
        The agent of the machine cannot ask for work until it has the new token, which is shown once.
      </Confirm>
      {/* A host of a stack goes with its stack. */}
      {!server && (
        <Confirm
          label="Remove"
          title={`Remove the host ${name}?`}
          name={name}
          command={`anneal host delete ${quoted(name)}`}
          request={`DELETE ${path}`}
          onConfirm={remove}
        >
          Its queue and its credentials are deleted, and the machine gets no more work. Its files stay as they are.
        </Confirm>
      )}
    </div>
  );
}
