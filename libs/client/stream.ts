/**
 * Server-sent events as an async iterator that survives a lost connection.
 *
 * T1. After a break it continues behind the last event seen (`Last-Event-ID`), so that no event is missed, and none is
 *     repeated on purpose.
 * T2. The wait grows after each break without a new event, up to five seconds. An event resets it.
 * T3. A refusal that a retry cannot fix (forbidden, not found) ends it with the error. The signal ends it without an
 *     error.
 */
import { parseExact } from '@anneal/contracts/read-json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { CallParameters, GatewayConnection } from './connection.ts';

/** One event of a server-sent stream. */
export interface StreamedEvent {
  id: string;
  /** The `event:` field; `message` where there was none. */
  name: string;
  data: unknown;
}

/** The stream to read, and how to continue it after a broken connection. */
export interface StreamParameters {
  connection: GatewayConnection;
  path: string;
  query?: CallParameters['query'];
  what: string;
  signal: AbortSignal;
  /** Start after this event. */
  after?: string | undefined;
  /** Called when the stream is open: every later event is seen. */
  onOpen?: (() => void) | undefined;
  /** Called when the connection is lost; it is opened again. Without it, the connection reports a loss that lasts. */
  onBreak?: (() => void) | undefined;
}

const shortestWait = 100;
const longestWait = 5000;

/** Yields the events of a stream in order, each once. It reconnects after the last event until `signal` aborts. */
export async function* followStream(parameters: StreamParameters): AsyncGenerator<StreamedEvent, void, undefined> {
  const { connection, path, query, what, signal, onOpen, onBreak } = parameters;
  let last = parameters.after;
  let wait = shortestWait;
  const report = onBreak ? undefined : connection.reports.stream;
  let isReported = false;
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
      if (isReported) report?.('Reconnected to the server.');
      isReported = false;
      for await (const event of messagesOf(response)) {
        if (event.id !== undefined) last = event.id; // T1
        wait = shortestWait;
        yield { id: event.id ?? '', name: event.event ?? 'message', data: parseExact(event.data) };
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof AnnealError && error.kind !== 'retry') throw error; // T3
      // A connection that was only cut is back with the next attempt.
      if (error instanceof AnnealError && !isReported) {
        isReported = true;
        report?.(`${error.message} Retrying; no event is lost.`);
      }
    }
    if (!signal.aborted) onBreak?.();
    await pause(wait, signal);
    wait = Math.min(wait * 2, longestWait); // T2
  }
}

/** Ends early when the signal aborts. Without Node's timers, because browsers run this file too. */
const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
    if (signal.aborted) end();
  });

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
    // Leaves no open socket behind when the reader stops early.
    await reader.cancel().catch(() => undefined);
  }
}
