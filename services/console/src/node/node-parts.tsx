/** Parts of the pages about nodes: what happened to one, and the enrolment of many. */
import { useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { reasonOf } from '../parts/error-card.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { Mark } from '../parts/state.tsx';
import { Clock } from '../parts/time.tsx';
import { useSession } from '../session/session.tsx';
import { readNodeLines } from './node-lines.ts';

export function NodeHistory({ node }: { node: string }) {
  const history = useAsk(['nodes', node, 'history'], (client) => client.nodes.history({ node }), 5000);
  return (
    <section className="card" aria-label="Steps">
      <header>
        <h2>Steps</h2>
        <span className="more">the newest first</span>
      </header>
      <Answer of={history}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty>Nothing happened to {node} yet.</Empty>
          ) : (
            <ul className="log body">
              {rows.slice(0, 200).map(({ uuid, created_at: at, severity, event }) => (
                <li key={uuid}>
                  <Clock time={at} />
                  <Mark tone={severity.toLowerCase() === 'error' ? 'failed' : 'idle'} label={severity.toLowerCase()} />
                  <span className="event">
                    <Sentence text={event} />
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </section>
  );
}

interface Enrolled {
  readonly name: string;
  /** Undefined for success. */
  readonly failure?: string | undefined;
}

export function EnrolMany() {
  const { client } = useSession();
  const queries = useQueryClient();
  const [text, setText] = useState('');
  const [isProvided, setProvided] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [results, setResults] = useState<readonly Enrolled[]>([]);
  const { nodes, mistakes } = readNodeLines(text);
  const enrol = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setResults([]);
    for (const node of nodes) {
      const failure = await client.nodes.enrol({ ...node, provide: isProvided }).then(
        () => undefined,
        (error: unknown) => reasonOf(error),
      );
      setResults((last) => [...last, { name: node.name, failure }]);
    }
    setBusy(false);
    await queries.invalidateQueries({ queryKey: ['nodes'] });
  };
  return (
    <form className="card body form" onSubmit={(event) => void enrol(event)}>
      <div>
        <label htmlFor="enrol">
          Nodes, one per line: <code>name,address,user,password,class</code>{' '}
          <span className="dim">user, password and class may be left out</span>
        </label>
        <textarea
          id="enrol"
          className="field"
          rows={6}
          placeholder={'rack1-u01,https://10.0.0.11,admin,secret,baremetal'}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {mistakes.map((mistake) => (
        <p key={mistake} className="tone-failed">
          {mistake}
        </p>
      ))}
      <div className="row wrap">
        <button type="submit" className="button first" disabled={isBusy || nodes.length === 0 || mistakes.length > 0}>
          {nodes.length === 0 ? 'Enrol' : nodes.length === 1 ? 'Enrol 1 node' : `Enrol ${nodes.length} nodes`}
        </button>
        <label className="row">
          <input type="checkbox" checked={isProvided} onChange={(event) => setProvided(event.target.checked)} /> inspect
          and make available
        </label>
      </div>
      <Same command={commandOf(nodes[0], isProvided)} request="POST /baremetal/v1/nodes" />
      {results.length > 0 && (
        <ul aria-label="Enrolled nodes">
          {results.map(({ name, failure }) => (
            <li key={name} className="row">
              <Mark tone={failure === undefined ? 'done' : 'failed'} />
              <b>{name}</b>{' '}
              <span className={failure === undefined ? 'dim' : 'tone-failed'}>{failure ?? 'enrolled'}</span>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

/** The command that enrols one node. The password is not shown. */
function commandOf(node: ReturnType<typeof readNodeLines>['nodes'][number] | undefined, provide: boolean): string {
  const { name, address, username, resourceClass } = node ?? { name: 'rack1-u01', address: 'https://bmc…' };
  return [
    `anneal node enrol ${quoted(name)} --address ${quoted(address)}`,
    ...(username === undefined ? [] : [`--username ${quoted(username)} --password-file FILE`]),
    ...(resourceClass === undefined ? [] : [`--resource-class ${quoted(resourceClass)}`]),
    ...(provide ? [] : ['--no-provide']),
  ].join(' ');
}
