/** The events of a stack, the newest first, back to its first one. */
import type { StackEventRow } from '@anneal/client/representation.ts';
import { reasonText } from '@anneal/client/text/reason.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { useAsk } from '../live/ask.ts';
import { Answer } from '../parts/answer.tsx';
import { Older, useBackwards } from '../parts/backwards.tsx';
import { Empty } from '../parts/command.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { Mark, wordsOf } from '../parts/state.tsx';
import { Clock } from '../parts/time.tsx';
import { useSession } from '../session/session.tsx';

const pageSize = 100;

export function StackEvents({ stack }: { stack: string }) {
  const events = useAsk(['stack', stack, 'events'], (client) =>
    client.stacks.events({ stack, limit: pageSize, descending: true }),
  );
  return <Answer of={events}>{(newest) => <EventList key={stack} stack={stack} newest={newest} />}</Answer>;
}

function EventList({ stack, newest }: { stack: string; newest: readonly StackEventRow[] }) {
  const { client } = useSession();
  const events = useBackwards(
    newest,
    ({ id }) => client.stacks.events({ stack, marker: id, limit: pageSize, descending: true }),
    newest.length < pageSize,
  );
  if (events.rows.length === 0) return <Empty>No event yet.</Empty>;
  return (
    <>
      <section className="card">
        <ul className="log body" aria-label="Events">
          {events.rows.map((row) => (
            <li key={row.id}>
              <Clock time={row.event_time} />
              <Mark tone={toneOf(row.resource_status)} />
              <span className="cut">
                <b>{row.resource_name}</b> {wordsOf(row.resource_status)}
              </span>
              <span className="dim detail">
                <Sentence text={reasonText(row.resource_status_reason)} />
              </span>
            </li>
          ))}
        </ul>
      </section>
      <Older of={events} what="events" />
    </>
  );
}
