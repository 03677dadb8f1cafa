/** Events as they happen, the newest first. */
import { toneOf } from '@anneal/client/text/tone.ts';
import { eventWords } from '@anneal/client/text/event.ts';
import { formatClock } from '@anneal/client/text/time.ts';
import { useLive } from '../live/live.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { Sentence } from '../parts/sentence.tsx';
import { Mark } from '../parts/state.tsx';
import { Same } from '../parts/same.tsx';
import { matching } from '../parts/table.tsx';

const mostShown = 300;

export function EventsPage() {
  const { events } = useLive();
  const find = useFilter();
  const rows = matching(events, find, (event) => {
    const { about, detail } = eventWords(event);
    return [event.type, about, detail];
  }).slice(0, mostShown);
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
            {rows.map((event) => {
              const { about, detail } = eventWords(event);
              return (
                <li key={event.id}>
                  <time className="mono dim" dateTime={event.time}>
                    {formatClock(event.time)}
                  </time>
                  <Mark tone={toneOf(event.type)} />
                  <span className="cut">{event.type}</span>
                  <span className="cut detail">
                    <b>{about}</b>{' '}
                    <span className="dim">
                      <Sentence text={detail} />
                    </span>
                  </span>
                </li>
              );
            })}
          </ul>
        )}
      </section>
      <Same command="anneal event watch" />
    </div>
  );
}
