/** Queues of every kind, and the dead letters. */
import type { Json, JsonObject } from '@anneal/contracts/json.ts';
import type { PageRequest } from '@anneal/contracts/page.ts';
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { readPage, type PageOf } from './page.ts';
import { read, readList } from './read.ts';
import {
  deadLetterSchema,
  peekedSchema,
  queueRowSchema,
  replayedSchema,
  type DeadLetterRow,
  type Peeked,
  type QueueRow,
  type ReplayedLetter,
} from './representation.ts';
import { followStream, type StreamedEvent } from './stream.ts';

/** Queues of the broker, of hosts and of users, by name. */
export interface QueueCalls {
  list(parameters?: { signal?: AbortSignal }): Promise<QueueRow[]>;
  /** One page by name, the queues of services first. Columns: name, depth, in_flight, oldest. */
  page(parameters: PageRequest): Promise<PageOf<QueueRow>>;
  show(parameters: { queue: string }): Promise<QueueRow>;
  /** Appends messages. A queue of a user is created when it does not exist. `ttl` is in seconds, default one hour. */
  publish(parameters: {
    queue: string;
    messages: readonly { body: Json; ttl?: number | undefined }[];
  }): Promise<string[]>;
  /** Removes all messages, except requests that a deployment waits for. */
  purge(parameters: { queue: string }): Promise<void>;
  /** The first messages; they stay in the queue. */
  peek(parameters: { queue: string; limit?: number | undefined }): Promise<Peeked[]>;
  /** Yields each message as it arrives, until the signal. */
  watch(parameters: { queue: string; signal: AbortSignal }): AsyncIterable<StreamedEvent>;
}
/** Messages that are no longer tried, by id. */
export interface DeadLetterCalls {
  /** The oldest first. `after`: the id of the last one of the page before. Without `messages`, each only has its reason. */
  list(parameters?: {
    queue?: string | undefined;
    limit?: number | undefined;
    after?: string | undefined;
    messages?: boolean | undefined;
  }): Promise<DeadLetterRow[]>;
  show(parameters: { id: string }): Promise<DeadLetterRow>;
  /**
   * Sends it again, and awaits its end for `wait` seconds; 0 when it is absent.
   * @param parameters.data changes the data of the message first, as a JSON merge patch (RFC 7396)
   */
  replay(parameters: { id: string; data?: JsonObject | undefined; wait?: number | undefined }): Promise<ReplayedLetter>;
  purge(parameters: { id: string }): Promise<void>;
  /** All of a queue, or of every queue. Returns how many. */
  purgeAll(parameters: { queue: string | undefined }): Promise<number>;
}

const service = 'api';

/** The calls for queues. Each throws the gateway's AnnealError. */
export function queuesOf(connection: GatewayConnection): QueueCalls {
  return {
    async list({ signal } = {}) {
      const what = 'list the queues';
      return readList(
        { queues: queueRowSchema },
        await connection.json({ service, path: '/queues', what, signal }),
        what,
      );
    },
    page: (page) => readPage(connection, { path: '/queues', key: 'queues', row: queueRowSchema, ...page }),
    async show({ queue }) {
      const what = `show the queue ${queue}`;
      const path = `/queues/${encodeURIComponent(queue)}`;
      return read(queueRowSchema, await connection.json({ service, path, what }), what);
    },
    async publish({ queue, messages }) {
      const what = `publish to the queue ${queue}`;
      const path = `/queues/${encodeURIComponent(queue)}/messages`;
      const answer = await connection.json({ service, path, method: 'POST', body: { messages }, what });
      return read(z.object({ ids: z.array(z.string()) }), answer, what).ids;
    },
    async purge({ queue }) {
      const path = `/queues/${encodeURIComponent(queue)}/messages`;
      await connection.call({ service, path, method: 'DELETE', what: `purge the queue ${queue}` });
    },
    async peek({ queue, limit }) {
      const what = `peek at the queue ${queue}`;
      const path = `/queues/${encodeURIComponent(queue)}/messages`;
      return readList(
        { messages: peekedSchema },
        await connection.json({ service, path, query: { limit }, what }),
        what,
      );
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

/** The calls for dead letters. Each throws the gateway's AnnealError. */
export function deadLettersOf(connection: GatewayConnection): DeadLetterCalls {
  const pathOf = (id: string): string => `/dead-letters/${encodeURIComponent(id)}`;
  return {
    async list({ queue, limit, after, messages } = {}) {
      const what = 'list the dead letters';
      const query = { queue, limit, after, messages: messages === false ? 'false' : undefined };
      const body = await connection.json({ service, path: '/dead-letters', query, what });
      return readList({ dead_letters: deadLetterSchema }, body, what);
    },
    async show({ id }) {
      const what = `show the dead letter ${id}`;
      return read(deadLetterSchema, await connection.json({ service, path: pathOf(id), what }), what);
    },
    async replay({ id, data, wait }) {
      const what = `replay the dead letter ${id}`;
      const body = { ...(data && { data }), ...(wait !== undefined && { wait }) };
      const path = `${pathOf(id)}/replay`;
      return read(replayedSchema, await connection.json({ service, path, method: 'POST', what, body }), what);
    },
    async purge({ id }) {
      await connection.call({ service, path: pathOf(id), method: 'DELETE', what: `purge the dead letter ${id}` });
    },
    async purgeAll({ queue }) {
      const what = `purge the dead letters of ${queue ?? 'every queue'}`;
      const query = queue === undefined ? { all: 'true' } : { queue };
      const body = await connection.json({ service, path: '/dead-letters', query, method: 'DELETE', what });
      return read(z.object({ purged: z.number() }), body, what).purged;
    },
  };
}
