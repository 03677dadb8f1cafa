/**
 * Pages of other origins at the scope's routes (CORS).
 *
 * O1 A page of a listed origin may send a token in a header. A page of any other origin gets no permission, so a browser
 *    shows it no answer.
 * O2 The cookie of a session counts only for pages of this server. Two ports of one machine are the same site, so the
 *    browser may send the cookie: the gateway drops it, and never answers `Access-Control-Allow-Credentials`.
 */
import type { FastifyInstance } from 'fastify';
import { varyBy } from './vary.ts';

const permissions = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'X-Auth-Token, Content-Type, If-None-Match, Last-Event-ID, Idempotency-Key',
  // Browsers ask again after ten minutes, so a removed origin does not stay allowed for long.
  'access-control-max-age': '600',
};
const readable = 'ETag, Retry-After, Allow, Content-Disposition, X-OpenStack-Request-Id, Idempotency-Replayed';

/** Allows pages of these origins. Must come before the hook that requires a token, because a preflight has none. */
export function allowOrigins(scope: FastifyInstance, origins: readonly string[]): void {
  if (origins.length === 0) return;
  scope.addHook('onRequest', async (request, reply) => {
    const { origin } = request.headers;
    varyBy(reply, 'Origin');
    // A page of this server needs no permission.
    if (origin === undefined || (URL.canParse(origin) && new URL(origin).host === request.host)) return;
    delete request.raw.headers.cookie; // O2
    if (!origins.includes(origin)) return;
    void reply.headers({ 'access-control-allow-origin': origin, 'access-control-expose-headers': readable });
    const isPreflight = request.method === 'OPTIONS' && 'access-control-request-method' in request.headers;
    if (isPreflight) return reply.code(204).headers(permissions).send();
  });
}
