/** A command on one host, on many, or by facts, with the answers grouped as they come. */
import type { Client } from '@anneal/client/connect.ts';
import { endedAfter, outcomeOfCommand, type CommandOutcome } from '@anneal/client/run-outcome.ts';
import type { DeploymentView } from '@anneal/contracts/calls/deployments.ts';
import type { HostView } from '@anneal/contracts/calls/hosts.ts';
import { hasCode } from '@anneal/contracts/errors.ts';
import { useRef, useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { ErrorCard } from '../parts/error-card.tsx';
import { randomId } from '../parts/random-id.ts';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { Mark } from '../parts/state.tsx';
import { useSession } from '../session/session.tsx';

/** The most hosts of one request. */
const mostAtOnce = 100;

interface Run {
  readonly config: string;
  readonly hosts: readonly HostView[];
  readonly since: string;
}

const isNames = (text: string): boolean => /^[\w.-]+(\s*,\s*[\w.-]+)*$/.test(text);

interface Wanted {
  readonly command: string;
  readonly seconds: number;
}

/** @throws Error when a name is unknown or no host matches; then nothing runs */
async function chosenHosts(client: Client, which: string): Promise<readonly HostView[]> {
  const where = which !== '' && !isNames(which) ? which : undefined;
  if (where === undefined && which !== '') {
    return Promise.all(which.split(',').map((name) => hostNamed(client, name.trim())));
  }
  const found = (await client.hosts.list({ where })).filter(({ status }) => status !== 'deleting');
  if (found.length === 0) throw new Error('Nothing was run: no host matches.');
  return found;
}

async function hostNamed(client: Client, name: string): Promise<HostView> {
  try {
    return await client.hosts.show({ host: name });
  } catch (error) {
    const isUnknown = hasCode(error, 'NotFound');
    throw isUnknown ? new Error(`Nothing was run: there is no host ${name}.`) : error;
  }
}

async function startRun(client: Client, hosts: readonly HostView[], { command, seconds }: Wanted): Promise<Run> {
  const config = randomId();
  const since = new Date().toISOString();
  // The answer of a machine that lost power is a failure, because a second run could do harm.
  const options = { timeout: seconds, queue_timeout: seconds, on_interrupt: 'fail' };
  const script = command.startsWith('#!') ? command : `#!/bin/sh\n${command}\n`;
  const name = command.split('\n')[0]?.slice(0, 255) ?? '';
  await client.deployments.storeConfig({ id: config, name, config: script, options });
  for (let at = 0; at < hosts.length; at += mostAtOnce) {
    const ids = hosts.slice(at, at + mostAtOnce).map(({ id }) => id);
    await client.deployments.run({ config, hosts: ids, seconds });
  }
  return { config, hosts, since };
}

/** @param host the only host to run on; undefined to choose by names or facts */
export function RunPanel({ host }: { host?: HostView }) {
  const { client } = useSession();
  const [command, setCommand] = useState('');
  const [which, setWhich] = useState('');
  const [seconds, setSeconds] = useState('60');
  const [run, setRun] = useState<Run>();
  const [failure, setFailure] = useState<unknown>();
  const [isStarting, setStarting] = useState(false);

  const start = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setStarting(true);
    setFailure(undefined);
    try {
      const hosts = host ? [host] : await chosenHosts(client, which.trim());
      setRun(await startRun(client, hosts, { command, seconds: Number(seconds) }));
    } catch (error) {
      setFailure(error);
    }
    setStarting(false);
  };
  const hostsWord = host ? `--hosts ${host.name}` : which.trim() === '' ? '--all' : `--hosts ${quoted(which.trim())}`;
  return (
    <div className="stackwise">
      <form className="card body form" onSubmit={(event) => void start(event)}>
        {!host && <HostsField value={which} onChange={setWhich} />}
        <div>
          <label htmlFor="run-command">
            Command <span className="dim">or a script that begins with #!</span>
          </label>
          <textarea
            id="run-command"
            className="field"
            rows={3}
            required
            placeholder="uptime"
            value={command}
            onChange={(event) => setCommand(event.target.value)}
          />
        </div>
        <div className="row wrap">
          <button type="submit" className="button first" disabled={isStarting || command.trim() === ''}>
            Run
          </button>
          <label className="row">
            within
            <input
              className="field"
              type="number"
              min={1}
              max={86_400}
              style={{ width: 80 }}
              value={seconds}
              onChange={(event) => setSeconds(event.target.value)}
            />
            seconds
          </label>
        </div>
        <Same
          command={`anneal run ${quoted(command || 'uptime')} ${hostsWord} --timeout ${seconds}`}
          request="POST /api/v1/deployments"
        />
      </form>
      {failure !== undefined && <ErrorCard error={failure} />}
      {run && <Results key={run.config} run={run} />}
    </div>
  );
}

