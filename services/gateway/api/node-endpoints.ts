/** Calls about nodes that Ironic's API does not have. */
import { setTimeout as sleep } from 'node:timers/promises';
import { consoleLogSchema, mostConsoleLines, nodeConsoleLog } from '@anneal/contracts/calls/node-hardware.ts';
import {
  nodeClearSuspect,
  nodeConfirmOff,
  offWarningSchema,
  statedReasonSchema,
} from '@anneal/contracts/calls/nodes.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf } from '../identity/caller.ts';
import { occasionOf } from '../identity/occasion.ts';
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
        requireOperator(request, 'The console of a node');
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
    route({
      method: 'POST',
      path: '/nodes/{node}/confirm-off',
      summary:
        'State that the machine of a node is off, when its BMC cannot prove it. What waits for the proof goes on, so a false statement lets two machines run as one host. It needs the role admin, and is refused while the BMC says that the machine is on.',
      body: z.strictObject({ reason: statedReasonSchema.meta({ description: 'Why. It is in the audit log.' }) }),
      answer: z.object({ warning: offWarningSchema }),
      reasoned: true,
      handle: async ({ params: { node }, body: { reason }, request }) => {
        requireOperator(request, 'The statement that a machine is off');
        const data = { node, reason, occasion: occasionOf(request) };
        const { warning } = await ask('provisioning', nodeConfirmOff, { data });
        return { warning };
      },
    }),
    route({
      method: 'POST',
      path: '/nodes/{node}/clear-suspect',
      summary:
        'Forget the losses of the machine of a node, because a person has looked at it. Placement takes it like any other then. It needs the role admin.',
      handle: async ({ params: { node }, request }) => {
        requireOperator(request, 'The end of the suspicion against a node');
        await ask('provisioning', nodeClearSuspect, { data: { node, occasion: occasionOf(request) } });
      },
    }),
  ];
}

/** @throws AnnealError Forbidden for a caller who is no operator. */
function requireOperator(request: FastifyRequest, what: string): void {
  const caller = callerOf(request);
  if (caller.kind === 'user' && isOperator(caller.access, 'member')) return;
  throw new AnnealError('Forbidden', `${what} needs the role admin.`);
}
