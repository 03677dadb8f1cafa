/** Workflows: their executions, the tasks of one and what an operator can do with them, their definitions and schedules. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { ExecutionTaskView, ExecutionView } from '@anneal/contracts/calls/workflow.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { useChosen } from '../parts/chosen.ts';
import { Act } from '../parts/act.tsx';
import { Answer } from '../parts/answer.tsx';
import { CloseDetail } from '../parts/close-detail.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { Mark, StatePill, StateWord } from '../parts/state.tsx';
import { matching, Table, type Column } from '../parts/table.tsx';
import { Age, useNow } from '../parts/time.tsx';
import { useSession } from '../session/session.tsx';
import { Definitions } from '../workflow/definitions.tsx';
import { Schedules } from '../workflow/schedules.tsx';

type Action = Parameters<ReturnType<typeof useSession>['client']['executions']['act']>[0]['action'];

export function WorkflowsPage() {
  const executions = useAsk(['executions'], (client) => client.executions.list({ limit: 100 }), 3000);
  const find = useFilter();
  const [chosen, choose] = useChosen();
  const columns: readonly Column<ExecutionView>[] = [
    {
      name: 'Workflow',
      cell: ({ id, workflow }) => (
        <button type="button" className="link" onClick={() => choose(id)}>
          {workflow}
        </button>
      ),
      sort: ({ workflow }) => workflow,
    },
    { name: 'State', cell: ({ state }) => <StateWord state={state} />, sort: ({ state }) => state },
    { name: 'Started', cell: (row) => <Age since={row.created_at} />, sort: (row) => row.created_at, isNumber: true },
    { name: 'Stack', cell: ({ stack }) => stack?.name ?? '', isExtra: true },
    { name: 'Reason', cell: ({ reason }) => <span className="dim">{reason}</span>, isExtra: true, fills: true },
  ];
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Workflows</h1>
        <Filter what="workflows, their executions and schedules" />
      </div>
      <Start onStart={choose} />
      {chosen !== undefined && <Execution key={chosen} id={chosen} onChoose={choose} />}
      <section className="card">
        <header>
          <h2>Executions</h2>
        </header>
        <Answer of={executions}>
          {(rows) => (
            <Table
              label="Executions"
              rows={matching(rows, find, ({ workflow, state, stack }) => [workflow, state, stack?.name ?? ''])}
              columns={columns}
              keyOf={({ id }) => id}
              empty={
                <Empty command="anneal workflow start NAME">
                  {find === '' ? 'No execution yet. Start one:' : 'No execution matches the filter.'}
                </Empty>
              }
            />
          )}
        </Answer>
      </section>
      <Same command="anneal workflow executions" request="GET /api/v1/executions" />
      <Definitions />
      <Schedules />
    </div>
  );
}

function Start({ onStart }: { onStart: (id: string) => void }) {
  const workflows = useAsk(['workflows'], (client) => client.workflows.list(), 10_000);
  const { client } = useSession();
  const { attempt } = useNotify();
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [input, setInput] = useState('{}');
  const rows = workflows.data ?? [];
  const chosen = rows.find((each) => each.name === name);
  const start = (event: FormEvent): void => {
    event.preventDefault();
    void attempt(async () => {
      const { id } = await client.executions.start({ workflow: name, input: parseExact(input) as never });
      await queries.invalidateQueries({ queryKey: ['executions'] });
      onStart(id);
    }, `${name} has started.`);
  };
  if (!workflows.data) return <Answer of={workflows}>{() => null}</Answer>;
  if (rows.length === 0) return null;
  return (
    <form className="card body form" onSubmit={start}>
      <div className="row wrap">
        <label htmlFor="workflow">Start</label>
        <select id="workflow" className="field" value={name} onChange={(event) => setName(event.target.value)} required>
          <option value="">Choose a workflow …</option>
          {rows.map((each) => (
            <option key={each.id}>{each.name}</option>
          ))}
        </select>
        <label htmlFor="workflow-input">with input</label>
        <input
          id="workflow-input"
          className="field mono grow"
          value={input}
          onChange={(event) => setInput(event.target.value)}
        />
        <button type="submit" className="button first" disabled={name === ''}>
          Start
        </button>
      </div>
      {chosen && (
        <p className="dim">
          {chosen.description || chosen.tasks.join(' → ')}
          {chosen.input.length > 0 &&
            ` · input: ${chosen.input.map((each) => (each.required ? `${each.name} (required)` : each.name)).join(', ')}`}
        </p>
      )}
      <Same
        command={`anneal workflow start ${quoted(name || 'NAME')} --input ${quoted(input)}`}
        request="POST /api/v1/executions"
      />
    </form>
  );
}

const isOver = (state: string): boolean => ['SUCCESS', 'ERROR', 'CANCELLED'].includes(state);

function ExecutionActions(props: {
  execution: ExecutionView;
  onAct: (action: Action, done: string) => void;
  onChoose: (id: string) => void;
}) {
  const { execution, onAct, onChoose } = props;
  const same = (verb: string) => ({
    command: `anneal workflow ${verb} ${execution.id}`,
    request: `POST /api/v1/executions/${execution.id}/action`,
  });
  return (
    <span className="more row wrap">
      {execution.parent && (
        <button
          type="button"
          className="button"
          onClick={() => onChoose(execution.parent?.execution_id ?? execution.id)}
        >
          Show its parent
        </button>
      )}
      {execution.state === 'RUNNING' && (
        <Act label="Pause" {...same('pause')} onAct={() => onAct({ kind: 'pause' }, 'The execution pauses.')} />
      )}
      {execution.state === 'PAUSED' && (
        <Act label="Resume" {...same('resume')} onAct={() => onAct({ kind: 'resume' }, 'The execution goes on.')} />
      )}
      {isOver(execution.state) && (
        <Confirm
          label="Forget"
          title={`Delete the record of this execution of ${execution.workflow}?`}
          {...same('forget')}
          onConfirm={async () => onAct({ kind: 'delete' }, 'The execution is forgotten.')}
        >
          Its tasks, results and reasons are deleted. What it did stays. This cannot be undone.
        </Confirm>
      )}
      {!isOver(execution.state) && (
        <Confirm
          label="Cancel"
          keep="Let it run"
          title={`Cancel this execution of ${execution.workflow}?`}
          {...same('cancel')}
          onConfirm={async () => onAct({ kind: 'cancel' }, 'The execution is cancelled.')}
        >
          Its tasks end, and those that have not begun never do. This cannot be undone; a new execution begins from the
          start.
        </Confirm>
      )}
      <CloseDetail />
    </span>
  );
}

function Execution({ id, onChoose }: { id: string; onChoose: (id: string) => void }) {
  const shown = useAsk(['executions', id], (client) => client.executions.show({ id }), 1500);
  const { client } = useSession();
  const { attempt } = useNotify();
  const queries = useQueryClient();
  const act = (action: Action, done: string): void => {
    void attempt(() => client.executions.act({ id, action }), done).then(() =>
      queries.invalidateQueries({ queryKey: ['executions'] }),
    );
  };
  return (
    <Answer of={shown}>
      {({ execution, tasks }) => (
        <section className="card" aria-label={`Execution of ${execution.workflow}`}>
          <header>
            <h2>{execution.workflow}</h2>
            <StatePill state={execution.state} />
            <ExecutionActions execution={execution} onAct={act} onChoose={onChoose} />
          </header>
          <div className="body stackwise">
            {execution.reason && (
              <p className={execution.state === 'ERROR' ? 'tone-failed' : 'dim'}>{execution.reason}</p>
            )}
            <Tasks
              execution={id}
              tasks={tasks}
              onSkip={(task) => act({ kind: 'skip', task: task.id }, `${task.name} is skipped.`)}
              onRerun={(task) =>
                act(
                  { kind: 'rerun', task: task.id, failed_items_only: task.items.total > 1 },
                  `${task.name} runs again.`,
                )
              }
            />
            <details>
              <summary>Input and output</summary>
              <pre className="output" tabIndex={0}>
                {JSON.stringify({ input: execution.input, output: execution.output }, null, 2)}
              </pre>
            </details>
            <Same command={`anneal workflow execution ${id}`} request={`GET /api/v1/executions/${id}`} />
          </div>
        </section>
      )}
    </Answer>
  );
}

function Tasks({
  execution,
  tasks,
  onRerun,
  onSkip,
}: {
  /** The id of the execution. */
  execution: string;
  tasks: readonly ExecutionTaskView[];
  onRerun: (task: ExecutionTaskView) => void;
  onSkip: (task: ExecutionTaskView) => void;
}) {
  const now = useNow();
  if (tasks.length === 0) return <p className="dim">No task has begun.</p>;
  return (
    <ul className="tasks" aria-label="Tasks">
      {tasks.map((task) => {
        const end = task.finished_at === null ? now : Date.parse(task.finished_at);
        return (
          <li key={task.id} className="change">
            <p className="row wrap">
              <Mark tone={toneOf(task.state)} label={task.state.toLowerCase()} />
              <b>{task.name}</b>
              <code className="dim">{task.calls}</code>
              {task.attempt > 1 && <span className="dim">attempt {task.attempt}</span>}
              {task.items.total > 1 && (
                <span className="dim">
                  {task.items.ended} of {task.items.total} items
                </span>
              )}
              <span className="dim more">
                {task.started_at === null
                  ? 'not started'
                  : formatDuration(Math.max(0, end - Date.parse(task.started_at)))}
              </span>
              {task.state === 'ERROR' && (
                <Confirm
                  label="Skip"
                  title={`Skip the task ${task.name}?`}
                  command={`anneal workflow skip ${execution} ${task.name}`}
                  request={`POST /api/v1/executions/${execution}/action`}
                  onConfirm={async () => onSkip(task)}
                >
                  It counts as done without a result, and the tasks after it run.
                </Confirm>
              )}
              {task.state === 'ERROR' && (
                <Act
                  label="Run again"
                  command={`anneal workflow rerun ${execution} ${task.name}`}
                  request={`POST /api/v1/executions/${execution}/action`}
                  onAct={() => onRerun(task)}
                />
              )}
            </p>
            {task.reason && <p className={task.state === 'ERROR' ? 'tone-failed' : 'dim'}>{task.reason}</p>}
            {task.result !== null && (
              <details>
                <summary>Result</summary>
                <pre className="output" tabIndex={0}>
                  {JSON.stringify(task.result, null, 2)}
                </pre>
              </details>
            )}
          </li>
        );
      })}
    </ul>
  );
}
