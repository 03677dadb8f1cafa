/** Errors of Anneal's own API: `{ "error": Failure }`. */
import type { FamilyWording } from '../http/family.ts';
import { authenticateHeader } from '../identity/keystone.ts';

export const apiWording: FamilyWording = {
  body: ({ failure }) => ({ error: failure }),
  headers: ({ status }, request): Record<string, string> =>
    status === 401 ? { 'www-authenticate': authenticateHeader(request) } : {},
  notFound: (request, reply) =>
    reply.code(404).send({
      error: {
        code: 'NotFound',
        message: `There is nothing at this address of Anneal for ${request.method}.`,
        remedy: 'GET /api/v1/openapi.json lists what there is.',
      },
    }),
  notAllowed: (_request, allow) => ({
    error: { code: 'NotSupported', message: `This address takes ${allow.join(', ')}.` },
  }),
};
