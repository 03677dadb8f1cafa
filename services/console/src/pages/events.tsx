/** Events as they happen, the newest first. */
import { eventWords } from '@anneal/client/text/event.ts';
import { useLive } from '../live/live.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { EventStart } from '../parts/event-start.tsx';
import { foldEvents } from '../parts/fold-events.ts';
import { Sentence } from '../parts/sentence.tsx';
import { Same } from '../parts/same.tsx';
import { matching } from '../parts/table.tsx';

const mostShown = 300;

export function EventsPage() {
  const { events } = useLive();
  const find = useFilter();
  const rows = matching(events, find, (event) => {
    const { about, detail } = eventWords(event);
    return [event.type, about, detail];
  });
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Events</h1>
        <Filter what="events by type, object or reason" />
      </div>
      <section className="card">
        {rows.length === 0 ? (
          <Empty>{find === '' ? 'No event yet.' : 'No event matches the filter.'}</Empty>
        ) : (
          <ul className="log body">
            {foldEvents(rows, mostShown).map(({ event, about, detail, count }) => (
              <li key={event.id}>
                <EventStart event={event} count={count} />
                <span className="cut detail" title={detail}>
                  <b>{about}</b>{' '}
                  <span className="dim">
                    <Sentence text={detail} />
                  </span>
                </span>
              </li>
            ))}
          </ul>
        )}
      </section>
      {events.length > 0 && (
        <p className="dim">The last {events.length.toLocaleString()} events. The server keeps more of them.</p>
      )}
      <Same command="anneal event list" request="GET /api/v1/events" />
    </div>
  );
}
