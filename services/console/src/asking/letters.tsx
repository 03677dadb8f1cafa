/** What a person can do with dead letters of one cause: look at each, send them again slowly, remove them. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { createReplayer, replaySummary } from '@anneal/client/replay-letters.ts';
import type { DeadLetterRow, ReplayedLetter } from '@anneal/client/representation.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { mergePatchBetween } from '@anneal/contracts/merge-patch.ts';
import { formatClock } from '@anneal/client/text/time.ts';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useAsk } from '../live/ask.ts';
import { Act } from '../parts/act.tsx';
import { Answer } from '../parts/answer.tsx';
import { CopyCommand } from '../parts/command.tsx';
import { reasonOf } from '../parts/error-card.tsx';
import { useNotify } from '../parts/notices.tsx';
import { refuseDead } from '../parts/replayed.ts';
import { Clock } from '../parts/time.tsx';
import { useSession } from '../session/session.tsx';

const rates = [1, 5, 20, 100] as const;

/** Runs a replay, says what became of the messages, and reads the letters again. */
function useReplayNotice(): (replay: (replayed: ReplayedLetter[]) => Promise<void>) => Promise<void> {
  const { attempt } = useNotify();
  const queries = useQueryClient();
  return async (replay) => {
    const replayed: ReplayedLetter[] = [];
    await attempt(
      async () => {
        await replay(replayed);
        refuseDead(replayed);
      },
      () => `${replaySummary(replayed)}.`,
    );
    await queries.invalidateQueries({ queryKey: ['dead-letters'] });
  };
}

/** Sends letters again in their order, the oldest first, at most so many per second, until all are sent or the reader stops it. */
export function ReplayAll({ letters }: { letters: readonly DeadLetterRow[] }) {
  const { client } = useSession();
  const notify = useReplayNotice();
  const [perSecond, setPerSecond] = useState<number>(5);
  const [sent, setSent] = useState<number>();
  const stop = useRef(new AbortController());
  const replay = async (replayed: ReplayedLetter[]): Promise<void> => {
    stop.current = new AbortController();
    const { signal } = stop.current;
    const start = performance.now();
    const send = createReplayer(client.deadLetters);
    for (const [index, { id }] of letters.entries()) {
      const due = start + (index * 1000) / perSecond;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, due - performance.now())));
      if (signal.aborted) return;
      replayed.push(await send({ id }));
      setSent(index + 1);
    }
  };
  const run = async (): Promise<void> => {
    setSent(0);
    await notify(replay);
    setSent(undefined);
  };
  if (sent !== undefined) {
    return (
      <span className="row" role="status">
        {sent} of {letters.length} sent
        <button type="button" className="button" onClick={() => stop.current.abort()}>
          Stop
        </button>
      </span>
    );
  }
  return (
    <span className="row">
      {letters.length > 1 && (
        <label className="row">
          <span className="dim">at most</span>
          <select className="field" value={perSecond} onChange={(event) => setPerSecond(Number(event.target.value))}>
            {rates.map((rate) => (
              <option key={rate} value={rate}>
                {rate} per second
              </option>
            ))}
          </select>
        </label>
      )}
      <Act
        label={`Replay ${letters.length === 1 ? 'the message' : `all ${letters.length}`}`}
        command={`anneal dead-letter replay ${letters
          .map(({ id }) => id)
          .slice(0, 3)
          .join(' ')}${letters.length > 3 ? ' …' : ''}`}
        request={
          letters.length === 1
            ? `POST /api/v1/dead-letters/${letters[0]?.id}/replay`
            : 'POST /api/v1/dead-letters/{id}/replay'
        }
        onAct={run}
      />
    </span>
  );
}

interface Attempted {
  readonly at: string;
  readonly error: string;
}
const historyOf = ({ history }: DeadLetterRow): readonly Attempted[] =>
  Array.isArray(history) ? (history as Attempted[]) : [];

