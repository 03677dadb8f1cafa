/** What the stack was sent towards, the difference of any two, and the way back to one. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { StackRevision } from '@anneal/contracts/calls/stack-history.ts';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { CopyCommand, Empty } from '../parts/command.tsx';
import { StateWord } from '../parts/state.tsx';
import { Age } from '../parts/time.tsx';
import { diffLines, hunksOf } from '@anneal/client/text/diff.ts';
import { yamlOf } from '../template/yaml.ts';

export function StackHistory({ stack }: { stack: string }) {
  const revisions = useAsk(['stack', stack, 'revisions'], (client) => client.stacks.revisions({ stack }));
  return <Answer of={revisions}>{(rows) => <Revisions stack={stack} rows={rows} />}</Answer>;
}

function Revisions({ stack, rows }: { stack: string; rows: readonly StackRevision[] }) {
  const [chosen, choose] = useState<Chosen>({});
  const before = chosen.before ?? rows[1]?.id;
  const after = chosen.after ?? rows[0]?.id;
  if (rows.length === 0) {
    return (
      <section className="card">
        <Empty command={`anneal stack update ${stack} -t web.yaml`}>No revision is kept. Each update adds one:</Empty>
      </section>
    );
  }
  return (
    <div className="stackwise">
      <section className="card">
        <header>
          <h2>Revisions</h2>
          <span className="more">choose two to compare</span>
        </header>
        <div className="table-view" tabIndex={0} role="region" aria-label="Revisions">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Before</th>
                <th scope="col">After</th>
                <th scope="col">Action</th>
                <th scope="col" className="number">
                  When
                </th>
                <th scope="col" className="wide-only">
                  Reason
                </th>
                <th scope="col">Return</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <RevisionRow key={row.id} stack={stack} row={row} chosen={{ before, after }} onChoose={choose} />
              ))}
            </tbody>
          </table>
        </div>
      </section>
      {before !== undefined && after !== undefined && before !== after && (
        <Comparison key={`${before} ${after}`} stack={stack} before={before} after={after} />
      )}
      <div className="row wrap dim">
        The same over the API: <CopyCommand command={`GET /api/v1/stacks/${stack}/revisions`} />
      </div>
    </div>
  );
}

interface Chosen {
  readonly before?: string | undefined;
  readonly after?: string | undefined;
}

function RevisionRow(props: { stack: string; row: StackRevision; chosen: Chosen; onChoose: (chosen: Chosen) => void }) {
  const { stack, row, chosen, onChoose } = props;
  const choice = (side: 'before' | 'after', word: string) => (
    <td>
      <input
        type="radio"
        name={side}
        aria-label={`Compare ${word} ${row.action} of ${row.at}`}
        checked={row.id === chosen[side]}
        onChange={() => onChoose({ ...chosen, [side]: row.id })}
      />
    </td>
  );
  return (
    <tr>
      {choice('before', 'from')}
      {choice('after', 'to')}
      <td>
        <StateWord state={`${row.action}_${row.status}`} />
      </td>
      <td className="number">
        <Age since={row.at} />
      </td>
      <td className="wide-only dim">{row.reason}</td>
      <td>
        {row.is_current ? (
          <span className="dim">current</span>
        ) : (
          <Link
            className="link"
            to="/stacks/$stack/change"
            params={{ stack }}
            search={{ revision: row.id }}
            aria-label={`Plan the return to ${row.action} of ${row.at}`}
          >
            Plan …
          </Link>
        )}
      </td>
    </tr>
  );
}

function Comparison({ stack, before, after }: { stack: string; before: string; after: string }) {
  const show = (revision: string) => ['stack', stack, 'revision', revision] as const;
  const left = useAsk(show(before), (client) => client.stacks.revision({ stack, revision: before }));
  const right = useAsk(show(after), (client) => client.stacks.revision({ stack, revision: after }));
  return (
    <Answer of={left}>
      {(old) => (
        <Answer of={right}>
          {(next) => (
            <>
              <Values before={old.parameters} after={next.parameters} />
              <TextDiff title="Template" before={yamlOf(old.template)} after={yamlOf(next.template)} />
              <TextDiff title="Environment" before={yamlOf(old.environment)} after={yamlOf(next.environment)} />
              <TextDiff title="Files" before={yamlOf(old.files)} after={yamlOf(next.files)} />
            </>
          )}
        </Answer>
      )}
    </Answer>
  );
}

const shown = (value: Json | undefined): string =>
  value === undefined ? 'not set' : typeof value === 'string' ? value : JSON.stringify(value);

function Values({ before, after }: { before: JsonObject; after: JsonObject }) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => shown(before[name]) !== shown(after[name]),
  );
  return (
    <section className="card">
      <header>
        <h2>Parameters</h2>
        <span className="more">{names.length === 0 ? 'no difference' : `${names.length} differ`}</span>
      </header>
      {names.length > 0 && (
        <table className="diff body">
          <tbody>
            {names.map((name) => (
              <tr key={name}>
                <th scope="row" className="mono">
                  {name}
                </th>
                <td className="mono before">{shown(before[name])}</td>
                <td className="mono after">{shown(after[name])}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function TextDiff({ title, before, after }: { title: string; before: string; after: string }) {
  const lines = diffLines(before, after);
  const changed = lines.filter(({ kind }) => kind !== 'same').length;
  return (
    <section className="card" aria-label={`Difference of the ${title.toLowerCase()}`}>
      <header>
        <h2>{title}</h2>
        <span className="more">{changed === 0 ? 'no difference' : `${changed} lines differ`}</span>
      </header>
      {changed > 0 && (
        <div className="body">
          <pre className="output lines" tabIndex={0}>
            {hunksOf(lines).map((hunk, index) =>
              typeof hunk === 'number' ? (
                // oxlint-disable-next-line react/no-array-index-key -- the parts of a difference have no other name
                <span key={index} className="dim">{`  … ${hunk} equal lines\n`}</span>
              ) : (
                hunk.map(({ kind, text }, line) => (
                  // oxlint-disable-next-line react/no-array-index-key
                  <span key={`${index} ${line}`} className={kind}>
                    {`${{ same: ' ', removed: '−', added: '+' }[kind]} ${text}\n`}
                  </span>
                ))
              ),
            )}
          </pre>
        </div>
      )}
    </section>
  );
}
