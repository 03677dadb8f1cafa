/** One event on one line. Pure. */
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventWords } from '@anneal/client/text/event.ts';
import { toneOf } from '@anneal/client/text/tone.ts';
import { formatClock } from '@anneal/client/text/time.ts';
import type { Colors } from '../output.ts';

/** Time, type, what the event is about, and the change or its reason. Also for types that this version does not know. */
export function eventText(event: AnnealEvent, colors: Colors): string {
  const { about, detail } = eventWords(event);
  const type = toneOf(event.type) === 'failed' ? colors.red(event.type) : event.type;
  return `${colors.dim(formatClock(event.time))}  ${type}  ${about}${detail === '' ? '' : colors.dim(`  ${detail}`)}`;
}
