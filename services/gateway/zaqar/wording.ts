/** Errors in Zaqar's format: `{title, description}`, with Anneal's own code and mistakes beside them. */
import { AnnealError, type Failure } from '@anneal/contracts/errors.ts';
import { mistakeSchema } from '@anneal/contracts/failure.ts';
import { z } from 'zod';
import type { FamilyWording } from '../http/family.ts';
import { refuseAll, type Refuse } from '../http/input.ts';
import { authenticateHeader } from '../identity/keystone.ts';

const titles: Readonly<Record<number, string>> = {
  400: 'Invalid API request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  409: 'Resource conflict',
  413: 'Request body too large',
  415: 'Unsupported media type',
  429: 'Too many requests',
  503: 'Service temporarily unavailable',
};

/** An error whose Zaqar title is known where it is thrown. */
export function zaqarError(code: AnnealError['code'], title: string, description: string): AnnealError {
  return new AnnealError(code, description, { details: { title } });
}

/** Zaqar has a title of its own for a field that is missing or of another type. */
const fieldText = /^(Missing|The value of the|The) "\w+" (field|of a purge)/;

/** Refuses wrong input as Zaqar does: it names the first mistake only. Texts that are no sentences are not Zaqar's. */
export const refuseFirst: Refuse = (mistakes, place) => {
  const { path, message } = mistakes[0] ?? { path: '', message: '' };
  if (!message.endsWith('.')) return refuseAll(mistakes, place);
  const fieldTitle = fieldText.test(message) ? 'Invalid request body' : titles[400];
  const title = path === 'client-id' ? 'Wrong UUID value' : fieldTitle;
  return new AnnealError('InvalidRequest', message, { mistakes, details: { title } });
};

/** The body of an error. */
export const zaqarErrorSchema = z
  .object({
    title: z.string(),
    description: z.string(),
    code: z.string().optional().meta({ description: 'The code of Anneal.' }),
    mistakes: z.array(mistakeSchema).optional(),
  })
  .meta({ id: 'Error' });

const body = (status: number, failure: Failure): z.output<typeof zaqarErrorSchema> => ({
  title:
    typeof failure.details?.['title'] === 'string'
      ? failure.details['title']
      : (titles[status] ?? 'Internal server error'),
  description: failure.message,
  code: failure.code,
  ...(failure.mistakes && { mistakes: failure.mistakes }),
});

export const zaqarWording: FamilyWording = {
  body: ({ status, failure }) => body(status, failure),
  headers: ({ status }, request) => ({
    vary: 'Accept',
    ...(status === 401 && { 'www-authenticate': authenticateHeader(request) }),
  }),
  notFound: (_request, reply) =>
    reply.code(404).send({ title: titles[404], description: 'The queue API has no endpoint at this address.' }),
  notAllowed: (_request, allow) => ({ title: titles[405], description: `This address accepts ${allow.join(', ')}.` }),
};
