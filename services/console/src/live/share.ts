/**
 * One event stream per browser and not per tab: browsers open few connections to one server, and each stream keeps one.
 *
 * The tab that holds the lock reads the stream and tells the others. When it closes, another tab gets the lock.
 * Browsers have no locks for a page over plain HTTP from another computer: there each tab reads a stream of its own.
 */
import type { Client } from '@anneal/client/connect.ts';
import type { AnnealEvent } from '@anneal/client/events.ts';

export interface Live {
  /** Called for each event, in every tab. */
  onEvent(event: AnnealEvent): void;
  /** Whether the stream is open. `gap` is true when events before this moment may be missing. */
  onState(state: { isOpen: boolean; gap: boolean }): void;
}

type News =
  | { readonly event: AnnealEvent }
  | { readonly isOpen: boolean; readonly gap: boolean }
  /** A tab that has just opened asks for the state of the stream. */
  | { readonly asks: true };

const hasLocks = (): boolean => 'locks' in navigator;

async function lockOfTabs(name: string, signal: AbortSignal, use: () => Promise<void>): Promise<void> {
  if (hasLocks()) await navigator.locks.request(name, { signal }, use);
  else await use();
}

/** Reads events until the signal aborts. Continues behind the last event after a break. */
export function shareEvents(client: Client, live: Live, signal: AbortSignal): void {
  const channel = new BroadcastChannel('anneal-events');
  const send = (news: News): void => {
    // A channel reaches only tabs of this origin, so its messages have no target.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    if (hasLocks()) channel.postMessage(news);
  };
  // The state of the stream, in the tab that reads it.
  let isOpen = false;
  const hear = (news: News): void => {
    if ('event' in news) live.onEvent(news.event);
    else if ('isOpen' in news) live.onState(news);
    else if (isOpen) tell({ isOpen, gap: false });
  };
  channel.addEventListener('message', ({ data }: MessageEvent<News>) => hear(data));
  signal.addEventListener('abort', () => channel.close());
  const tell = (news: News): void => {
    if (signal.aborted) return;
    send(news);
    hear(news);
  };
  const lead = async (): Promise<void> => {
    const stream = client.events({
      signal,
      // A stream that opens again without having seen an event starts at the present, so some may be missing.
      onOpen: () => {
        isOpen = true;
        tell({ isOpen, gap: true });
      },
      onBreak: () => {
        isOpen = false;
        tell({ isOpen, gap: false });
      },
      onGap: () => tell({ isOpen: true, gap: true }),
    });
    for await (const event of stream) tell({ event });
  };
  send({ asks: true });
  lockOfTabs('anneal-events', signal, lead).catch(() => undefined);
}
