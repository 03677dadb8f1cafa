/** Queues of every kind, and the dead letters. */
import type { GatewayConnection } from './connection.ts';
import { read, readList } from './read.ts';
import {
  deadLetterSchema,
  peekedSchema,
  queueRowSchema,
  type DeadLetterRow,
  type Peeked,
  type QueueRow,
} from './representation.ts';
import { followStream, type StreamedEvent } from './stream.ts';

export interface QueueCalls {
  list(parameters?: { signal?: AbortSignal }): Promise<QueueRow[]>;
  /** The first messages; they stay in the queue. */
  peek(parameters: { queue: string; limit?: number | undefined }): Promise<Peeked[]>;
  /** Yields each message as it arrives, until the signal. */
  watch(parameters: { queue: string; signal: AbortSignal }): AsyncIterable<StreamedEvent>;
}
export interface DeadLetterCalls {
  list(parameters?: { queue?: string | undefined; limit?: number | undefined }): Promise<DeadLetterRow[]>;
  show(parameters: { id: string }): Promise<DeadLetterRow>;
  replay(parameters: { id: string }): Promise<void>;
  purge(parameters: { id: string }): Promise<void>;
}

const service = 'api';

export function queuesOf(connection: GatewayConnection): QueueCalls {
  return {
    async list({ signal } = {}) {
      const what = 'list the queues';
      return readList(
        queueRowSchema,
        'queues',
        await connection.json({ service, path: '/queues', what, signal }),
        what,
      );
    },
    async peek({ queue, limit }) {
      const what = `peek at the queue ${queue}`;
      const path = `/queues/${encodeURIComponent(queue)}/messages`;
      return readList(peekedSchema, 'messages', await connection.json({ service, path, query: { limit }, what }), what);
    },
    watch: ({ queue, signal }) =>
      followStream({
        connection,
        path: `/queues/${encodeURIComponent(queue)}/watch`,
        what: `watch the queue ${queue}`,
        signal,
      }),
  };
}

export function deadLettersOf(connection: GatewayConnection): DeadLetterCalls {
  const pathOf = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`;
  return {
    async list({ queue, limit } = {}) {
      const what = 'list the dead letters';
      const body = await connection.json({ service, path: '/dead-letters', query: { queue, limit }, what });
      return readList(deadLetterSchema, 'dead_letters', body, what);
    },
    async show({ id }) {
      const what = `show the dead letter ${id}`;
      return read(deadLetterSchema, await connection.json({ service, path: pathOf(id), what }), what);
    },
    async replay({ id }) {
      const what = `replay the dead letter ${id}`;
      await connection.call({ service, path: `${pathOf(id)}/replay`, method: 'POST', what });
    },
    async purge({ id }) {
      await connection.call({ service, path: pathOf(id), method: 'DELETE', what: `purge the dead letter ${id}` });
    },
  };
}
