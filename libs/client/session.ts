/** The session of a browser: its cookie holds the token, so that no script of a page can read it. */
import { ownFetch } from './own-fetch.ts';
import { sessionSchema, type SessionView } from '@anneal/contracts/calls/session.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { passwordRequest } from './connection.ts';
import { failureOf } from './failure.ts';
import { reach } from './reach.ts';
import { read } from './read.ts';

/**
 * Logs in and exchanges the token for the cookie of a session.
 * @throws AnnealError Unauthorized for a wrong name or password, LimitReached after too many of them
 */
export async function startSession(parameters: {
  /** The root of the gateway; a cookie is kept only for the origin of the page. */
  url: string;
  username: string;
  password: string;
  project: string;
}): Promise<SessionView> {
  const { url, username, password, project } = parameters;
  const what = `log in as ${username}`;
  const login = await reach(
    ownFetch,
    { what, root: url, url: new URL(`${url}/identity/v3/auth/tokens`) },
    {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(passwordRequest({ username, password, project })),
    },
  );
  if (!login.ok) throw refusedIn(await failureOf(login, what));
  const token = login.headers.get('x-subject-token') ?? '';
  const session = await reach(
    ownFetch,
    { what, root: url, url: sessionUrl(url) },
    {
      method: 'POST',
      headers: { 'x-auth-token': token },
    },
  );
  if (!session.ok) throw await failureOf(session, what);
  return read(sessionSchema, await session.json(), what);
}

/** Keystone's own text for a wrong name or password does not say that it is about them. */
function refusedIn(failure: AnnealError): AnnealError {
  if (failure.message !== 'The request you have made requires authentication.') return failure;
  return new AnnealError('Unauthorized', 'The user name or the password is wrong.', { cause: failure });
}

/** The session of this browser. @throws AnnealError Unauthorized without one */
export async function findSession({ url }: { url: string }): Promise<SessionView> {
  const what = 'find the session of this browser';
  const response = await reach(ownFetch, { what, root: url, url: sessionUrl(url) });
  if (!response.ok) throw await failureOf(response, what);
  return read(sessionSchema, await response.json(), what);
}

/** Revokes the token of the session and removes its cookie. */
export async function endSession({ url, proof }: { url: string; proof: string }): Promise<void> {
  const what = 'log out';
  const response = await reach(
    ownFetch,
    { what, root: url, url: sessionUrl(url) },
    {
      method: 'DELETE',
      headers: { 'x-anneal-proof': proof },
    },
  );
  if (!response.ok) throw await failureOf(response, what);
}

const sessionUrl = (url: string): URL => new URL(`${url}/api/v1/session`);
