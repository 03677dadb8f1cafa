/** Reads of the consoles of machines, which Ironic's API does not have. */
import { setTimeout as sleep } from 'node:timers/promises';
import { consoleLogSchema, mostConsoleLines, nodeConsoleLog } from '@anneal/contracts/calls/node-hardware.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf } from '../identity/caller.ts';
import { isOperator } from '@anneal/directory/access.ts';
import { clientGone } from '../http/client-gone.ts';
import { route, type Route } from '../http/route.ts';

const defaultLines = 200;
const mostWaitSeconds = 25;
/** Time between two readings of a BMC for a reader that follows. Only such readers cause them. */
const lookEveryMs = 1000;

export function nodeEndpoints({ ask, stopping }: { ask: Ask; stopping: AbortSignal }): Route[] {
  return [
    route({
      method: 'GET',
      path: '/nodes/{node}/console-log',
      summary:
        'Read the last lines of the serial console of a machine, from its BMC, oldest first. To follow it, ask again with the last known id: the answer waits until there is another line.',
      query: z.strictObject({
        limit: z
          .int()
          .min(1)
          .max(mostConsoleLines)
          .optional()
          .meta({ description: `The number of lines; ${defaultLines} by default.` }),
        known: z.string().max(256).optional().meta({ description: 'The id of the last line that the reader has.' }),
        wait: z.int().min(0).max(mostWaitSeconds).default(0).meta({
          description: 'Seconds to wait for a line behind `known`. The answer then has the lines as they are.',
        }),
      }),
      answer: consoleLogSchema,
      sensitive: true,
      handle: async ({ params: { node }, query: { limit = defaultLines, known, wait }, request, reply }) => {
        // It reaches the BMC, and a machine may print secrets.
        const caller = callerOf(request);
        if (caller.kind !== 'user' || !isOperator(caller.access, 'member'))
          throw new AnnealError('Forbidden', 'The console of a node needs the role admin.');
        const until = performance.now() + wait * 1000;
        const ended = AbortSignal.any([clientGone(reply), stopping]);
        for (;;) {
          const log = await ask('provisioning', nodeConsoleLog, { data: { node, limit } });
          const isOver = performance.now() + lookEveryMs > until;
          if (isOver || ended.aborted || log.lines.at(-1)?.id !== known) return log;
          await sleep(lookEveryMs, undefined, { signal: ended }).catch(() => undefined);
        }
      },
    }),
  ];
}
