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
        message: `Anneal has no endpoint for ${request.method} at this address.`,
        remedy: 'GET /api/v1/openapi.json lists all endpoints.',
      },
    }),
  notAllowed: (_request, allow) => ({
    error: { code: 'NotSupported', message: `This address accepts ${allow.join(', ')}.` },
  }),
};
