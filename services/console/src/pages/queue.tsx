/** One queue: its numbers and its first messages, which stay in it. */
import type { QueueRow } from '@anneal/client/representation.ts';
import { formatDuration } from '@anneal/client/text/time.ts';
import { Link, useParams } from '@tanstack/react-router';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Empty } from '../parts/command.tsx';
import { Confirm } from '../parts/confirm.tsx';
import { useNotify } from '../parts/notices.tsx';
import { DepthChart, Follow, Publish, ratesOf, useSamples } from '../asking/queue-live.tsx';
import { Same } from '../parts/same.tsx';
import { useSession } from '../session/session.tsx';

/** The name of a host; its id until the name is known. */
function HostLink({ host }: { host: string }) {
  const shown = useAsk(['hosts', host], (client) => client.hosts.show({ host }));
  const name = shown.data?.name ?? host;
  return (
    <Link to="/hosts/$host" params={{ host: name }}>
      {name}
    </Link>
  );
}

export function QueuePage() {
  const { queue: name } = useParams({ from: '/queues/$queue' });
  const { client } = useSession();
  const { attempt } = useNotify();
  const queue = useAsk(['queues', name], (asked) => asked.queues.show({ queue: name }), 2000);
  const messages = useAsk(['queues', name, 'messages'], (asked) => asked.queues.peek({ queue: name, limit: 20 }), 2000);
  return (
    <Answer of={queue}>
      {(row) => (
        <div className="stackwise">
          <div className="heading">
            <h1 className="mono">{name}</h1>
            <span className="dim">
              {typeof row.host_id === 'string' ? (
                <>
                  queue of the host <HostLink host={row.host_id} />
                </>
              ) : (
                `queue of a ${row.kind}`
              )}
            </span>
            <div className="actions">
              {row.kind !== 'service' && (
                <Confirm
                  label="Purge"
                  title={`Remove all messages of ${name}?`}
                  name={name}
                  command={`anneal queue purge ${name}`}
                  request={`DELETE /api/v1/queues/${encodeURIComponent(name)}/messages`}
                  onConfirm={() =>
                    attempt(() => client.queues.purge({ queue: name }), `The messages of ${name} are removed.`)
                  }
                >
                  Requests that a deployment waits for stay. All other messages are lost. This cannot be undone.
                </Confirm>
              )}
            </div>
          </div>
          <Numbers row={row} at={queue.dataUpdatedAt} />
          <section className="card">
            <header>
              <h2>First messages</h2>
              <span className="more">Looking does not take them</span>
            </header>
            <Answer of={messages}>
              {(rows) =>
                rows.length === 0 ? (
                  <Empty>No message waits.</Empty>
                ) : (
                  <div className="body stackwise">
                    {rows.map((message) => (
                      <pre key={message.id} className="output" tabIndex={0}>
                        {JSON.stringify(message, null, 2)}
                      </pre>
                    ))}
                  </div>
                )
              }
            </Answer>
          </section>
          <Follow queue={name} />
          {row.kind !== 'service' && <Publish queue={name} />}
          <Same command={`anneal queue peek ${name}`} request={`GET /api/v1/queues/${name}/messages`} />
        </div>
      )}
    </Answer>
  );
}

const perSecond = (rate: number): string => `${Math.abs(rate).toFixed(1)} per second`;
/** How the queue changes, in words. A change that rounds to zero is none. */
const trendOf = (grown: number): string =>
  Math.abs(grown) < 0.05 ? 'steady' : `${grown > 0 ? 'growing' : 'shrinking'} by ${perSecond(grown)}`;

function Numbers({ row, at }: { row: QueueRow; at: number }) {
  const samples = useSamples(row, at);
  const rates = ratesOf(samples);
  return (
    <section className="card body stackwise">
      <dl className="facts">
        <dt>Waiting</dt>
        <dd>
          {row.depth.toLocaleString()} {rates && <span className="dim">{trendOf(rates.grown)}</span>}
        </dd>
        <dt>Arriving</dt>
        <dd>{rates?.arrived == null ? 'not counted' : perSecond(rates.arrived)}</dd>
        <dt>In flight</dt>
        <dd>{row.in_flight}</dd>
        <dt>Consumers</dt>
        <dd>{row.consumers ?? 'not counted'}</dd>
        {row.oldest_age_ms !== null && (
          <>
            <dt>Oldest</dt>
            <dd>waits for {formatDuration(row.oldest_age_ms)}</dd>
          </>
        )}
      </dl>
      <DepthChart samples={samples} />
    </section>
  );
}
