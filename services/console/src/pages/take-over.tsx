/** A stack of objects that exist already: of an abandoned stack, or of a stack of a running Heat. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { ImportRequest, StackImport } from '@anneal/client/actions.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { useNavigate } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { Act } from '../parts/act.tsx';
import { useNotify } from '../parts/notices.tsx';
import { optionsOf, quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { useSession } from '../session/session.tsx';

const origins = [
  ['anneal', 'Anneal wrote the file: abandon or export'],
  ['heat', 'Heat wrote the file: openstack stack abandon or export'],
] as const;
type Origin = (typeof origins)[number][0];

/** What the reader typed. */
interface Asked {
  readonly name: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly hosts: Readonly<Record<string, string>>;
}

interface Chosen {
  readonly file: string;
  readonly data: JsonObject;
}

/** @throws Error for a file without the data of a stack */
async function dataOf(file: File): Promise<Chosen> {
  let data: unknown;
  try {
    data = parseExact(await file.text());
  } catch (error) {
    throw new Error(`Cannot read ${file.name}: ${error instanceof Error ? error.message : 'it is not JSON'}.`, {
      cause: error,
    });
  }
  if (typeof data === 'object' && data !== null && 'resources' in data) {
    return { file: file.name, data: data as JsonObject };
  }
  throw new Error(`${file.name} has no data of a stack: choose what abandon or export wrote.`);
}

/** `name=value` on each line. */
function pairsIn(text: string): Record<string, string> {
  const lines = text.split('\n').map((line) => line.trim());
  return Object.fromEntries(
    lines.filter((line) => line !== '').map((line) => [line.split('=', 1)[0] ?? '', line.slice(line.indexOf('=') + 1)]),
  );
}

export function TakeOverPage() {
  const [origin, setOrigin] = useState<Origin>('anneal');
  const [chosen, setChosen] = useState<Chosen>();
  const [typed, setName] = useState('');
  const [parameters, setParameters] = useState('');
  const [hosts, setHosts] = useState('');
  const { attempt } = useNotify();
  const named = chosen?.data['name'] ?? chosen?.data['stack_name'];
  const name = typed === '' && typeof named === 'string' ? named : typed;
  const asked: Asked = { name, parameters: pairsIn(parameters), hosts: pairsIn(hosts) };
  const choose = (file: File | undefined): void => {
    setChosen(undefined);
    if (file) void attempt(async () => setChosen(await dataOf(file)), `${file.name} is read.`);
  };
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Take over a stack</h1>
        <span className="dim about">The machines and all other objects exist already, and stay as they are.</span>
      </div>
      <section className="card body form">
        <fieldset className="stackwise tight">
          <legend className="hidden-label">Who wrote the file</legend>
          {origins.map(([each, label]) => (
            <label key={each} className="row">
              <input type="radio" name="origin" checked={origin === each} onChange={() => setOrigin(each)} /> {label}
            </label>
          ))}
        </fieldset>
        <div>
          <label htmlFor="stack-file">File</label>
          <input
            id="stack-file"
            className="field"
            type="file"
            accept=".json,application/json"
            onChange={({ target }) => choose(target.files?.[0])}
          />
        </div>
        <div>
          <label htmlFor="stack-name">Name of the stack</label>
          <input id="stack-name" className="field" value={name} onChange={({ target }) => setName(target.value)} />
        </div>
        <Lines
          id="stack-parameters"
          label="Parameters"
          hint="name=value, one a line; for what the file hides"
          value={parameters}
          onChange={setParameters}
        />
        {origin === 'heat' && (
          <Lines
            id="stack-hosts"
            label="Hosts of servers"
            hint="server=host, one a line; the hosts have joined"
            value={hosts}
            onChange={setHosts}
          />
        )}
        {origin === 'anneal' ? (
          <Adopt chosen={chosen} asked={asked} />
        ) : (
          // A plan belongs to what was asked for.
          <Import key={JSON.stringify([chosen?.file, asked])} chosen={chosen} asked={asked} />
        )}
      </section>
    </div>
  );
}

