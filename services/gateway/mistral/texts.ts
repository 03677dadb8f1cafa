/** The texts of workflows and actions in requests of Mistral's API. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';

/** A namespace or a public scope is refused, because this server has none. */
export const definitionPlaceSchema = z.strictObject({
  namespace: z.literal('', { error: 'namespaces are not served' }).optional(),
  scope: z.literal('private', { error: 'only private workflows and actions are served' }).optional(),
});

/** The body. @throws AnnealError InvalidRequest when it is no text */
export function definitionTextOf({ body }: FastifyRequest, what: 'workflows' | 'actions'): string {
  if (typeof body === 'string') return body;
  throw new AnnealError('InvalidRequest', `The body must be the text of ${what}, with Content-Type: text/plain.`);
}
