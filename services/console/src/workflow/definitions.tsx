/** The stored workflows: read one, store the workflows of a text, delete one. */
import type { WorkflowView } from '@anneal/contracts/calls/workflow.ts';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { quoted } from '../parts/quoted.ts';
import { useFilter } from '../parts/filter.tsx';
import { PanelToggle, usePanel } from '../parts/panel.tsx';
import { Same } from '../parts/same.tsx';
import { matching } from '../parts/table.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

export function Definitions() {
  const workflows = useAsk(['workflows'], (client) => client.workflows.list(), 10_000);
  const { open, show } = usePanel();
  const find = useFilter();
  return (
    <section className="card" aria-label="Definitions">
      <header>
        <h2>Definitions</h2>
        <span className="more">
          <PanelToggle name="store">Store workflows …</PanelToggle>
        </span>
      </header>
      {open === 'store' && <StoreWorkflows onStored={() => show(undefined)} />}
      <Answer of={workflows}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty command="anneal workflow create workflow.yaml">No workflow is stored. Store one:</Empty>
          ) : (
            <ul className="tasks body" aria-label="Stored workflows">
              {matching(rows, find, ({ name, description }) => [name, description]).map((row) => (
                <Definition key={row.id} workflow={row} />
              ))}
            </ul>
          )
        }
      </Answer>
      <div className="body">
        <Same command="anneal workflow list" request="GET /api/v1/workflows" />
      </div>
    </section>
  );
}

function Definition({ workflow }: { workflow: WorkflowView }) {
  const { name, description, tasks, definition, resource } = workflow;
  const { client } = useSession();
  const change = useChange('workflows');
  return (
    <li className="change">
      <div className="row wrap">
        <b>{name}</b>
        <span className="dim">{description || tasks.join(' → ')}</span>
        <span className="more row">
          {resource === null ? (
            <Confirm
              label="Delete"
              title={`Delete the workflow ${name}?`}
              name={name}
              command={`anneal workflow delete ${quoted(name)}`}
              request={`DELETE /api/v1/workflows/${encodeURIComponent(name)}`}
              onConfirm={() => change(() => client.workflows.delete({ workflow: name }), `${name} is deleted.`)}
            >
              Nothing starts it any more, and its text is gone. Its executions stay, and those that run go on.
            </Confirm>
          ) : (
            <span className="dim">a resource of a stack</span>
          )}
        </span>
      </div>
      {definition !== '' && (
        <details>
          <summary>Definition</summary>
          <pre className="output" tabIndex={0}>
            {definition}
          </pre>
        </details>
      )}
    </li>
  );
}

const example = `version: '2.0'
greet:
  input: [name]
  tasks:
    say:
      action: std.echo output=<% 'hello ' + $.name %>
`;

function StoreWorkflows({ onStored }: { onStored: () => void }) {
  const { client } = useSession();
  const change = useChange('workflows');
  const [text, setText] = useState(example);
  const [replace, setReplace] = useState(false);
  const store = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const create = () => client.workflows.create({ text, replace });
    if (await change(create, 'All workflows of the text are stored.')) onStored();
  };
  return (
    <form className="body form" onSubmit={(event) => void store(event)}>
      <div>
        <label htmlFor="workflow-text">
          Text <span className="dim">of one workflow or several; all of them are stored, or none</span>
        </label>
        <textarea
          id="workflow-text"
          className="field mono"
          rows={10}
          spellCheck={false}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </div>
      <div className="row wrap">
        <label htmlFor="workflow-file">or from a file</label>
        <input
          id="workflow-file"
          type="file"
          accept=".yaml,.yml"
          onChange={({ target }) => void target.files?.[0]?.text().then(setText)}
        />
        <label className="row">
          <input type="checkbox" checked={replace} onChange={({ target }) => setReplace(target.checked)} /> replace
          workflows of the same names
        </label>
        <button type="submit" className="button first" disabled={text.trim() === ''}>
          Store
        </button>
      </div>
      <Same
        command={`anneal workflow create workflow.yaml${replace ? ' --replace' : ''}`}
        request="POST /api/v1/workflows"
      />
    </form>
  );
}
