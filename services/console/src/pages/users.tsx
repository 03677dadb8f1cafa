/** Users: who may log in. For administrators. */
import type { UserView } from '@anneal/client/identity.ts';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { Same } from '../parts/same.tsx';
import { newPassword, SecretOnce, type ShownSecret } from '../access/secret.tsx';
import { useChange } from '../parts/use-change.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { useSession } from '../session/session.tsx';

const columns: readonly Column<UserView>[] = [
  {
    name: 'User',
    cell: ({ id, name }) => (
      <Link to="/users/$user" params={{ user: id }}>
        <b>{name}</b>
      </Link>
    ),
    sort: ({ name }) => name,
  },
  {
    name: 'Status',
    cell: ({ enabled }) => <StateWord state={enabled ? 'enabled' : 'disabled'} tone={enabled ? 'done' : 'idle'} />,
    sort: ({ enabled }) => Number(enabled),
  },
  { name: 'Id', cell: ({ id }) => <span className="mono dim">{id}</span>, isExtra: true },
];

export function UsersPage() {
  const users = useAsk(['identity', 'users', 'rows'], (client) => client.identity.users.list());
  const find = useFilter();
  const [isCreating, setCreating] = useState(false);
  const [secret, show] = useState<ShownSecret>();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Users</h1>
        <Filter what="users by name" />
        <button type="button" className="button" aria-expanded={isCreating} onClick={() => setCreating(!isCreating)}>
          New user …
        </button>
      </div>
      {isCreating && <CreateUser onCreated={show} />}
      {secret && <SecretOnce secret={secret} close={() => show(undefined)} />}
      <section className="card">
        <Answer of={users}>
          {(rows) => (
            <Table
              label="Users"
              rows={matching(rows, find, ({ name, id }) => [name, id])}
              columns={columns}
              keyOf={({ id }) => id}
              empty={<Empty command="anneal user create ann --project web">No user matches. Create one:</Empty>}
            />
          )}
        </Answer>
      </section>
      <Same command="anneal user list" />
    </div>
  );
}

function CreateUser({ onCreated }: { onCreated: (secret: ShownSecret) => void }) {
  const { client } = useSession();
  const change = useChange('identity');
  const projects = useAsk(['identity', 'projects', 'rows'], ({ identity }) => identity.projects.list());
  const [name, setName] = useState('');
  const [project, setProject] = useState('');
  const chosen = projects.data?.find(({ id }) => id === project);
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const password = newPassword();
    const home = chosen?.id;
    const create = async (): Promise<void> => {
      const user = await client.identity.users.create({ name, password, project: home });
      onCreated({ title: `The password of ${name}.`, values: { password } });
      setName('');
      if (home !== undefined) await client.identity.roles.grant({ user: user.id, role: 'member', project: home });
    };
    await change(create, chosen ? `${name} is a member of ${chosen.name}.` : `The user ${name} is created.`);
  };
  return (
    <form className="card body form" onSubmit={(event) => void submit(event)}>
      <div>
        <label htmlFor="user-name">
          Name <span className="dim">the password is generated and shown once</span>
        </label>
        <input id="user-name" className="field" value={name} onChange={(event) => setName(event.target.value)} />
      </div>
      <div>
        <label htmlFor="user-project">Member of the project</label>
        <select
          id="user-project"
          className="field"
          value={project}
          onChange={(event) => setProject(event.target.value)}
        >
          <option value="">no project yet</option>
          {(projects.data ?? []).map((each) => (
            <option key={each.id} value={each.id}>
              {each.name}
            </option>
          ))}
        </select>
      </div>
      <div className="row">
        <button type="submit" className="button first" disabled={name.trim() === ''}>
          Create the user
        </button>
      </div>
      <Same
        command={`anneal user create ${name === '' ? 'NAME' : name}${chosen ? ` --project ${chosen.name}` : ''}`}
        request="POST /identity/v3/users"
      />
    </form>
  );
}
