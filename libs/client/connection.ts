/**
 * A logged-in connection to the gateway: one token for all calls, the catalog of the APIs, errors as AnnealError.
 *
 * C1. A token is used until the gateway refuses it; then exactly one login serves all refused calls.
 * C2. A call is repeated at most once, and only after a refused token, so that the gateway never does the work twice.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { holdsCredentials } from '@anneal/contracts/calls/provisioning.ts';
import { z } from 'zod';
import { failureOf } from './failure.ts';

/** The APIs of the gateway, by their type in the catalog. */
export type GatewayService = 'orchestration' | 'messaging' | 'baremetal' | 'identity' | 'api';

/** A login by name and password. Domains default to `default`. */
export interface PasswordLogin {
  /** The root of the identity API, e.g. `http://127.0.0.1:8470/identity/v3`. */
  authUrl: string;
  username: string;
  password: string;
  /** Name of the project. */
  project: string;
  userDomain?: string | undefined;
  projectDomain?: string | undefined;
}
/** A login with a token that exists already. It is not renewed. */
export interface TokenLogin {
  authUrl: string;
  token: string;
}
/** A means to log in at the identity API. */
export type Login = PasswordLogin | TokenLogin;

/** One request to the gateway. */
export interface CallParameters {
  service: GatewayService;
  /** Below the service's endpoint, starting with `/`. */
  path: string;
  method?: string | undefined;
  query?: Record<string, string | number | boolean | readonly string[] | undefined> | undefined;
  body?: unknown;
  headers?: Record<string, string> | undefined;
  signal?: AbortSignal | undefined;
  /** The attempted action, for the error: `create the stack web`. */
  what: string;
}

/**
 * Authenticated requests. Every call rejects with AnnealError: Unavailable when no server answers, else the error of
 * the gateway.
 */
export interface GatewayConnection {
  readonly projectId: string;
  /** The root of the gateway, e.g. `http://127.0.0.1:8470`. */
  readonly url: string;
  /** Returns a successful response, or a 304 after `if-none-match`; throws any other as the error in its body. */
  call(parameters: CallParameters): Promise<Response>;
  /** The JSON of the body; null without a body. */
  json(parameters: CallParameters): Promise<unknown>;
}

const tokenSchema = z.object({
  token: z.object({
    project: z.object({ id: z.string(), name: z.string() }),
    catalog: z
      .array(
        z.object({
          type: z.string(),
          endpoints: z.array(z.object({ interface: z.string(), url: z.string() })),
        }),
      )
      .default([]),
  }),
});

interface Session {
  token: string;
  projectId: string;
  endpoints: ReadonlyMap<string, string>;
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** The gateway's root, from the address of its identity API. */
export const gatewayRoot = (authUrl: string): string => withoutSlash(authUrl).replace(/\/identity(\/v3)?$/, '');

/**
 * Logs in. The connection renews its token by itself.
 * @throws AnnealError Unauthorized for wrong credentials, Unavailable when the gateway does not answer
 */
export async function openConnection(login: Login, options: { signal?: AbortSignal } = {}): Promise<GatewayConnection> {
  if (holdsCredentials(login.authUrl)) {
    const message = 'The address of the server must not contain a user or password: use OS_USERNAME and OS_PASSWORD.';
    throw new AnnealError('InvalidRequest', message);
  }
  const url = gatewayRoot(login.authUrl);
  const identity = `${url}/identity/v3`;
  let session = await authenticate({ login, identity, signal: options.signal });
  let renewal: Promise<Session> | undefined;

  // C1: calls that were refused at the same time share one login.
  const renew = (refused: string): Promise<Session> => {
    if (session.token !== refused) return Promise.resolve(session);
    renewal ??= authenticate({ login, identity, signal: undefined }).finally(() => {
      renewal = undefined;
    });
    return renewal.then((renewed) => (session = renewed));
  };

  const endpoint = (service: GatewayService): string => {
    if (service === 'api') return `${url}/api/v1`;
    if (service === 'identity') return identity;
    const found = session.endpoints.get(service);
    if (found !== undefined) return found;
    throw new AnnealError('NotFound', `The service catalog of ${url} does not list a ${service} service.`);
  };

  const send = ({ service, path, method, query, body, headers, signal, what }: CallParameters): Promise<Response> => {
    const target = new URL(endpoint(service) + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value === undefined) continue;
      if (typeof value === 'object') for (const item of value) target.searchParams.append(name, item);
      else target.searchParams.set(name, String(value));
    }
    return reach({ what, root: url }, target, {
      method: method ?? 'GET',
      headers: {
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
        'x-auth-token': session.token,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  };

  const call = async (parameters: CallParameters): Promise<Response> => {
    const { token } = session;
    let response = await send(parameters);
    if (response.status === 401 && 'password' in login) {
      await response.body?.cancel();
      await renew(token);
      response = await send(parameters); // C2
    }
    if (response.ok || response.status === 304) return response;
    throw await failureOf(response, parameters.what);
  };

  return {
    get projectId() {
      return session.projectId;
    },
    url,
    call,
    async json(parameters) {
      const response = await call(parameters);
      const text = await response.text();
      return text === '' ? null : (JSON.parse(text) as unknown);
    },
  };
}

async function authenticate(input: {
  login: Login;
  identity: string;
  signal: AbortSignal | undefined;
}): Promise<Session> {
  const { login, identity, signal } = input;
  const root = gatewayRoot(identity);
  const what = `log in at ${root}`;
  const response =
    'token' in login
      ? await reach({ what, root }, new URL(`${identity}/auth/tokens`), {
          headers: { 'x-auth-token': login.token, 'x-subject-token': login.token },
          ...(signal && { signal }),
        })
      : await reach({ what, root }, new URL(`${identity}/auth/tokens`), {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(passwordRequest(login)),
          ...(signal && { signal }),
        });
  if (!response.ok) throw await failureOf(response, what);
  const parsed = tokenSchema.safeParse(await response.json().catch(() => null));
  if (!parsed.success) {
    throw new AnnealError('Unavailable', `Could not ${what}: the server at that address is not an identity service.`);
  }
  const { project, catalog } = parsed.data.token;
  const token = 'token' in login ? login.token : (response.headers.get('x-subject-token') ?? '');
  const endpoints = new Map<string, string>();
  for (const { type, endpoints: known } of catalog) {
    const chosen = known.find((one) => one.interface === 'public') ?? known[0];
    if (chosen) endpoints.set(type, withoutSlash(chosen.url));
  }
  return { token, projectId: project.id, endpoints };
}

const passwordRequest = ({ username, password, project, userDomain, projectDomain }: PasswordLogin): object => ({
  auth: {
    identity: {
      methods: ['password'],
      password: { user: { name: username, domain: { id: userDomain ?? 'default' }, password } },
    },
    scope: { project: { name: project, domain: { id: projectDomain ?? 'default' } } },
  },
});

/** `fetch` with an error that says that the gateway was not reached, instead of `fetch failed`. */
async function reach({ what, root }: { what: string; root: string }, url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const reason = cause instanceof Error ? ('code' in cause ? String(cause.code) : cause.message) : String(cause);
    throw new AnnealError('Unavailable', `Could not ${what}: no server answers at ${root} (${reason}).`, {
      cause: error,
      details: {
        url: root,
        reason,
        remedy: 'Check that the server is running (start it with `npm start`), or correct OS_AUTH_URL.',
      },
    });
  }
}
