/** Equal events that follow each other, as one with a count. Pure. */
import type { AnnealEvent } from '@anneal/client/events.ts';
import { eventWords } from '@anneal/client/text/event.ts';

export interface FoldedEvent {
  /** The first of the equal events in the order of the list. */
  readonly event: AnnealEvent;
  readonly about: string;
  readonly detail: string;
  readonly count: number;
}

/**
 * @param events in the order of the list
 * @param most how many lines; events behind the last line are not looked at
 */
export function foldEvents(events: readonly AnnealEvent[], most = Number.POSITIVE_INFINITY): FoldedEvent[] {
  const lines: FoldedEvent[] = [];
  for (const event of events) {
    const { about, detail } = eventWords(event);
    const last = lines.at(-1);
    if (last && last.event.type === event.type && last.about === about && last.detail === detail) {
      lines[lines.length - 1] = { ...last, count: last.count + 1 };
    } else if (lines.length === most) {
      break;
    } else {
      lines.push({ event, about, detail, count: 1 });
    }
  }
  return lines;
}
