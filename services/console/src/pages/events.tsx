/** Events as they happen, the newest first, back to the oldest that the server keeps. */
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventWords } from '@anneal/client/text/event.ts';
import { memo } from 'react';
import { beforehand, useLive } from '../live/live.tsx';
import { Older, useBackwards } from '../parts/backwards.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { EventStart } from '../parts/event-start.tsx';
import { foldEvents, type FoldedEvent } from '../parts/fold-events.ts';
import { Sentence } from '../parts/sentence.tsx';
import { Same } from '../parts/same.tsx';
import { matching } from '../parts/table.tsx';
import { formatClock } from '@anneal/client/text/time.ts';
import { useSession } from '../session/session.tsx';

const pageSize = 200;

const textsOf = (event: AnnealEvent): readonly string[] => {
  const { about, detail } = eventWords(event);
  return [event.type, about, detail];
};

export function EventsPage() {
  const { client } = useSession();
  const events = useBackwards(useLive().events, async ({ id }) =>
    (await client.events.list({ before: id, limit: pageSize, filters: beforehand })).toReversed(),
  );
  const find = useFilter();
  const rows = matching(events.rows, find, textsOf);
  const oldest = events.rows.at(-1);
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Events</h1>
        <Filter what="events by type, object or reason" />
      </div>
      {find !== '' && oldest && (
        <p className="counts dim" role="status">
          {rows.length.toLocaleString()} of {events.rows.length.toLocaleString()} events since{' '}
          {formatClock(oldest.time)}
        </p>
      )}
      <section className="card">
        {rows.length === 0 ? (
          <Empty>{find === '' ? 'No event yet.' : 'No event matches the filter.'}</Empty>
        ) : (
          <ul className="log body" aria-label="Events">
            {foldEvents(rows).map(({ event, about, detail, count }) => (
              <Line key={event.id} event={event} about={about} detail={detail} count={count} />
            ))}
          </ul>
        )}
      </section>
      <Older of={events} what="events" />
      <Same command="anneal event list" request="GET /api/v1/events" />
    </div>
  );
}

const Line = memo(function Line({ event, about, detail, count }: FoldedEvent) {
  return (
    <li>
      <EventStart event={event} count={count} />
      <span className="cut detail" title={detail}>
        <b>{about}</b>{' '}
        <span className="dim">
          <Sentence text={detail} />
        </span>
      </span>
    </li>
  );
});
