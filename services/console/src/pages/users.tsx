/** Users: who may log in. For administrators. */
import type { UserView } from '@anneal/client/identity.ts';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { quoted } from '../parts/quoted.ts';
import { PanelToggle, usePanel } from '../parts/panel.tsx';
import { Same } from '../parts/same.tsx';
import { newPassword, SecretOnce, type ShownSecret } from '../access/secret.tsx';
import { useChange } from '../parts/use-change.ts';
import { PickName } from '../access/pick-name.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { PagedTable, type PagedColumn } from '../asking/paged-table.tsx';
import { useSession } from '../session/session.tsx';

const columns: readonly PagedColumn<UserView>[] = [
  {
    name: 'User',
    cell: ({ id, name }) => (
      <Link to="/users/$user" params={{ user: id }}>
        <b>{name}</b>
      </Link>
    ),
    by: 'name',
  },
  {
    name: 'Status',
    cell: ({ enabled }) => <StateWord state={enabled ? 'enabled' : 'disabled'} tone={enabled ? 'done' : 'idle'} />,
    by: 'status',
  },
  { name: 'Id', cell: ({ id }) => <span className="mono dim">{id}</span>, isExtra: true },
];

export function UsersPage() {
  const { open } = usePanel();
  const [secret, show] = useState<ShownSecret>();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Users</h1>
        <Filter what="users by name or status" />
        <PanelToggle name="new">New user …</PanelToggle>
      </div>
      {open === 'new' && <CreateUser onCreated={show} />}
      {secret && <SecretOnce secret={secret} close={() => show(undefined)} />}
      <section className="card">
        <PagedTable
          list="identity"
          of="users"
          label="Users"
          ask={({ identity }, page) => identity.users.page(page)}
          columns={columns}
          keyOf={({ id }) => id}
          empty={(find) => (
            <Empty command="anneal user create ann --project web">
              {find === '' ? 'No user yet. Create one:' : 'No user matches the filter.'}
            </Empty>
          )}
        />
      </section>
      <Same command="anneal user list" request="GET /api/v1/users" />
    </div>
  );
}

function CreateUser({ onCreated }: { onCreated: (secret: ShownSecret) => void }) {
  const { client } = useSession();
  const change = useChange('identity');
  const [name, setName] = useState('');
  const [project, setProject] = useState('');
  const home = project.trim() === '' ? undefined : project.trim();
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const password = newPassword();
    const create = async (): Promise<void> => {
      const user = await client.identity.users.create({ name, password, project: home });
      onCreated({ title: `The password of ${name}.`, values: { password } });
      setName('');
      if (home !== undefined) await client.identity.roles.grant({ user: user.id, role: 'member', project: home });
    };
    await change(create, home !== undefined ? `${name} is a member of ${home}.` : `The user ${name} is created.`);
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
        <PickName
          kind="project"
          named={{ id: 'user-project' }}
          placeholder="no project yet"
          value={project}
          onChange={setProject}
        />
      </div>
      <div className="row">
        <button type="submit" className="button first" disabled={name.trim() === ''}>
          Create the user
        </button>
      </div>
      <Same
        command={`anneal user create ${name === '' ? 'NAME' : name}${home === undefined ? '' : ` --project ${quoted(home)}`}`}
        request="POST /identity/v3/users"
      />
    </form>
  );
}
