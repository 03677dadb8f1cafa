/** Dead letters by cause: messages that no service could process. */
import type { DeadLetterRow } from '@anneal/client/representation.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { Letter, ReplayAll } from '../parts/letters.tsx';
import { useNotify } from '../parts/notices.tsx';
import { Mark } from '../parts/state.tsx';
import { matching } from '../parts/table.tsx';
import { Age } from '../parts/time.tsx';
import { Same } from '../parts/same.tsx';
import { useSession } from '../session/session.tsx';

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const messageOf = ({ failure }: DeadLetterRow): string =>
  typeof failure === 'object' && failure !== null && 'message' in failure ? text(failure.message) : '';

const mostLetters = 500;

export function DeadLettersPage() {
  const letters = useAsk(['dead-letters'], (client) => client.deadLetters.list({ limit: mostLetters }), 5000);
  const find = useFilter();
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Dead letters</h1>
        <Filter what="dead letters by queue or reason" />
      </div>
      <Answer of={letters}>
        {(rows) => {
          const causes = causesOf(matching(rows, find, (row) => [text(row['queue']), messageOf(row)]));
          const isCut = rows.length === mostLetters;
          return causes.length === 0 ? (
            <section className="card">
              <Empty>{find === '' ? 'No message has died.' : 'No dead letter matches the filter.'}</Empty>
            </section>
          ) : (
            <>
              {isCut && (
                <p className="tone-wait">
                  These are the latest {mostLetters}; there are more. What you replay or purge here makes room for them.
                </p>
              )}
              {causes.map(([cause, same]) => (
                <Cause key={cause} letters={same} />
              ))}
            </>
          );
        }}
      </Answer>
      <Same command="anneal dead-letter list" />
    </div>
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
  const [latest] = letters;
  if (!latest) return null;
  const refresh = () => queries.invalidateQueries({ queryKey: ['dead-letters'] });
  const purge = async () => {
    for (const { id } of letters) await client.deadLetters.purge({ id });
  };
  const count = letters.length === 1 ? 'the message' : `all ${letters.length}`;
  return (
    <section className="card">
      <header>
        <Mark tone="failed" />
        <h2 className="mono">{text(latest['queue'])}</h2>
        <span className="dim">
          {letters.length} · <Age since={text(latest['died_at'])} />
        </span>
        <span className="more row">
          <ReplayAll letters={letters} />
          <Confirm
            label="Purge"
            title={`Remove ${count}?`}
            {...(letters.length > 1 && { name: text(latest['queue']) })}
            command={`anneal dead-letter purge ${letters
              .map(({ id }) => id)
              .slice(0, 3)
              .join(' ')}${letters.length > 3 ? ' …' : ''}`}
            request={
              letters.length === 1 ? `DELETE /api/v1/dead-letters/${latest.id}` : 'DELETE /api/v1/dead-letters/{id}'
            }
            onConfirm={() => attempt(purge, `Removed ${count}.`).then(refresh)}
          >
            What they asked for is never done. This cannot be undone.
          </Confirm>
        </span>
      </header>
      <div className="body stackwise">
        <p>{messageOf(latest)}</p>
        {letters.slice(0, mostListed).map((letter) => (
          <Letter key={letter.id} letter={letter} />
        ))}
        {letters.length > mostListed && <p className="dim">and {letters.length - mostListed} more</p>}
      </div>
    </section>
  );
}
