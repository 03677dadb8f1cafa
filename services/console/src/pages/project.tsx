/** One project: who has which role in it, and what it may use. */
import { useNavigate, useParams } from '@tanstack/react-router';
import { Quotas } from '../access/quotas.tsx';
import { Roles } from '../access/roles.tsx';
import { useChange } from '../parts/use-change.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Act } from '../parts/act.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { StatePill } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

export function ProjectPage() {
  const { project: id } = useParams({ from: '/projects/$project' });
  const { client, session } = useSession();
  const change = useChange('identity');
  const navigate = useNavigate();
  const project = useAsk(['identity', 'project', id], ({ identity }) => identity.projects.show(id));
  const request = `/identity/v3/projects/${id}`;
  const isOwn = id === session.project.id;
  const setEnabled = (name: string, to: boolean) =>
    change(
      () => client.identity.projects.set({ project: id, enabled: to }),
      `The project ${name} is ${to ? 'enabled' : 'disabled'}.`,
    );
  const remove = (name: string) => async () => {
    if (await change(() => client.identity.projects.remove(id), `The project ${name} is deleted.`)) {
      await navigate({ to: '/projects' });
    }
  };
  return (
    <Answer of={project}>
      {({ name, enabled, description }) => (
        <div className="stackwise">
          <div className="heading">
            <h1>{name}</h1>
            <StatePill state={enabled ? 'enabled' : 'disabled'} tone={enabled ? 'done' : 'idle'} />
            <code className="dim wide-only">{id}</code>
            <span className="dim">{description}</span>
            {isOwn && <span className="dim">You are logged in to it: disabling or deleting it ends your session.</span>}
            <div className="actions">
              {enabled ? (
                <Confirm
                  label="Disable"
                  title={`Disable the project ${name}?`}
                  name={name}
                  command={`anneal project disable ${quoted(name)}`}
                  request={`PATCH ${request}`}
                  onConfirm={() => setEnabled(name, false)}
                >
                  No user can log in to it, and the tokens in it end at once. Its stacks and hosts stay as they are.
                  Enable it to undo this.
                </Confirm>
              ) : (
                <Act
                  label="Enable"
                  command={`anneal project enable ${quoted(name)}`}
                  request={`PATCH ${request}`}
                  onAct={() => setEnabled(name, true)}
                />
              )}
              <Confirm
                label="Delete"
                title={`Delete the project ${name}?`}
                name={name}
                command={`anneal project delete ${quoted(name)}`}
                request={`DELETE ${request}`}
                onConfirm={remove(name)}
              >
                Its roles end, and no user can log in to it. A project with stacks is not deleted.
              </Confirm>
            </div>
          </div>
          <Roles of="project" name={name} id={id} />
          <Quotas name={name} id={id} />
          <Same command={`anneal project show ${quoted(name)}`} request={`GET ${request}`} />
        </div>
      )}
    </Answer>
  );
}
