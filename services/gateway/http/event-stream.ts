/**
 * Server-sent events.
 *
 * E1 The gateway waits for a slow reader and does not buffer: it reads the next page after the last one left the
 *    process.
 * E2 A reader that takes nothing for 30 s is disconnected. It reconnects with `Last-Event-ID` and misses nothing.
 * E3 A silent stream carries periodic comments, so that proxies keep it open and a dead connection is noticed.
 * E4 A reader that is disconnected waits a moment before it reconnects, so that a restart is not followed by a rush.
 */
import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import type { StreamPlaces } from './stream-places.ts';

const stuckMs = 30_000;
const reconnectMs = 2_000;

export interface StreamItem {
  readonly id?: string;
  /** The type of the item; a reader of plain items ignores others. */
  readonly name?: string;
  readonly data: unknown;
}

export interface Streams {
  /** Takes over the connection until the reader leaves or the gateway stops. */
  open(reply: FastifyReply, produce: (stream: Stream) => Promise<void>): Promise<void>;
}

export interface Stream {
  /** Aborted when the reader has left or the gateway stops. */
  readonly signal: AbortSignal;
  send(item: StreamItem): Promise<void>;
  heartbeat(): Promise<void>;
}

export function createStreams({ places, stopping }: { places: StreamPlaces; stopping: AbortSignal }): Streams {
  return {
    async open(reply, produce) {
      const free = places.take();
      const left = new AbortController();
      const { raw } = reply;
      raw.once('close', () => left.abort());
      // A client that left during the first read has already closed the connection.
      if (raw.destroyed || raw.socket?.destroyed === true) left.abort();
      reply.hijack();
      const signal = AbortSignal.any([left.signal, stopping]);
      try {
        // A hijacked reply sends none of its headers itself.
        for (const [name, value] of Object.entries(reply.getHeaders())) {
          if (value !== undefined) raw.setHeader(name, value);
        }
        raw.writeHead(200, {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
        });
        const write = async (text: string): Promise<void> => {
          if (signal.aborted || raw.write(text)) return; // E1
          const stuck = AbortSignal.any([signal, AbortSignal.timeout(stuckMs)]);
          await once(raw, 'drain', { signal: stuck }).catch(() => left.abort()); // E2
        };
        // E4
        await write(`: connected\nretry: ${reconnectMs}\n\n`);
        await produce({
          signal,
          send: ({ id, name, data }) =>
            write(
              `${name === undefined ? '' : `event: ${name}\n`}${id === undefined ? '' : `id: ${id.replaceAll(/[\r\n\0]/g, '')}\n`}data: ${JSON.stringify(data)}\n\n`,
            ),
          heartbeat: () => write(': still here\n\n'), // E3
        });
      } finally {
        free();
        if (left.signal.aborted) raw.destroy();
        else raw.end();
      }
    },
  };
}
