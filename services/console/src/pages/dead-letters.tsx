/** Dead letters by cause: messages that no service could process. */
import type { DeadLetterRow } from '@anneal/client/representation.ts';
import type { Client } from '@anneal/client/connect.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useAskEach } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { Letter, ReplayAll } from '../asking/letters.tsx';
import { useNotify } from '../parts/notices.tsx';
import { quoted } from '../parts/quoted.ts';
import { Mark } from '../parts/state.tsx';
import { matching } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';
import { Same } from '../parts/same.tsx';
import { useChange } from '../parts/use-change.ts';
import { useSession } from '../session/session.tsx';

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const messageOf = ({ failure }: DeadLetterRow): string =>
  typeof failure === 'object' && failure !== null && 'message' in failure ? text(failure.message) : '';

const pageSize = 500;
/** The letters have no events. */
const everyMs = 10_000;

/** The oldest letters without their messages, so many pages of them. */
async function readLetters({ deadLetters }: Client, pages: number): Promise<DeadLetterRow[]> {
  const letters: DeadLetterRow[] = [];
  for (let page = 0; page < pages && letters.length === page * pageSize; page += 1) {
    letters.push(...(await deadLetters.list({ limit: pageSize, after: letters.at(-1)?.id, messages: false })));
  }
  return letters;
}

export function DeadLettersPage() {
  const [pages, setPages] = useState(1);
  const letters = useAskEach(
    [{ key: ['dead-letters', String(pages)], ask: (client) => readLetters(client, pages) }],
    everyMs,
  )[0];
  const find = useFilter();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Dead letters</h1>
        <Filter what="dead letters by queue or reason" />
      </div>
      {letters && (
        <Answer of={letters}>
          {(rows) => {
            const causes = causesOf(matching(rows, find, (row) => [text(row['queue']), messageOf(row)]));
            const isCut = rows.length === pages * pageSize;
            return causes.length === 0 ? (
              <section className="card">
                <Empty>
                  {find === ''
                    ? 'No message has died. One that is no longer retried is kept here with its reason, until it is replayed or purged.'
                    : 'No dead letter matches the filter.'}
                </Empty>
              </section>
            ) : (
              <>
                {isCut && <Rest shown={rows.length} queues={queuesOf(rows)} onMore={() => setPages(pages + 1)} />}
                {causes.map(([cause, same]) => (
                  <Cause key={cause} letters={same} />
                ))}
              </>
            );
          }}
        </Answer>
      )}
      <Same command="anneal dead-letter list" request="GET /api/v1/dead-letters" />
    </div>
  );
}

const queuesOf = (rows: readonly DeadLetterRow[]): string[] => [...new Set(rows.map((row) => text(row['queue'])))];

/** More letters than the page has read. */
function Rest({ shown, queues, onMore }: { shown: number; queues: readonly string[]; onMore: () => void }) {
  const { client } = useSession();
  const change = useChange('dead-letters');
  return (
    <section className="card body row wrap" aria-label="More dead letters">
      <p className="tone-wait">
        These are the oldest {shown.toLocaleString()}, and there are more. A button of a cause acts on those shown.
      </p>
      <span className="more row wrap">
        <button type="button" className="button" onClick={onMore}>
          Show {pageSize} more
        </button>
        {queues.map((queue) => (
          <Confirm
            key={queue}
            label={`Purge ${queue}`}
            title={`Remove every dead letter of ${queue}, also those that are not shown?`}
            name={queue}
            command={`anneal dead-letter purge --queue ${quoted(queue)}`}
            request={`DELETE /api/v1/dead-letters?queue=${encodeURIComponent(queue)}`}
            onConfirm={() =>
              change(() => client.deadLetters.purgeAll({ queue }), `The dead letters of ${queue} are removed.`)
            }
          >
            What they asked for is never done. This cannot be undone.
          </Confirm>
        ))}
      </span>
    </section>
  );
}

const causesOf = (rows: readonly DeadLetterRow[]): readonly (readonly [string, readonly DeadLetterRow[]])[] => [
  ...Map.groupBy(rows, (row) => `${text(row['queue'])}\n${messageOf(row)}`),
];

const mostListed = 20;

function Cause({ letters }: { letters: readonly DeadLetterRow[] }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const queries = useQueryClient();
  const [isWhole, setWhole] = useState(false);
  const [oldest] = letters;
  if (!oldest) return null;
  const refresh = () => queries.invalidateQueries({ queryKey: ['dead-letters'] });
  const purge = async () => {
    for (const { id } of letters) await client.deadLetters.purge({ id });
  };
  const count = letters.length === 1 ? 'the message' : `all ${letters.length}`;
  return (
    <section className="card">
      <header>
        <Mark tone="failed" />
        <h2 className="mono">{text(oldest['queue'])}</h2>
        <span className="dim">
          {letters.length} · <Age since={text(oldest['died_at'])} />
        </span>
        <span className="more row">
          <ReplayAll letters={letters} />
          <Confirm
            label="Purge"
            title={`Remove ${count}?`}
            {...(letters.length > 1 && { name: text(oldest['queue']) })}
            command={`anneal dead-letter purge ${letters
              .map(({ id }) => id)
              .slice(0, 3)
              .join(' ')}${letters.length > 3 ? ' …' : ''}`}
            request={
              letters.length === 1 ? `DELETE /api/v1/dead-letters/${oldest.id}` : 'DELETE /api/v1/dead-letters/{id}'
            }
            onConfirm={() => attempt(purge, `Removed ${count}.`).then(refresh)}
          >
            What they asked for is never done. This cannot be undone.
          </Confirm>
        </span>
      </header>
      <div className="body stackwise">
        <p>{messageOf(oldest)}</p>
        {letters.slice(0, isWhole ? undefined : mostListed).map((letter) => (
          <Letter key={letter.id} letter={letter} />
        ))}
        {letters.length > mostListed && !isWhole && (
          <button type="button" className="link" onClick={() => setWhole(true)}>
            Show all {letters.length}
          </button>
        )}
      </div>
    </section>
  );
}
