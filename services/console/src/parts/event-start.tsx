import { toneOf } from '@anneal/client/text/tone.ts';
import type { FoldedEvent } from './fold-events.ts';
import { Mark } from './state.tsx';
import { Clock } from './time.tsx';

/** The start of the line of an event: its time, its tone, and its type with the number of equal events. */
export function EventStart({ event, count }: Pick<FoldedEvent, 'event' | 'count'>) {
  return (
    <>
      <Clock time={event.time} />
      <Mark tone={toneOf(event.type)} />
      <span className="cut">
        {event.type}
        {count > 1 && ` × ${count}`}
      </span>
    </>
  );
}
