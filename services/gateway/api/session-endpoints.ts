/** Sessions of browsers: a token becomes a cookie. */
import { identityTokenRevoke } from '@anneal/contracts/calls/identity.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { sessionSchema, type SessionView } from '@anneal/contracts/calls/session.ts';
import type { FastifyRequest } from 'fastify';
import { callerOf, type UserCaller } from '../identity/caller.ts';
import { isOperator } from '@anneal/directory/access.ts';
import { pathsFor } from '@anneal/directory/own-catalog.ts';
import { tokenHash } from '@anneal/directory/tokens.ts';
import { proofOf, sessionTokenOf, setSession } from '../identity/session.ts';
import type { Ask } from '../ask.ts';
import { route, type Route } from '../http/route.ts';

export function sessionEndpoints({ ask }: { ask: Ask }): Route[] {
  return [
    route({
      method: 'POST',
      path: '/session',
      sensitive: true,
      summary: 'Start a session: exchange the token of a user for a cookie that scripts cannot read.',
      answer: sessionSchema,
      status: 201,
      handle: ({ request, reply }) => {
        const token = request.headers['x-auth-token'];
        const user = userOf(request);
        if (typeof token !== 'string') throw new AnnealError('InvalidRequest', 'The header X-Auth-Token is missing.');
        setSession({ request, reply }, { token, expiresAt: user.token.expires_at });
        return shown(user, token);
      },
    }),
    route({
      method: 'GET',
      path: '/session',
      sensitive: true,
      summary: 'Show the session of this browser: its user and project, and the proof that changing requests need.',
      answer: sessionSchema,
      handle: ({ request }) => shown(userOf(request), withSession(request)),
    }),
    route({
      method: 'DELETE',
      path: '/session',
      summary: 'End the session of this browser: its token is revoked.',
      handle: async ({ request, reply }) => {
        const token = tokenHash(withSession(request));
        await ask('identity', identityTokenRevoke, { data: { token } });
        setSession({ request, reply }, undefined);
      },
    }),
  ];
}

function userOf(request: FastifyRequest): UserCaller {
  const caller = callerOf(request);
  if (caller.kind === 'user') return caller;
  throw new AnnealError('Forbidden', 'Only the token of a user can have a session.');
}

function withSession(request: FastifyRequest): string {
  const token = sessionTokenOf(request);
  if (token === undefined) throw new AnnealError('NotFound', 'This request has no cookie of a session.');
  return token;
}

const shown = ({ name, project, token, access }: UserCaller, text: string): SessionView => ({
  user: { id: token.user_id, name },
  project: { id: project ?? '', name: access.project?.name ?? '' },
  operator: isOperator(access, 'reader'),
  expires_at: token.expires_at,
  proof: proofOf(text),
  paths: pathsFor(project),
});
