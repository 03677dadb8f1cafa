/**
 * Event streams over WebSockets. Each text is a CloudEvent in structured mode (`cloudevents.json`).
 *
 * W1 The gateway waits for a slow reader and does not buffer: {@link mostBuffered} and one event is the most that a
 *    socket holds. A reader that takes nothing for 30 s is closed with 1013 and the event to continue after.
 * W2 The gateway sends a ping with a heartbeat, unless one is on its way. A reader that does not answer within the time
 *    between heartbeats is disconnected. A heartbeat also follows events, so two may come within a millisecond.
 * W3 The gateway closes a stream with a code and a reason, never silently: see {@link closeCodes}.
 * W4 Gaps and positions are events too, of the types `events.gap` and `events.position`, so that a reader stores the id
 *    of every text. The id of a gap is the id that the log has lost: a reader that continues after it is warned again.
 */
import { toFailure } from '@anneal/contracts/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import type { Upgrades } from '../../http/upgrades.ts';
import type { Stream, StreamItem } from '../../http/event-stream.ts';
import type { StreamPlaces } from '../../http/stream-places.ts';

/** Why the gateway ends a stream. The reader reconnects after each but `unauthorized` and `spoken`. */
const closeCodes = {
  stopping: 1001,
  spoken: 1008,
  failed: 1011,
  slow: 1013,
  unauthorized: 4401,
} as const;

const mostBuffered = 256 * 1024;
const stuckMs = 30_000;
/** So long a closed reader may take to read the rest and the reason. */
const lastReadMs = 10_000;
/** The same while the gateway stops. */
const stopReadMs = 1_000;
/** The protocol allows 123 bytes. */
const longestReason = 120;

export interface EventSockets {
  /** Serves the stream until the reader leaves or the gateway stops. @throws AnnealError before the handshake only */
  open(
    exchange: { request: FastifyRequest; reply: FastifyReply },
    produce: (stream: Stream) => Promise<void>,
  ): Promise<void>;
}

interface EventSocketOptions {
  places: StreamPlaces;
  upgrades: Upgrades;
  stopping: AbortSignal;
  now: () => number;
  /** The time between heartbeats of a silent stream. */
  heartbeatMs: number;
  stuckMs?: number;
}

export function createEventSockets(options: EventSocketOptions): EventSockets {
  const { places, upgrades } = options;
  return {
    async open(exchange, produce) {
      const free = places.take();
      try {
        await serve(await upgrades.accept(exchange), options, produce);
      } finally {
        free();
      }
    },
  };
}

type Ending = readonly [code: number, reason: string];

async function serve(
  socket: WebSocket,
  { stopping, now, heartbeatMs, stuckMs: patienceMs = stuckMs }: EventSocketOptions,
  produce: (stream: Stream) => Promise<void>,
): Promise<void> {
  const left = new AbortController();
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  let pingedAt: number | undefined;
  let last: string | undefined;
  let ending: Ending | undefined;
  const end = (...why: Ending): void => {
    ending ??= why;
    left.abort();
  };
  socket.once('close', () => left.abort());
  // The close follows.
  socket.on('error', () => left.abort());
  socket.on('pong', () => (pingedAt = undefined));
  socket.on('message', () => end(closeCodes.spoken, 'This stream takes no messages.'));
  const signal = AbortSignal.any([left.signal, stopping]);
  const stream: Stream = {
    signal,
    async send(item) {
      if (signal.aborted) return;
      const isTaken = await sent(socket, textOf(item, now), patienceMs);
      if (isTaken) last = item.id ?? last;
      else end(closeCodes.slow, `The reader took nothing for ${patienceMs / 1000} s. ${continueAfter(last)}`); // W1
    },
    async heartbeat() {
      if (signal.aborted) return;
      // W2
      if (pingedAt !== undefined && performance.now() - pingedAt >= heartbeatMs) return socket.terminate();
      if (pingedAt !== undefined) return;
      pingedAt = performance.now();
      socket.ping();
    },
  };
  await produce(stream).catch((error: unknown) => end(...endingOf(error)));
  const [code, reason] = ending ?? [closeCodes.stopping, `The server stops. ${continueAfter(last)}`];
  socket.close(code, reason.slice(0, longestReason));
  const timer = setTimeout(() => socket.terminate(), stopping.aborted ? stopReadMs : lastReadMs);
  const onStop = (): void => void setTimeout(() => socket.terminate(), stopReadMs).unref();
  stopping.addEventListener('abort', onStop, { once: true });
  await closed;
  clearTimeout(timer);
  stopping.removeEventListener('abort', onStop);
}

const continueAfter = (last: string | undefined): string =>
  last === undefined ? 'Connect again.' : `Continue with after=${last}`;

const endingOf = (error: unknown): Ending => {
  const { code, message } = toFailure(error);
  return code === 'Unauthorized' ? [closeCodes.unauthorized, message] : [closeCodes.failed, `${code}. Connect again.`];
};

/** Sends a text and waits until the reader has room for more. False when it takes nothing in this time. */
function sent(socket: WebSocket, text: string, withinMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    // Called after an error too, as when the connection ends.
    socket.send(text, () => {
      clearTimeout(timer);
      resolve(true);
    });
    if (socket.bufferedAmount <= mostBuffered) return resolve(true);
    timer = setTimeout(() => resolve(false), withinMs);
  });
}

/** W4 */
function textOf({ name, data }: StreamItem, now: () => number): string {
  if (name === undefined) return JSON.stringify(data);
  const { after } = data as { after: string };
  const time = new Date(now()).toISOString();
  return JSON.stringify({
    specversion: '1.0',
    id: after,
    type: `events.${name}`,
    source: 'anneal/gateway',
    time,
    datacontenttype: 'application/json',
    data,
  });
}
