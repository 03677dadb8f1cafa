/** Reads of the consoles of machines, which Ironic's API does not have. */
import { consoleLogSchema, mostConsoleLines, nodeConsoleLog } from '@anneal/contracts/calls/provisioning.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { callerOf } from '../identity/caller.ts';
import { isOperator } from '../identity/rights.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

const defaultLines = 200;

export function nodeEndpoints({ ask }: { ask: Ask }): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/nodes/{node}/console-log',
      summary:
        'Read the last lines of the serial console of a machine, from its BMC, oldest first. To follow it, ask again and continue behind the last known id.',
      query: z.strictObject({
        limit: z.coerce
          .number()
          .int()
          .min(1)
          .max(mostConsoleLines)
          .optional()
          .meta({ description: `The number of lines; ${defaultLines} by default.` }),
      }),
      answer: consoleLogSchema,
      sensitive: true,
      handle: ({ params: { node = '' }, query: { limit = defaultLines }, request }) => {
        // It reaches the BMC, and a machine may print secrets.
        const caller = callerOf(request);
        if (caller.kind !== 'user' || !isOperator(caller.access, 'member'))
          throw new AnnealError('Forbidden', 'The console of a node needs the role admin.');
        return ask('provisioning', nodeConsoleLog, { data: { node, limit } });
      },
    }),
  ];
}