function Lines(props: { id: string; label: string; hint: string; value: string; onChange: (value: string) => void }) {
  return (
    <div>
      <label htmlFor={props.id}>
        {props.label} <span className="dim">{props.hint}</span>
      </label>
      <textarea
        id={props.id}
        className="field mono"
        rows={2}
        value={props.value}
        onChange={({ target }) => props.onChange(target.value)}
      />
    </div>
  );
}

function Adopt({ chosen, asked: { name, parameters } }: { chosen: Chosen | undefined; asked: Asked }) {
  const { client, session } = useSession();
  const { attempt } = useNotify();
  const navigate = useNavigate();
  const adopt = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!chosen) return;
    const start = () => client.actions.adopt({ name, data: chosen.data, parameters });
    if (await attempt(start, `${name} is being adopted.`)) {
      await navigate({ to: '/stacks/$stack', params: { stack: name } });
    }
  };
  return (
    <form className="stackwise" onSubmit={(event) => void adopt(event)}>
      <div className="row">
        <button type="submit" className="button first" disabled={!chosen || name === ''}>
          Adopt
        </button>
      </div>
      <Same
        command={[
          `anneal stack adopt ${quoted(name || 'NAME')} --adopt-file ${quoted(chosen?.file ?? 'FILE')}`,
          ...optionsOf('-P', parameters),
        ].join(' ')}
        request={`POST /orchestration/v1/${session.project.id}/stacks`}
      />
    </form>
  );
}

/** Shows what would be taken over before anything is. */
function Import({ chosen, asked }: { chosen: Chosen | undefined; asked: Asked }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const navigate = useNavigate();
  const [plan, setPlan] = useState<StackImport>();
  const request = (dryRun: boolean): ImportRequest => ({
    ...asked,
    name: asked.name || undefined,
    data: chosen?.data ?? {},
    dryRun,
  });
  const show = (event: FormEvent): void => {
    event.preventDefault();
    void attempt(
      async () => setPlan(await client.actions.import(request(true))),
      'This is the plan; nothing was changed.',
    );
  };
  const takeOver = async (): Promise<void> => {
    if (!(await attempt(() => client.actions.import(request(false)), `${plan?.name} is being taken over.`))) return;
    await navigate({ to: '/stacks/$stack', params: { stack: plan?.name ?? '' } });
  };
  const { name, parameters, hosts } = asked;
  const command = [
    `anneal stack import ${quoted(chosen?.file ?? 'FILE')}`,
    ...(name === '' ? [] : [`--name ${quoted(name)}`]),
    ...optionsOf('-P', parameters),
    ...optionsOf('--host', hosts),
  ].join(' ');
  return (
    <form className="stackwise" onSubmit={show}>
      <div className="row">
        <button type="submit" className={plan ? 'button' : 'button first'} disabled={!chosen}>
          Show what would be taken over
        </button>
        {plan?.mistakes.length === 0 && (
          <Act
            label={`Take over ${plan.resources.length} resources`}
            isFirst
            command={command}
            request="POST /api/v1/stacks/import"
            onAct={takeOver}
          />
        )}
      </div>
      {plan && <ImportPlan plan={plan} />}
      <Same command={`${command} --dry-run`} request="POST /api/v1/stacks/import" />
    </form>
  );
}

function ImportPlan({ plan: { resources, warnings, mistakes } }: { plan: StackImport }) {
  return (
    <div className="stackwise">
      {mistakes.map(({ path, message }) => (
        <p key={`${path} ${message}`} className="tone-failed">
          <code>{path}</code> {message}
        </p>
      ))}
      {warnings.map((warning) => (
        <p key={warning} className="tone-wait">
          {warning}
        </p>
      ))}
      <div className="table-view" tabIndex={0} role="region" aria-label="What would be taken over">
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Resource</th>
              <th scope="col" className="wide-only">
                Type
              </th>
              <th scope="col">State in Heat</th>
              <th scope="col">Taken over</th>
              <th scope="col" className="wide-only">
                Note
              </th>
            </tr>
          </thead>
          <tbody>
            {resources.map(({ resource, type, status, manner, note }) => (
              <tr key={resource}>
                <td>{resource}</td>
                <td className="mono wide-only">{type}</td>
                <td>{status}</td>
                <td>{manner}</td>
                <td className="dim wide-only">{note}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}
