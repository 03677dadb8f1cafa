/**
 * Server-sent events as an async iterator that survives the connection.
 *
 * T1. After a break it goes on behind the last event seen (`Last-Event-ID`); nothing is given twice on purpose, nothing is left out.
 * T2. It waits longer after each break that brought nothing, up to five seconds; what comes starts the wait over.
 * T3. A refusal that trying again cannot mend (forbidden, not found) ends it with the error. The signal ends it in silence.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { CallParameters, Connection } from './connection.ts';

export interface StreamedEvent {
  id: string;
  /** The `event:` field; `message` where there was none. */
  name: string;
  data: unknown;
}

export interface StreamParameters {
  connection: Connection;
  path: string;
  query?: CallParameters['query'];
  what: string;
  signal: AbortSignal;
  /** Start behind this event. */
  after?: string | undefined;
  /** Told when the stream stands: what happens from here on is seen. */
  onOpen?: (() => void) | undefined;
}

const shortestWait = 100;
const longestWait = 5000;

export async function* followStream(parameters: StreamParameters): AsyncGenerator<StreamedEvent, void, undefined> {
  const { connection, path, query, what, signal, onOpen } = parameters;
  let last = parameters.after;
  let wait = shortestWait;
  while (!signal.aborted) {
    try {
      const response = await connection.call({
        service: 'api',
        path,
        query,
        headers: { accept: 'text/event-stream', ...(last !== undefined && { 'last-event-id': last }) },
        signal,
        what,
      });
      onOpen?.();
      for await (const event of messagesOf(response)) {
        if (event.id !== undefined) last = event.id; // T1
        wait = shortestWait;
        yield { id: event.id ?? '', name: event.event ?? 'message', data: JSON.parse(event.data) as unknown };
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof AnnealError && error.kind !== 'retry') throw error; // T3
    }
    await delay(wait, undefined, { signal }).catch(() => undefined);
    wait = Math.min(wait * 2, longestWait); // T2
  }
}

async function* messagesOf(response: Response): AsyncGenerator<{ id?: string; event?: string; data: string }> {
  if (!response.body) return;
  const stream = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield {
        data: value.data,
        ...(value.id !== undefined && { id: value.id }),
        ...(value.event !== undefined && { event: value.event }),
      };
    }
  } finally {
    // Leaves no open socket behind a reader who stopped early.
    await reader.cancel().catch(() => undefined);
  }
}
