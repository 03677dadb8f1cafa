/** A line for an event of a stack. */
import type { StackEventRow } from '@anneal/client/representation.ts';
import { reasonText } from '@anneal/client/text/reason.ts';
import { formatClock } from '@anneal/client/text/time.ts';
import type { Colors } from '../output.ts';
import { paintStatus } from './status.ts';

export function eventLine(event: StackEventRow, colors: Colors): string {
  const status = paintStatus(event.resource_status, colors);
  const [firstLine = ''] = reasonText(event.resource_status_reason).split('\n');
  const reason = firstLine === '' ? '' : colors.dim(`  ${firstLine}`);
  return `${colors.dim(formatClock(event.event_time))}  ${event.resource_name}  ${status}${reason}`;
}

/** The event with the nested stack that it belongs to in its name: `web-workers-3wlap7lpng6x/server`. */
export function placedIn(event: StackEventRow, stack: string): StackEventRow {
  const own =
    event.links
      .find(({ rel }) => rel === 'stack')
      ?.href.split('/')
      .at(-2) ?? stack;
  return own === stack ? event : { ...event, resource_name: `${own}/${event.resource_name}` };
}
