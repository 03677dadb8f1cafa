/**
 * Server-sent events.
 *
 * E1 The gateway waits for a slow reader and does not buffer: it reads the next page after the last one left the
 *    process.
 * E2 A reader that takes nothing for 30 s is disconnected. It reconnects with `Last-Event-ID` and misses nothing.
 * E3 A silent stream carries periodic comments, so that proxies keep it open and a dead connection is noticed.
 */
import { once } from 'node:events';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyReply } from 'fastify';

const stuckMs = 30_000;

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

export function createStreams({ most, stopping }: { most: number; stopping: AbortSignal }): Streams {
  let open = 0;
  return {
    async open(reply, produce) {
      if (open >= most) {
        throw new AnnealError(
          'LimitReached',
          `Cannot open the event stream: ${open} streams are open, which is the limit (ANNEAL_GATEWAY_MAX_STREAMS). Close some, or try again later.`,
        );
      }
      open += 1;
      const left = new AbortController();
      const { raw } = reply;
      raw.once('close', () => left.abort());
      // A client that left during the first read has already closed the connection.
      if (raw.destroyed || raw.socket?.destroyed === true) left.abort();
      reply.hijack();
      const signal = AbortSignal.any([left.signal, stopping]);
      try {
        raw.writeHead(200, {
          'content-type': 'text/event-stream; charset=utf-8',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
          'x-openstack-request-id': reply.request.id,
        });
        const write = async (text: string): Promise<void> => {
          if (signal.aborted || raw.write(text)) return; // E1
          const stuck = AbortSignal.any([signal, AbortSignal.timeout(stuckMs)]);
          await once(raw, 'drain', { signal: stuck }).catch(() => left.abort()); // E2
        };
        await write(': connected\n\n');
        await produce({
          signal,
          send: ({ id, name, data }) =>
            write(
              `${name === undefined ? '' : `event: ${name}\n`}${id === undefined ? '' : `id: ${id.replaceAll(/[\r\n\0]/g, '')}\n`}data: ${JSON.stringify(data)}\n\n`,
            ),
          heartbeat: () => write(': still here\n\n'), // E3
        });
      } finally {
        open -= 1;
        if (left.signal.aborted) raw.destroy();
        else raw.end();
      }
    },
  };
}
