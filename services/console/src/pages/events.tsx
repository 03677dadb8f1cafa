/** Events as they happen, the newest first, back to the oldest that the server keeps. */
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventWords } from '@anneal/client/text/event.ts';
import { Link, useSearch } from '@tanstack/react-router';
import { memo, useMemo } from 'react';
import { useAsk } from '../live/ask.ts';
import { beforehand, useLive } from '../live/live.tsx';
import { Older, useBackwards } from '../parts/backwards.tsx';
import { Empty } from '../parts/command.tsx';
import { Filter, useFilter } from '../parts/filter.tsx';
import { EventStart } from '../parts/event-start.tsx';
import { eventKindOf, eventKinds, isOfKind, type EventKind } from '../parts/event-kinds.ts';
import { foldEvents, type FoldedEvent } from '../parts/fold-events.ts';
import { joinRows } from '../parts/join-rows.ts';
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

const typesOf = (kind: EventKind | undefined): readonly string[] => (kind ? eventKinds[kind] : []);

export function EventsPage() {
  const { tab } = useSearch({ from: '/events' });
  const kind = eventKindOf(tab);
  const flags = typesOf(kind)
    .map((type) => `--type '${type}'`)
    .join(' ');
  return (
    <div className="stackwise">
      <div className="heading">
        <h1>Events</h1>
        <Filter what="events by type, object or reason" />
      </div>
      <ul className="views" aria-label="Kinds">
        {[undefined, ...Object.keys(eventKinds)].map((name) => (
          <li key={name ?? ''}>
            <Link
              className="chip"
              to="."
              search={(last) => ({ ...last, tab: name })}
              activeOptions={{ includeSearch: true, explicitUndefined: true }}
              aria-current={name === kind ? 'page' : false}
            >
              {name ?? 'All'}
            </Link>
          </li>
        ))}
      </ul>
      <EventLog key={kind ?? ''} kind={kind} />
      <Same command={`anneal event list ${flags}`.trim()} request="GET /api/v1/events" />
    </div>
  );
}

function EventLog({ kind }: { kind: EventKind | undefined }) {
  const { client } = useSession();
  const { events: live } = useLive();
  const query = { limit: pageSize, filters: beforehand, ...(kind && { types: eventKinds[kind] }) };
  // The events that arrived here may hold none of a kind.
  const first = useAsk(['first events', kind ?? ''], async () =>
    kind === undefined ? [] : (await client.events.list(query)).toReversed(),
  );
  const newest = useMemo(
    () =>
      joinRows(
        live.filter(({ type }) => isOfKind(type, kind)),
        first.data ?? [],
      ),
    [live, kind, first.data],
  );
  const events = useBackwards(newest, async ({ id }) =>
    (await client.events.list({ ...query, before: id })).toReversed(),
  );
  const find = useFilter();
  const rows = matching(events.rows, find, textsOf);
  const oldest = events.rows.at(-1);
  return (
    <>
      {find !== '' && oldest && (
        <p className="counts dim" role="status">
          {rows.length.toLocaleString()} of {events.rows.length.toLocaleString()} events since{' '}
          {formatClock(oldest.time)}
        </p>
      )}
      <section className="card">
        {rows.length === 0 ? (
          <Empty>{find === '' ? 'No such event yet.' : 'No event matches the filter.'}</Empty>
        ) : (
          <ul className="log body" aria-label="Events">
            {foldEvents(rows).map(({ event, about, detail, count }) => (
              <Line key={event.id} event={event} about={about} detail={detail} count={count} />
            ))}
          </ul>
        )}
      </section>
      <Older of={events} what="events" />
    </>
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
