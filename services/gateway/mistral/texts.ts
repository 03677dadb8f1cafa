/** The texts of workflows and actions in requests of Mistral's API. */
import { workflowCheck } from '@anneal/contracts/calls/workflow.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';
import { projectOf } from '../identity/caller.ts';

type Kind = 'workflows' | 'actions';

/** A namespace or a public scope is refused, because this server has none. */
export const definitionPlaceSchema = z.strictObject({
  namespace: z.literal('', { error: 'namespaces are not served' }).optional(),
  scope: z.literal('private', { error: 'only private workflows and actions are served' }).optional(),
});

/** The body that is a text of definitions. A body of another type is no text. */
const textBody = (kind: Kind) => ({
  body: z.string(`must be the text of ${kind}, with Content-Type: text/plain`).max(1_048_576),
  bodyType: 'text/plain',
});

/** The input of a route that stores the definitions of a text. */
export const definitionsInput = (kind: Kind) => ({ query: definitionPlaceSchema, ...textBody(kind) });

/** The route that checks a text. */
export const checkRoute = (ask: Ask, path: string, kind: Kind): Route =>
  route({
    method: 'POST',
    path,
    summary: `Name every mistake in a text of ${kind}, and store nothing.`,
    ...textBody(kind),
    answer: z.object({ valid: z.boolean(), error: z.string().nullable() }),
    handle: async ({ body: text, request }) => {
      const project = projectOf(request);
      const { mistakes } = await ask('scheduling', workflowCheck, { project, data: { project, text, kind } });
      const lines = mistakes.map(({ message, line }) => (line === undefined ? message : `line ${line}: ${message}`));
      return { valid: lines.length === 0, error: lines.length === 0 ? null : lines.join('\n') };
    },
  });
