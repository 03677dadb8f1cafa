/**
 * Sessions of browsers: the token is in a cookie that no script can read.
 *
 * B1 A browser sends cookies by itself, also for a form on another site. The cookie is therefore `SameSite=Strict`, and
 *    a request that may change something must also have the proof in a header, which only a page of this server can
 *    read.
 * B2 Cookies do not separate ports, so the name holds the port: two servers on one machine keep two sessions.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The header that holds the proof. */
export const proofHeader = 'x-anneal-proof';

const safeMethods = ['GET', 'HEAD', 'OPTIONS'];

/** The proof that a request comes from a page of this server. Derived from the token, so that nothing is stored. */
export const proofOf = (token: string): string =>
  createHash('sha256').update(`proof of session ${token}`).digest('base64url');

const cookieName = (request: FastifyRequest): string => {
  const port = /:(\d+)$/.exec(request.host)?.[1];
  return port === undefined ? 'anneal_session' : `anneal_session_${port}`;
};

/** The token in the cookie of the request. */
export function sessionTokenOf(request: FastifyRequest): string | undefined {
  const name = cookieName(request);
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at > 0 && pair.slice(0, at).trim() === name) return pair.slice(at + 1).trim() || undefined;
  }
  return undefined;
}

/**
 * The token of the request: from the header `X-Auth-Token`, otherwise from the cookie of a session.
 * @throws AnnealError Forbidden for a request by cookie that may change something and lacks the proof (B1)
 */
export function tokenOf(request: FastifyRequest): string | undefined {
  const given = request.headers['x-auth-token'];
  if (typeof given === 'string' && given !== '') return given;
  const token = sessionTokenOf(request);
  if (token === undefined || safeMethods.includes(request.method)) return token;
  const proof = Buffer.from(String(request.headers[proofHeader] ?? ''));
  const expected = Buffer.from(proofOf(token));
  if (proof.length === expected.length && timingSafeEqual(proof, expected)) return token;
  throw new AnnealError(
    'Forbidden',
    'A request that changes something by the cookie of a session needs the header X-Anneal-Proof: read it from GET /api/v1/session.',
  );
}

/** Gives the browser the cookie with the token, or removes the cookie. */
export function setSession(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  session: { token: string; expiresAt: string } | undefined,
): void {
  void reply.header(
    'set-cookie',
    [
      `${cookieName(request)}=${session?.token ?? ''}`,
      'Path=/',
      'HttpOnly',
      'SameSite=Strict',
      `Expires=${new Date(session?.expiresAt ?? 0).toUTCString()}`,
      ...(request.protocol === 'https' ? ['Secure'] : []),
    ].join('; '),
  );
}