function HostsField({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <div>
      <label htmlFor="run-hosts">
        Hosts <span className="dim">names separated by commas, or an expression over facts; empty for all</span>
      </label>
      <input
        id="run-hosts"
        className="field mono"
        placeholder={'facts.os == "debian"'}
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </div>
  );
}

/** Hosts whose unexpected reports are looked at. */
const mostReports = 100;

function Results({ run }: { run: Run }) {
  const { config, hosts, since } = run;
  const [isDone, setDone] = useState(false);
  // Each question asks only for what has ended since the last one: a run may have thousands of answers.
  const known = useRef(new Map<string, DeploymentView>());
  const asked = useRef(0);
  const answers = useAsk(
    ['answers', config],
    async (client) => {
      const news = { config, endedAfter: endedAfter(known.current.values(), asked.current) };
      asked.current += 1;
      for (const row of await client.deployments.list(news)) known.current.set(row.id, row);
      const ended = [...known.current.values()].filter(({ status }) => status !== 'IN_PROGRESS');
      if (ended.length < hosts.length) return { ended, all: [] };
      setDone(true);
      // Reports that no run waits for are with their hosts.
      const few = hosts.slice(0, mostReports);
      return { ended, all: await Promise.all(few.map(({ id }) => client.hosts.show({ host: id }))) };
    },
    isDone ? undefined : Math.min(2000, Math.max(400, hosts.length * 2)),
  );
  const { ended, all } = answers.data ?? { ended: [], all: [] };
  const outcome = outcomeOfCommand(ended, { hosts: all, since });
  return (
    <section className="card" aria-label="Answers">
      <header>
        <Mark tone={isDone ? (outcome.ok ? 'done' : 'failed') : 'busy'} />
        <h2>Answers</h2>
        <span className="more" role="status">
          {ended.length} of {hosts.length} {hosts.length === 1 ? 'host' : 'hosts'}
        </span>
      </header>
      <div className="body stackwise">
        <Groups outcome={outcome} />
        {!isDone && ended.length < hosts.length && (
          <p className="dim">
            Waiting for{' '}
            {hosts
              .filter(({ id }) => !ended.some(({ host_id: at }) => at === id))
              .slice(0, 12)
              .map(({ name }) => name)
              .join(', ')}{' '}
            …
          </p>
        )}
      </div>
    </section>
  );
}

function Groups({ outcome: { groups, late, silent, unexpected } }: { outcome: CommandOutcome }) {
  return (
    <>
      {groups.map(({ status_code: status, stdout, stderr, hosts }) => (
        <div key={`${status} ${stdout} ${stderr}`} className="stackwise tight">
          <p className="row wrap">
            <span className={status === 0 ? 'pill tone-done' : 'pill tone-failed'}>exit {status}</span>
            <b>
              {hosts.length} {hosts.length === 1 ? 'host' : 'hosts'}
            </b>
            <span className="dim">
              {hosts.slice(0, 20).join(', ')}
              {hosts.length > 20 && ` and ${hosts.length - 20} more`}
            </span>
          </p>
          {(stdout !== '' || stderr !== '') && (
            <pre className="output" tabIndex={0}>
              {stdout}
              {stderr}
            </pre>
          )}
        </div>
      ))}
      {late.length > 0 && <p className="tone-wait">Late: {late.join(', ')}</p>}
      {silent.length > 0 && (
        <p className="tone-wait">Silent: {silent.map(({ host, state }) => `${host} (${state})`).join(', ')}</p>
      )}
      {unexpected.map(({ host, kind, reason }) => (
        <p key={`${host} ${kind} ${reason}`} className="tone-failed">
          {host}: {kind}, {reason}
        </p>
      ))}
    </>
  );
}
