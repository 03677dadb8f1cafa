/** Tokens by which programs log in for the user of the session: application credentials. */
import { roleMeanings, type ProgramToken } from '@anneal/client/identity.ts';
import { useState, type FormEvent } from 'react';
import { Same } from '../parts/same.tsx';
import { SecretOnce, type ShownSecret } from '../access/secret.tsx';
import { useChange } from '../parts/use-change.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Table, type Column } from '../parts/table.tsx';
import { useSession } from '../session/session.tsx';

const request = '/identity/v3/users/{user}/application_credentials';

export function TokensPage() {
  const { session } = useSession();
  const tokens = useAsk(['identity', 'tokens'], (client) => client.identity.tokens.list());
  const [secret, show] = useState<ShownSecret>();
  const columns: readonly Column<ProgramToken>[] = [
    { name: 'Token', cell: ({ name }) => <b>{name}</b>, sort: ({ name }) => name },
    { name: 'Roles', cell: ({ roles }) => roles.map(({ name }) => name).join(', ') },
    {
      name: 'Expires',
      cell: ({ expires_at: at }) => (at === null ? 'never' : new Date(at).toLocaleString()),
      sort: ({ expires_at: at }) => at ?? '',
      isExtra: true,
    },
    { name: '', cell: (token) => <Revoke token={token} /> },
  ];
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Tokens</h1>
        <span className="dim">
          Programs log in with them as {session.user.name} in the project {session.project.name}.
        </span>
      </div>
      <CreateToken onCreated={show} />
      {secret && <SecretOnce secret={secret} close={() => show(undefined)} />}
      <section className="card">
        <Answer of={tokens}>
          {(rows) => (
            <Table
              label="Tokens"
              rows={rows}
              columns={columns}
              keyOf={({ id }) => id}
              empty={<Empty command="anneal token create ci --role reader">No token yet. Create one:</Empty>}
            />
          )}
        </Answer>
      </section>
      <Same command="anneal token list" request={`GET ${request}`} />
    </div>
  );
}

function Revoke({ token: { id, name } }: { token: ProgramToken }) {
  const { client } = useSession();
  const change = useChange('identity');
  return (
    <Confirm
      label="Revoke"
      title={`Revoke the token ${name}?`}
      name={name}
      command={`anneal token revoke ${name}`}
      request={`DELETE ${request}/{id}`}
      onConfirm={() => change(() => client.identity.tokens.revoke(id), `The token ${name} is revoked.`)}
    >
      Programs that use it are refused at once. This cannot be undone.
    </Confirm>
  );
}

function CreateToken({ onCreated }: { onCreated: (secret: ShownSecret) => void }) {
  const { client } = useSession();
  const change = useChange('identity');
  const [name, setName] = useState('');
  const [role, setRole] = useState('');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const create = async (): Promise<void> => {
      const { id, secret } = await client.identity.tokens.create({ name, roles: role === '' ? [] : [role] });
      onCreated({
        title: `The token ${name}.`,
        values: { OS_APPLICATION_CREDENTIAL_ID: id, OS_APPLICATION_CREDENTIAL_SECRET: secret },
      });
      setName('');
    };
    void change(create, `The token ${name} is created.`);
  };
  return (
    <form className="card body form" onSubmit={submit}>
      <div className="row wrap">
        <input
          className="field grow"
          aria-label="The name of the token"
          placeholder="Name, such as ci"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <select
          className="field"
          aria-label="The role of the token"
          value={role}
          onChange={(event) => setRole(event.target.value)}
        >
          <option value="">all of your roles</option>
          {Object.entries(roleMeanings).map(([each, meaning]) => (
            <option key={each} value={each}>
              {each} ({meaning})
            </option>
          ))}
        </select>
        <button type="submit" className="button first" disabled={name.trim() === ''}>
          Create the token
        </button>
      </div>
      <Same
        command={`anneal token create ${name === '' ? 'NAME' : name}${role === '' ? '' : ` --role ${role}`}`}
        request={`POST ${request}`}
      />
    </form>
  );
}
