/** Contexts: facts of several hosts as one versioned map, for any program. */
import { contextList, contextShow } from '@anneal/contracts/calls/context.ts';
import { contextViewSchema, type ContextView } from '@anneal/contracts/calls/context.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { clientGone } from '../http/client-gone.ts';
import { callerOf, projectOf } from '../identity/caller.ts';
import { contextsKey, type Wakeups } from '../wakeups.ts';
import { route, type Route } from '../http/route.ts';

export interface ContextEndpointOptions {
  ask: Ask;
  wakeups: Wakeups;
  maxWaitSeconds: number;
  stopping: AbortSignal;
}

/** How long a waiting client may miss a lost event. */
const lookAgainMs = 5_000;

/** Changes with the version of the data and with the state of the configs. */
const tagOf = ({ id, data, status, failures }: ContextView): string =>
  `"${id}.${data.version}.${status}.${failures.length}"`;

/** Whose contexts a request may read: those of the project, or those of the host that asks. */
const readerOf = (request: FastifyRequest): { project: string; member?: string } => {
  const caller = callerOf(request);
  return { project: projectOf(request), ...(caller.kind === 'host' && { member: caller.id }) };
};

export function contextEndpoints(options: ContextEndpointOptions): Route[] {
  const { ask, wakeups, maxWaitSeconds, stopping } = options;
  const show = (request: FastifyRequest, context: string): Promise<ContextView> => {
    const reader = readerOf(request);
    return ask('configuration', contextShow, { project: reader.project, data: { ...reader, context } });
  };

  /** The context once its tag differs; at the end of the wait also with the same tag. */
  async function showChanged(
    { request, context }: { request: FastifyRequest; context: string },
    { tag, waitMs, signal }: { tag: string | undefined; waitMs: number; signal: AbortSignal },
  ): Promise<ContextView> {
    const end = performance.now() + waitMs;
    // Start listening before the first read, or an event that arrives in between would be missed.
    const listener = wakeups.listen(contextsKey(projectOf(request)));
    try {
      for (;;) {
        const shown = await show(request, context);
        const left = end - performance.now();
        if (tagOf(shown) !== tag || left <= 0 || signal.aborted) return shown;
        await listener.next(Math.min(left, lookAgainMs), signal);
      }
    } finally {
      listener.close();
    }
  }

  return [
    route({
      method: 'GET',
      path: '/contexts',
      summary: 'List the contexts of the project, or of a stack.',
      hosts: true,
      query: z.strictObject({ stack: z.string().optional() }),
      answer: z.object({ contexts: z.array(contextViewSchema) }),
      handle: ({ request, query: { stack } }) => {
        const reader = readerOf(request);
        const data = { ...reader, ...(stack !== undefined && { stack_id: stack }) };
        return ask('configuration', contextList, { project: reader.project, data });
      },
    }),
    route({
      method: 'GET',
      path: '/contexts/{context}',
      summary:
        'Show a context by id or name: its members with their facts, and the state of its configs. With If-None-Match it answers 304 without a change; `wait` is the number of seconds for which it waits for a change.',
      hosts: true,
      query: z.strictObject({ wait: z.number().min(0).default(0) }),
      answer: contextViewSchema,
      handle: async ({ request, reply, params, query: { wait } }) => {
        const tag = request.headers['if-none-match'];
        const shown = await showChanged(
          { request, context: params['context'] ?? '' },
          {
            tag,
            waitMs: Math.min(wait, maxWaitSeconds) * 1000,
            signal: AbortSignal.any([clientGone(reply), stopping]),
          },
        );
        reply.header('etag', tagOf(shown));
        if (tagOf(shown) !== tag) return shown;
        await reply.code(304).send();
        return undefined;
      },
    }),
  ];
}
