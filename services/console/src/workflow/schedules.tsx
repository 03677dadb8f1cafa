/** The schedules that start workflows at the times of a cron expression. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { CronTriggerView } from '@anneal/contracts/calls/workflow.ts';
import { formatClock } from '@anneal/client/text/time.ts';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { quoted } from '../parts/quoted.ts';
import { useFilter } from '../parts/filter.tsx';
import { Same } from '../parts/same.tsx';
import { matching } from '../parts/table.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

export function Schedules() {
  // The time of the next start changes without an event.
  const find = useFilter();
  const schedules = useAsk(['schedules'], (client) => client.cronTriggers.list(), 10_000);
  return (
    <section className="card" aria-label="Schedules">
      <header>
        <h2>Schedules</h2>
      </header>
      <Answer of={schedules}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>No schedule starts a workflow.</Empty>
          ) : (
            <ul className="needs" aria-label="Schedules of workflows">
              {matching(rows, find, ({ name, workflow }) => [name, workflow]).map((row) => (
                <Schedule key={row.id} schedule={row} />
              ))}
            </ul>
          )
        }
      </Answer>
      <NewSchedule />
    </section>
  );
}

function Schedule({ schedule }: { schedule: CronTriggerView }) {
  const { name, workflow, pattern, resource, next_execution_time: next, remaining_executions: remaining } = schedule;
  const { client } = useSession();
  const change = useChange('schedules');
  return (
    <li>
      <span />
      <b className="cut">{name}</b>
      <span className="what">
        starts {workflow} <code>{pattern}</code>
      </span>
      <span className="dim">
        {next === null ? 'never again' : `next ${formatClock(next)}`}
        {remaining !== null && `, ${remaining} left`}
      </span>
      <span className="act row">
        {resource === null ? (
          <Confirm
            label="Delete"
            title={`Delete the schedule ${name}?`}
            command={`anneal workflow unschedule ${quoted(name)}`}
            request={`DELETE /api/v1/cron_triggers/${encodeURIComponent(name)}`}
            onConfirm={() => change(() => client.cronTriggers.delete({ name }), `${name} starts nothing any more.`)}
          >
            It starts {workflow} no more. Executions that it started stay.
          </Confirm>
        ) : (
          <span className="dim">a resource of a stack</span>
        )}
      </span>
    </li>
  );
}

function NewSchedule() {
  const workflows = useAsk(['workflows'], (client) => client.workflows.list(), 10_000);
  const { client } = useSession();
  const change = useChange('schedules');
  const [name, setName] = useState('');
  const [workflow, setWorkflow] = useState('');
  const [pattern, setPattern] = useState('0 3 * * *');
  const [input, setInput] = useState('{}');
  const create = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const start = () => client.cronTriggers.create({ name, workflow, pattern, input: parseExact(input) as never });
    if (await change(start, `${name} starts ${workflow} at its times.`)) setName('');
  };
  return (
    <form className="body form" onSubmit={(event) => void create(event)}>
      <div className="row wrap">
        <label htmlFor="schedule-name">Name</label>
        <input
          id="schedule-name"
          className="field"
          required
          placeholder="nightly"
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
        <label htmlFor="schedule-workflow">starts</label>
        <select
          id="schedule-workflow"
          className="field"
          required
          value={workflow}
          onChange={({ target }) => setWorkflow(target.value)}
        >
          <option value="">Choose a workflow …</option>
          {(workflows.data ?? []).map((each) => (
            <option key={each.id}>{each.name}</option>
          ))}
        </select>
        <label htmlFor="schedule-pattern">
          at <span className="dim">minute hour day month weekday, in UTC</span>
        </label>
        <input
          id="schedule-pattern"
          className="field mono"
          required
          value={pattern}
          onChange={({ target }) => setPattern(target.value)}
        />
        <label htmlFor="schedule-input">with input</label>
        <input
          id="schedule-input"
          className="field mono"
          value={input}
          onChange={({ target }) => setInput(target.value)}
        />
        <button type="submit" className="button" disabled={name === '' || workflow === ''}>
          Schedule
        </button>
      </div>
      <Same
        command={`anneal workflow schedule ${quoted(name || 'NAME')} ${quoted(workflow || 'WORKFLOW')} --pattern ${quoted(pattern)}${input === '{}' ? '' : ' --input KEY=VALUE'}`}
        request="POST /api/v1/cron_triggers"
      />
    </form>
  );
}
