/** Roles of users in projects: the table of a project or a user, and the form that gives one. */
import { roleMeanings, type RoleGrant } from '@anneal/client/identity.ts';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useSession } from '../session/session.tsx';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { PickName } from './pick-name.tsx';

const request = '/identity/v3/projects/{project}/users/{user}/roles/{role}';

/** The roles in a project, or those of a user. */
export function Roles({ of, name, id }: { of: 'project' | 'user'; name: string; id: string }) {
  const grants = useAsk(['identity', 'roles', of, id], (client) => client.identity.roles.list({ [of]: id }));
  const other = of === 'project' ? 'user' : 'project';
  return (
    <section className="card" aria-label="Roles">
      <header>
        <h2>{of === 'project' ? 'Users and their roles' : 'Roles'}</h2>
      </header>
      <div className="body stackwise">
        <Answer of={grants}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty>
                {of === 'project' ? 'No user has a role here.' : 'The user has no role, so it cannot log in.'}
              </Empty>
            ) : (
              <ul className="grants" aria-label="Roles">
                {rows.map((grant) => (
                  <Grant key={JSON.stringify(grant)} grant={grant} shown={other} />
                ))}
              </ul>
            )
          }
        </Answer>
        <GrantForm of={of} name={name} id={id} />
      </div>
    </section>
  );
}

function Grant({ grant: { user, group, role, scope }, shown }: { grant: RoleGrant; shown: 'project' | 'user' }) {
  const { client } = useSession();
  const change = useChange('identity');
  const { project, domain } = scope;
  const place = project ? project.name : domain ? `domain ${domain.name}` : 'the system';
  return (
    <li className="row wrap">
      <span className="grow">
        {shown === 'project' &&
          (project ? (
            <Link to="/projects/$project" params={{ project: project.id }}>
              {place}
            </Link>
          ) : (
            place
          ))}
        {shown === 'user' &&
          (user ? (
            <Link to="/users/$user" params={{ user: user.id }}>
              {user.name}
            </Link>
          ) : (
            `group ${group?.name ?? ''}`
          ))}
      </span>
      <b>{role.name}</b>
      {user && project && (
        <Confirm
          label="Revoke"
          title={`Revoke ${role.name} in ${project.name} from ${user.name}?`}
          name={user.name}
          command={`anneal user revoke ${user.name} ${role.name} --project ${project.name}`}
          request={`DELETE ${request}`}
          onConfirm={() =>
            change(
              () => client.identity.roles.revoke({ user: user.id, role: role.id, project: project.id }),
              `${user.name} no longer has the role ${role.name} in ${project.name}.`,
            )
          }
        >
          The user loses what the role allows at once.
        </Confirm>
      )}
    </li>
  );
}

function GrantForm({ of, name, id }: { of: 'project' | 'user'; name: string; id: string }) {
  const { client } = useSession();
  const change = useChange('identity');
  const other = of === 'project' ? 'user' : 'project';
  const [chosen, choose] = useState('');
  const [role, setRole] = useState('member');
  const own = { id, name };
  const named = { id: chosen.trim(), name: chosen.trim() || other.toUpperCase() };
  const [user, project] = of === 'project' ? [named, own] : [own, named];
  const grant = (event: FormEvent) => {
    event.preventDefault();
    void change(
      () => client.identity.roles.grant({ user: user.id, role, project: project.id }),
      `${user.name} has the role ${role} in ${project.name}.`,
    );
  };
  return (
    <form className="stackwise" onSubmit={grant}>
      <div className="row wrap">
        <PickName
          kind={other}
          named={{ 'aria-label': `The ${other}` }}
          placeholder={`Name of the ${other}`}
          value={chosen}
          onChange={choose}
        />
        <select className="field" aria-label="The role" value={role} onChange={(event) => setRole(event.target.value)}>
          {Object.entries(roleMeanings).map(([each, meaning]) => (
            <option key={each} value={each}>
              {each} ({meaning})
            </option>
          ))}
        </select>
        <button type="submit" className="button" disabled={chosen.trim() === ''}>
          Grant
        </button>
      </div>
      <Same command={`anneal user grant ${user.name} ${role} --project ${project.name}`} request={`PUT ${request}`} />
    </form>
  );
}