/** The data of a message while a person changes it. A secret keeps its value while its mask stays. */
function Editing({
  id,
  data,
  text,
  onText,
}: {
  id: string;
  data: JsonObject;
  text: string;
  /** Without a text, the editing ends. */
  onText: (text?: string) => void;
}) {
  const { client } = useSession();
  const notify = useReplayNotice();
  const read = readData(text);
  const patch = read.data && mergePatchBetween(data, read.data);
  const replay = (): Promise<void> =>
    notify(async (replayed) => {
      replayed.push(await createReplayer(client.deadLetters)({ id, data: patch }));
    });
  return (
    <>
      <label className="stackwise tight">
        <span className="dim">Data of the message</span>
        <textarea
          className="field mono"
          rows={Math.min(24, text.split('\n').length + 1)}
          spellCheck={false}
          value={text}
          aria-invalid={read.data === undefined}
          onChange={(event) => onText(event.target.value)}
        />
      </label>
      {read.mistake !== undefined && (
        <p className="tone-failed" role="alert">
          {read.mistake}
        </p>
      )}
      <div className="row">
        <Act
          label={patch ? 'Replay with the changes' : 'Replay unchanged'}
          command={`anneal dead-letter replay ${id}${patch ? ` --data '${shellText(patch)}'` : ''}`}
          request={`POST /api/v1/dead-letters/${id}/replay`}
          isFirst
          isOff={!read.data}
          onAct={replay}
        />
        <button type="button" className="button" onClick={() => onText()}>
          Cancel
        </button>
        {patch && <CopyCommand command={`anneal dead-letter replay ${id} --data '${shellText(patch)}'`} />}
      </div>
    </>
  );
}

const shellText = (value: JsonObject): string => JSON.stringify(value).replaceAll("'", `'\\''`);

function readData(text: string): { readonly data?: JsonObject; readonly mistake?: string } {
  try {
    const data = parseExact(text);
    return isObject(data) ? { data } : { mistake: 'The data must be a JSON object.' };
  } catch (error) {
    return { mistake: `The data is not JSON: ${reasonOf(error)}` };
  }
}

/** One letter: its attempts and its message, which is read when the reader opens it. */
export function Letter({ letter }: { letter: DeadLetterRow }) {
  const { died_at: diedAt, attempts, replays } = letter;
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span className="mono">{letter.id}</span>{' '}
        <span className="dim">
          died {typeof diedAt === 'string' ? formatClock(diedAt) : ''} after {String(attempts)}{' '}
          {attempts === 1 ? 'attempt' : 'attempts'}
          {typeof replays === 'number' && replays > 0 && `, replayed ${replays === 1 ? 'once' : `${replays} times`}`}
        </span>
      </summary>
      {isOpen && <Inside letter={letter} />}
    </details>
  );
}

function Inside({ letter }: { letter: DeadLetterRow }) {
  const shown = useAsk(['dead-letter', letter.id], (client) => client.deadLetters.show({ id: letter.id }));
  const [edited, setEdited] = useState<string>();
  return (
    <div className="stackwise tight">
      {historyOf(letter).length > 0 && (
        <ol className="attempts" aria-label="Attempts">
          {historyOf(letter).map(({ at, error }) => (
            <li key={`${at} ${error}`}>
              <Clock time={at} /> {error}
            </li>
          ))}
        </ol>
      )}
      <Answer of={shown}>
        {({ message }) => {
          const data = isObject(message) && isObject(message['data']) ? message['data'] : undefined;
          return edited === undefined ? (
            <>
              <div className="row">
                <ReplayAll letters={[letter]} />
                {data && (
                  <button type="button" className="button" onClick={() => setEdited(JSON.stringify(data, null, 2))}>
                    Edit the message
                  </button>
                )}
              </div>
              <pre className="output" tabIndex={0}>
                {JSON.stringify(message, null, 2)}
              </pre>
            </>
          ) : (
            <Editing id={letter.id} data={data ?? {}} text={edited} onText={setEdited} />
          );
        }}
      </Answer>
    </div>
  );
}
