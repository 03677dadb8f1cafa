/** Projects: what stacks, hosts and queues belong to. For administrators. */
import type { ProjectView } from '@anneal/client/identity.ts';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { useSession } from '../session/session.tsx';

const columns: readonly Column<ProjectView>[] = [
  {
    name: 'Project',
    cell: ({ id, name }) => (
      <Link to="/projects/$project" params={{ project: id }}>
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
  { name: 'Description', cell: ({ description }) => <span className="dim">{description}</span>, isExtra: true },
];

export function ProjectsPage() {
  const projects = useAsk(['identity', 'projects', 'rows'], (client) => client.identity.projects.list());
  const find = useFilter();
  const [isCreating, setCreating] = useState(false);
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Projects</h1>
        <Filter what="projects by name" />
        <button type="button" className="button" aria-expanded={isCreating} onClick={() => setCreating(!isCreating)}>
          New project …
        </button>
      </div>
      {isCreating && <CreateProject />}
      <section className="card">
        <Answer of={projects}>
          {(rows) => (
            <Table
              label="Projects"
              rows={matching(rows, find, ({ name, description }) => [name, description])}
              columns={columns}
              keyOf={({ id }) => id}
              empty={<Empty command="anneal project create web">No project matches. Create one:</Empty>}
            />
          )}
        </Answer>
      </section>
      <Same command="anneal project list" />
    </div>
  );
}

function CreateProject() {
  const { client } = useSession();
  const change = useChange('identity');
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const create = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const isDone = await change(
      () => client.identity.projects.create({ name, description }),
      `The project ${name} is created.`,
    );
    if (isDone) setName('');
  };
  return (
    <form className="card body form" onSubmit={(event) => void create(event)}>
      <div>
        <label htmlFor="project-name">Name</label>
        <input id="project-name" className="field" value={name} onChange={(event) => setName(event.target.value)} />
      </div>
      <div>
        <label htmlFor="project-text">
          Description <span className="dim">may be left out</span>
        </label>
        <input
          id="project-text"
          className="field"
          value={description}
          onChange={(event) => setDescription(event.target.value)}
        />
      </div>
      <div className="row">
        <button type="submit" className="button first" disabled={name.trim() === ''}>
          Create the project
        </button>
      </div>
      <Same command={`anneal project create ${name === '' ? 'NAME' : name}`} request="POST /identity/v3/projects" />
    </form>
  );
}
