/** Contexts: facts of several hosts as one versioned map, for any program. */
import { contextList, contextShow } from '@anneal/contracts/configuration.ts';
import { contextViewSchema, type ContextView } from '@anneal/contracts/context.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { clientGone } from '../http/client-gone.ts';
import { projectOf } from '../identity/caller.ts';
import { contextsKey, type Wakeups } from '../wakeups.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

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

export function contextEndpoints(options: ContextEndpointOptions): Endpoint[] {
  const { ask, wakeups, maxWaitSeconds, stopping } = options;
  const show = (project: string, context: string): Promise<ContextView> =>
    ask('configuration', contextShow, { project, data: { project, context } });

  /** The context once its tag differs; at the end of the wait also with the same tag. */
  async function showChanged(
    { project, context }: { project: string; context: string },
    { tag, waitMs, signal }: { tag: string | undefined; waitMs: number; signal: AbortSignal },
  ): Promise<ContextView> {
    const end = performance.now() + waitMs;
    // Start listening before the first read, or an event that arrives in between would be missed.
    const listener = wakeups.listen(contextsKey(project));
    try {
      for (;;) {
        const shown = await show(project, context);
        const left = end - performance.now();
        if (tagOf(shown) !== tag || left <= 0 || signal.aborted) return shown;
        await listener.next(Math.min(left, lookAgainMs), signal);
      }
    } finally {
      listener.close();
    }
  }

  return [
    endpoint({
      method: 'GET',
      path: '/contexts',
      summary: 'List the contexts of the project, or of a stack.',
      query: z.strictObject({ stack: z.string().optional() }),
      answer: z.object({ contexts: z.array(contextViewSchema) }),
      handle: ({ request, query: { stack } }) => {
        const project = projectOf(request);
        const data = { project, ...(stack !== undefined && { stack_id: stack }) };
        return ask('configuration', contextList, { project, data });
      },
    }),
    endpoint({
      method: 'GET',
      path: '/contexts/{context}',
      summary:
        'Show a context by id or name: its members with their facts, and the state of its configs. With If-None-Match it answers 304 without a change; `wait` is the number of seconds for which it waits for a change.',
      query: z.strictObject({ wait: z.coerce.number().min(0).default(0) }),
      answer: contextViewSchema,
      handle: async ({ request, reply, params, query: { wait } }) => {
        const tag = request.headers['if-none-match'];
        const shown = await showChanged(
          { project: projectOf(request), context: params['context'] ?? '' },
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
