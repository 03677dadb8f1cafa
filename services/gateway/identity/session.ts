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

/** B2 */
const nameHere = (request: FastifyRequest, name: string): string => {
  const port = /:(\d+)$/.exec(request.host)?.[1];
  return port === undefined ? name : `${name}_${port}`;
};

const sessionCookie = { cookie: 'anneal_session', path: '/' } as const;

/** The token in the cookie of the request. */
export const sessionTokenOf = (request: FastifyRequest): string | undefined => cookieOf(request, sessionCookie.cookie);

/** The value of a cookie of this server. */
export function cookieOf(request: FastifyRequest, cookie: string): string | undefined {
  const name = nameHere(request, cookie);
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

interface Answered {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Gives the browser the cookie with the token, or removes the cookie. */
export function setSession(answered: Answered, session: { token: string; expiresAt: string } | undefined): void {
  const until = new Date(session?.expiresAt ?? 0).getTime();
  setCookie(answered, { ...sessionCookie, value: session?.token ?? '', until, sameSite: 'Strict' });
}

/** Gives the browser a cookie that no script can read. A time in the past removes it. */
export function setCookie(
  { request, reply }: Answered,
  given: { cookie: string; path: string; value: string; until: number; sameSite: 'Lax' | 'Strict' },
): void {
  void reply.header(
    'set-cookie',
    [
      `${nameHere(request, given.cookie)}=${given.value}`,
      `Path=${given.path}`,
      'HttpOnly',
      `SameSite=${given.sameSite}`,
      `Expires=${new Date(given.until).toUTCString()}`,
      ...(request.protocol === 'https' ? ['Secure'] : []),
    ].join('; '),
  );
}
