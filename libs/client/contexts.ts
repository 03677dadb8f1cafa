/** Contexts: facts of several hosts as one versioned map. */
import { contextViewSchema, type ContextView } from '@anneal/contracts/calls/context.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import type { GatewayConnection } from './connection.ts';
import { read, readList } from './read.ts';

/** The contexts of the project, and the wait for their next version. */
export interface ContextCalls {
  list(parameters?: { stack?: string | undefined; signal?: AbortSignal }): Promise<ContextView[]>;
  /** By id, or by name where the name is unique. */
  show(parameters: { context: string }): Promise<ContextView>;
  /** The context now, and again after each change, until the signal aborts. */
  follow(parameters: { context: string; signal: AbortSignal }): AsyncIterable<ContextView>;
}

const service = 'api';
/** Seconds for which one call waits for a change. */
const waitSeconds = 30;

/** The calls for contexts. Each throws the gateway's AnnealError. */
export function contextsOf(connection: GatewayConnection): ContextCalls {
  const pathOf = (context: string): string => `/contexts/${encodeURIComponent(context)}`;
  return {
    async list({ stack, signal } = {}) {
      const what = 'list the contexts';
      const body = await connection.json({ service, path: '/contexts', query: { stack }, what, signal });
      return readList({ contexts: contextViewSchema }, body, what);
    },
    async show({ context }) {
      const what = `show the context ${context}`;
      return read(contextViewSchema, await connection.json({ service, path: pathOf(context), what }), what);
    },
    async *follow({ context, signal }) {
      const what = `watch the context ${context}`;
      let tag: string | null = null;
      while (!signal.aborted) {
        const response: Response | undefined = await connection
          .call({
            service,
            path: pathOf(context),
            ...(tag !== null && { query: { wait: waitSeconds }, headers: { 'if-none-match': tag } }),
            signal,
            what,
          })
          .catch((error: unknown) => {
            if (signal.aborted) return undefined;
            throw error;
          });
        if (!response) return;
        if (response.status === 304) continue;
        tag = response.headers.get('etag');
        yield read(contextViewSchema, parseExact(await response.text()), what);
      }
    },
  };
}
