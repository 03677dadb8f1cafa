/** A queue as it moves: its numbers over time, its messages as they arrive, and a form to publish one. */
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { QueueRow } from '@anneal/client/representation.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { formatClock } from '@anneal/client/text/time.ts';
import { useEffect, useRef, useState, type FormEvent } from 'react';
import { reasonOf } from '../parts/error-card.tsx';
import { quoted } from '../parts/quoted.ts';
import { Same } from '../parts/same.tsx';
import { useNotify } from '../parts/notices.tsx';
import { useSession } from '../session/session.tsx';

interface Sample {
  readonly at: number;
  readonly depth: number;
  readonly received: number | null;
}
const mostSamples = 150;
const rateWindowMs = 10_000;

/** The numbers since the page was opened. */
export function useSamples({ depth, received }: QueueRow, at: number): readonly Sample[] {
  const samples = useRef<Sample[]>([]);
  const last = samples.current.at(-1);
  if (last?.at !== at)
    samples.current = [...samples.current, { at, depth, received: received ?? null }].slice(-mostSamples);
  return samples.current;
}

/** Messages per second over the last seconds: how many arrived, and by how many the queue grew. */
export function ratesOf(
  samples: readonly Sample[],
): { readonly arrived: number | null; readonly grown: number } | undefined {
  const last = samples.at(-1);
  const first = last && samples.find(({ at }) => at >= last.at - rateWindowMs);
  if (!last || !first || last.at === first.at) return undefined;
  const seconds = (last.at - first.at) / 1000;
  const arrived = last.received === null || first.received === null ? null : (last.received - first.received) / seconds;
  return { arrived, grown: (last.depth - first.depth) / seconds };
}

const size = { width: 600, height: 64 };

export function DepthChart({ samples }: { samples: readonly Sample[] }) {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || samples.length < 2) return null;
  const top = Math.max(...samples.map(({ depth }) => depth));
  const most = Math.max(1, top);
  const since = formatClock(new Date(first.at).toISOString());
  const x = (at: number): number => (size.width * (at - first.at)) / Math.max(1, last.at - first.at);
  const y = (depth: number): number => size.height - 2 - ((size.height - 8) * depth) / most;
  const line = samples.map(({ at, depth }) => `${x(at).toFixed(1)},${y(depth).toFixed(1)}`).join(' ');
  return (
    <figure>
      <svg
        className="chart"
        viewBox={`0 0 ${size.width} ${size.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Waiting messages since ${since}: at most ${top}, now ${last.depth}`}
      >
        <polyline points={line} vectorEffect="non-scaling-stroke" />
      </svg>
      <figcaption className="dim" aria-hidden="true">
        waiting since {since}, at most {top.toLocaleString()}
      </figcaption>
    </figure>
  );
}

const mostFollowed = 200;

export function Follow({ queue }: { queue: string }) {
  const { client } = useSession();
  const [isOn, setOn] = useState(false);
  const [lines, setLines] = useState<readonly string[]>([]);
  const [failure, setFailure] = useState('');
  useEffect(() => {
    if (!isOn) return;
    const ending = new AbortController();
    const read = async (): Promise<void> => {
      for await (const { data } of client.queues.watch({ queue, signal: ending.signal })) {
        setLines((last) => [JSON.stringify(data, null, 2), ...last].slice(0, mostFollowed));
      }
    };
    read().catch((error: unknown) => {
      if (!ending.signal.aborted) setFailure(reasonOf(error));
    });
    return () => ending.abort();
  }, [client, queue, isOn]);
  return (
    <section className="card" aria-label="New messages">
      <header>
        <h2>New messages</h2>
        <span className="more row">
          {isOn ? `${lines.length} since you follow` : 'each message as it arrives'}
          <button type="button" className="button" aria-pressed={isOn} onClick={() => setOn(!isOn)}>
            {isOn ? 'Stop' : 'Follow'}
          </button>
        </span>
      </header>
      {(lines.length > 0 || failure !== '') && (
        <div className="body stackwise">
          {failure !== '' && <p className="tone-failed">{failure}</p>}
          {lines.map((line, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- the oldest line has always the same distance to the end
            <pre key={lines.length - index} className="output" tabIndex={0}>
              {line}
            </pre>
          ))}
        </div>
      )}
    </section>
  );
}

export function Publish({ queue }: { queue: string }) {
  const { client } = useSession();
  const { attempt } = useNotify();
  const [text, setText] = useState('');
  const publish = (event: FormEvent): void => {
    event.preventDefault();
    void attempt(async () => {
      await client.queues.publish({ queue, messages: [{ body: parsed(text) }] });
      setText('');
    }, `Published to ${queue}.`);
  };
  return (
    <form className="card body form" onSubmit={publish}>
      <div>
        <label htmlFor="publish">
          Publish a message <span className="dim">JSON, or any text</span>
        </label>
        <textarea
          id="publish"
          className="field"
          rows={3}
          required
          placeholder='{"hello": "world"}'
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      <div className="row">
        <button type="submit" className="button" disabled={text.trim() === ''}>
          Publish
        </button>
      </div>
      <Same
        command={`anneal queue publish ${queue} ${quoted(text || 'BODY')}`}
        request={`POST /api/v1/queues/${encodeURIComponent(queue)}/messages`}
      />
    </form>
  );
}

/** JSON as it reads; anything else as a text. */
function parsed(text: string): Json {
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}
