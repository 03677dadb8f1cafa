/** A login by the OpenID provider of a server, which the user confirms in any browser. */
import { ownFetch } from './own-fetch.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { gatewayRoot } from './connection.ts';
import { failureOf } from './failure.ts';
import { reach } from './reach.ts';
import { read } from './read.ts';

const beginningSchema = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.url(),
  verification_uri_complete: z.url().optional(),
  expires_in: z.number(),
  interval: z.number(),
});
const tokenSchema = z.object({
  token: z.object({ user: z.object({ name: z.string() }), project: z.object({ name: z.string() }) }),
});

/** A confirmed login: the token, and the names of its user and project. */
export interface ConfirmedLogin {
  readonly token: string;
  readonly user: string;
  readonly project: string;
}

/**
 * Begins a login, shows the user where to confirm it, and waits until that is done.
 * @throws AnnealError Unauthorized when the user refuses or takes too long, Forbidden without a role in the project
 */
export async function deviceLogin(parameters: {
  authUrl: string;
  /** Default: the user's default project. */
  project?: string | undefined;
  show: (where: { address: string; code: string }) => void;
  wait: (ms: number) => Promise<void>;
  signal?: AbortSignal | undefined;
}): Promise<ConfirmedLogin> {
  const { authUrl, project, show, wait, signal } = parameters;
  const root = gatewayRoot(authUrl);
  const what = `log in at ${root} by its OpenID provider`;
  const post = async (path: string, body: object) => {
    const response = await reach(
      ownFetch,
      { what, root, url: new URL(`${root}/identity/oidc${path}`) },
      {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        ...(signal && { signal }),
      },
    );
    if (response.status === 404) {
      await response.text();
      throw new AnnealError('NotSupported', `Could not ${what}: the server has none.`, {
        details: { remedy: 'Log in with a password, or set ANNEAL_GATEWAY_OIDC_ISSUER on the server.' },
      });
    }
    if (!response.ok) throw await failureOf(response, what);
    return response;
  };
  const begun = read(beginningSchema, await (await post('/device', {})).json(), what);
  show({ address: begun.verification_uri_complete ?? begun.verification_uri, code: begun.user_code });
  for (;;) {
    await wait(begun.interval * 1000);
    const answer = await post('/device/token', { device_code: begun.device_code, project });
    const body: unknown = await answer.json();
    if (answer.status === 202) continue;
    const { token } = read(tokenSchema, body, what);
    return {
      token: answer.headers.get('x-subject-token') ?? '',
      user: token.user.name,
      project: token.project.name,
    };
  }
}

/** The name of the OpenID provider of a server; undefined without one. */
export async function oidcProvider({ url }: { url: string }): Promise<string | undefined> {
  const what = 'find the OpenID provider';
  const response = await reach(ownFetch, { what, root: url, url: new URL(`${url}/identity/oidc`) });
  if (!response.ok) throw await failureOf(response, what);
  const schema = z.object({ provider: z.object({ name: z.string() }).nullable() });
  return read(schema, await response.json(), what).provider?.name;
}
