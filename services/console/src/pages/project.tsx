/** One project: who has which role in it, and what it may use. */
import { useNavigate, useParams } from '@tanstack/react-router';
import { Quotas } from '../access/quotas.tsx';
import { Roles } from '../access/roles.tsx';
import { useChange } from '../access/use-change.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { CopyCommand } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { StatePill } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

export function ProjectPage() {
  const { project: id } = useParams({ from: '/projects/$project' });
  const { client } = useSession();
  const change = useChange();
  const navigate = useNavigate();
  const project = useAsk(['identity', 'project', id], ({ identity }) => identity.projects.show(id));
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
            <span className="dim">{description}</span>
            <div className="actions">
              <Confirm
                label="Delete"
                title={`Delete the project ${name}?`}
                name={name}
                command={`anneal project delete ${name}`}
                request="DELETE /identity/v3/projects/{project}"
                onConfirm={remove(name)}
              >
                Its roles end, and no user can log in to it. A project with stacks is not deleted.
              </Confirm>
            </div>
          </div>
          <Roles of="project" name={name} id={id} />
          <Quotas name={name} id={id} />
          <div className="row dim">
            The same in a terminal: <CopyCommand command={`anneal project show ${name}`} />
          </div>
        </div>
      )}
    </Answer>
  );
}
