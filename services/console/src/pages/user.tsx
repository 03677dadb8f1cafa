/** One user: its roles, its password, and whether it may log in. */
import type { UserView } from '@anneal/client/identity.ts';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { Roles } from '../access/roles.tsx';
import { newPassword, SecretOnce, type ShownSecret } from '../access/secret.tsx';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { useAsk } from '../live/ask.ts';
import { Act } from '../parts/act.tsx';
import { Answer } from '../parts/answer.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { StatePill } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

const request = '/identity/v3/users/{user}';

export function UserPage() {
  const { user: id } = useParams({ from: '/users/$user' });
  const user = useAsk(['identity', 'user', id], ({ identity }) => identity.users.show(id));
  const [secret, show] = useState<ShownSecret>();
  return (
    <Answer of={user}>
      {(shown) => (
        <div className="stackwise">
          <Heading user={shown} show={show} />
          {secret && <SecretOnce secret={secret} close={() => show(undefined)} />}
          <Roles of="user" name={shown.name} id={shown.id} />
          <Same command={`anneal user show ${shown.name}`} request={`GET ${request}`} />
        </div>
      )}
    </Answer>
  );
}

function Heading({ user: { id, name, enabled }, show }: { user: UserView; show: (secret: ShownSecret) => void }) {
  const { client, session } = useSession();
  const change = useChange('identity');
  const navigate = useNavigate();
  const { users } = client.identity;
  const setPassword = async (): Promise<void> => {
    const password = newPassword();
    const isSet = await change(() => users.setPassword({ user: id, password }), `${name} has a new password.`);
    if (isSet) show({ title: `The new password of ${name}.`, values: { password } });
  };
  const remove = async (): Promise<void> => {
    if (await change(() => users.remove(id), `The user ${name} is deleted.`)) await navigate({ to: '/users' });
  };
  const setEnabled = (to: boolean) =>
    change(() => users.setEnabled({ user: id, enabled: to }), `The user ${name} is ${to ? 'enabled' : 'disabled'}.`);
  const isOwn = id === session.user.id;
  return (
    <div className="heading">
      <h1>{name}</h1>
      <StatePill state={enabled ? 'enabled' : 'disabled'} tone={enabled ? 'done' : 'idle'} />
      <code className="dim wide-only">{id}</code>
      {isOwn && <span className="dim">This is you: each of these ends your session.</span>}
      <div className="actions">
        <Confirm
          label="New password"
          title={`Give ${name} a new password?`}
          name={name}
          command={`anneal user password ${name}`}
          request={`PATCH ${request}`}
          onConfirm={setPassword}
        >
          The old password stops working, and all tokens of the user end at once.
        </Confirm>
        {enabled ? (
          <Confirm
            label="Disable"
            title={`Disable the user ${name}?`}
            name={name}
            command={`anneal user disable ${name}`}
            request={`PATCH ${request}`}
            onConfirm={() => setEnabled(false)}
          >
            The user cannot log in, and its tokens end at once. Enable it to undo this.
          </Confirm>
        ) : (
          <Act
            label="Enable"
            command={`anneal user enable ${name}`}
            request={`PATCH ${request}`}
            onAct={() => setEnabled(true)}
          />
        )}
        <Confirm
          label="Delete"
          title={`Delete the user ${name}?`}
          name={name}
          command={`anneal user delete ${name}`}
          request={`DELETE ${request}`}
          onConfirm={remove}
        >
          Its roles and tokens end at once. This cannot be undone.
        </Confirm>
      </div>
    </div>
  );
}
