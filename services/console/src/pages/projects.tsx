/** Projects: what stacks, hosts and queues belong to. For administrators. */
import type { ProjectView } from '@anneal/client/identity.ts';
import { Link } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { PanelToggle, usePanel } from '../parts/panel.tsx';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { Empty } from '../parts/command.tsx';
import { Filter } from '../parts/filter.tsx';
import { StateWord } from '../parts/state.tsx';
import { PagedTable, type PagedColumn } from '../asking/paged-table.tsx';
import { useSession } from '../session/session.tsx';

const columns: readonly PagedColumn<ProjectView>[] = [
  {
    name: 'Project',
    cell: ({ id, name }) => (
      <Link to="/projects/$project" params={{ project: id }}>
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
  {
    name: 'Description',
    cell: ({ description }) => <span className="dim">{description}</span>,
    by: 'description',
    isExtra: true,
  },
];

export function ProjectsPage() {
  const { open } = usePanel();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Projects</h1>
        <Filter what="projects by name, description or status" />
        <PanelToggle name="new">New project …</PanelToggle>
      </div>
      {open === 'new' && <CreateProject />}
      <section className="card">
        <PagedTable
          list="identity"
          of="projects"
          label="Projects"
          ask={({ identity }, page) => identity.projects.page(page)}
          columns={columns}
          keyOf={({ id }) => id}
          empty={(find) => (
            <Empty command="anneal project create web">
              {find === '' ? 'No project yet. Create one:' : 'No project matches the filter.'}
            </Empty>
          )}
        />
      </section>
      <Same command="anneal project list" request="GET /api/v1/projects" />
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
