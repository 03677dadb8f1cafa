/** Why a stack makes no progress. Apart from the other actions, because `stack list` and `stack show` need it quickly. */
import { z } from 'zod';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';

const whyForm = z.object({
  summary: z.string(),
  chain: z.array(z.object({ object: z.string(), state: z.string(), reason: z.string(), since: z.string().nullable() })),
  exits: z.array(z.string()),
});
const overviewForm = z.object({
  working: z.array(z.object({ id: z.string(), why: z.object({ summary: z.string() }) })),
  needs: z.array(z.object({ kind: z.string(), id: z.string().nullish(), summary: z.string() })),
});

/** The reasons for the state of a stack or resource: its chain of causes, from the outermost. */
export type Why = z.infer<typeof whyForm>;

/** Explanations. They describe a moment ago, and change nothing. */
export interface WhyCalls {
  explain(parameters: { stack: string; resource?: string | undefined }): Promise<Why>;
  /** A line by the id of each stack that works, waits or has failed. */
  lines(): Promise<ReadonlyMap<string, string>>;
}

/** The calls for explanations. Each throws the gateway's AnnealError. */
export function whyOf(connection: GatewayConnection): WhyCalls {
  const service = 'api';
  return {
    async explain({ stack, resource }) {
      const what = `explain the stack ${stack}`;
      const path = `/stacks/${encodeURIComponent(stack)}/why`;
      return read(whyForm, await connection.json({ service, path, query: { resource }, what }), what);
    },
    async lines() {
      const what = 'explain the stacks';
      const { working, needs } = read(overviewForm, await connection.json({ service, path: '/overview', what }), what);
      return new Map([
        ...working.map(({ id, why }) => [id, why.summary] as const),
        ...needs.flatMap(({ kind, id, summary }) => (kind === 'stack' && id ? [[id, summary] as const] : [])),
      ]);
    },
  };
}
