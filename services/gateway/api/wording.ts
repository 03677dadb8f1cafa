/** Errors of Anneal's own API, and of the addresses of hosts and machines. */
import type { FamilyWording } from '../http/family.ts';
import { problemDetails, problemDetailsType } from '../http/problem-details.ts';
import { authenticateHeader } from '../identity/keystone.ts';

export const apiWording: FamilyWording = {
  type: problemDetailsType,
  body: ({ status, failure }) => problemDetails(status, failure),
  headers: ({ status }, request): Record<string, string> =>
    status === 401 ? { 'www-authenticate': authenticateHeader(request) } : {},
  notFound: (request, reply) =>
    reply
      .code(404)
      .type(problemDetailsType)
      .send(
        problemDetails(404, {
          code: 'NotFound',
          message: `Anneal has no endpoint for ${request.method} at this address.`,
          remedy: 'GET /api/v1/openapi.json lists all endpoints.',
        }),
      ),
  notAllowed: (_request, allow) =>
    problemDetails(405, { code: 'NotSupported', message: `This address accepts ${allow.join(', ')}.` }),
};
