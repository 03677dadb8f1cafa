/**
 * A logged-in connection to the gateway: one token for all calls, the catalog of the APIs, errors as AnnealError.
 *
 * C1. A token is used until the gateway refuses it; then exactly one login serves all refused calls.
 * C2. A call is repeated at most once, and only after a refused token, so that the gateway never does the work twice. A call
 *     that only reads, and one with a key (`Idempotency-Key`), is repeated also when its connection ends before the answer
 *     (`reach.ts`).
 */
import { ownFetch } from './own-fetch.ts';
import { parseExact } from '@anneal/contracts/read-json.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { holdsCredentials } from '@anneal/contracts/address.ts';
import type { SessionView } from '@anneal/contracts/calls/session.ts';
import { isObject, jsonIn } from '@anneal/contracts/plain-json.ts';
import { acceptsHeader, keyHeader, newKey } from '@anneal/contracts/request-key.ts';
import { reach, type RequestOptions, type WholeAnswer, type SendOver, type WaitReports } from './reach.ts';

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
/** A login of a program by an application credential, which has its project and its roles. */
export interface ProgramLogin {
  authUrl: string;
  applicationCredential: { id: string; secret: string };
}
/** A login with a token that exists already. It is not renewed. */
export interface TokenLogin {
  authUrl: string;
  token: string;
}
/** In a browser: the cookie of the session, which is found or started by `session.ts`. */
export interface SessionLogin {
  authUrl: string;
  session: SessionView;
}
/** A means to log in at the identity API. */
export type Login = PasswordLogin | ProgramLogin | TokenLogin | SessionLogin;

/** One request to the gateway. */
export interface CallParameters {
  service: GatewayService;
  /** Below the service's endpoint, starting with `/`. */
  path: string;
  method?: string | undefined;
  query?: Record<string, string | number | boolean | readonly string[] | undefined> | undefined;
  body?: unknown;
  /** A POST that changes nothing, so that the server need not remember it. */
  onlyAsks?: true;
  /** Bytes instead of a body for JSON. They are read once, so a call with them needs a token that is valid. */
  content?: { readonly stream: ReadableStream<Uint8Array> | Blob; readonly size: number } | undefined;
  /** Sends this request for JSON in another way, such as one that reports its progress. */
  over?: SendOver<WholeAnswer> | undefined;
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
  /** The user who logged in. */
  readonly user: { readonly id: string; readonly name: string };
  readonly projectId: string;
  /** The root of the gateway, e.g. `http://127.0.0.1:8470`. */
  readonly url: string;
  readonly reports: WaitReports;
  /** Returns a successful response, or a 304 after `if-none-match`; throws any other as the error in its body. */
  call(parameters: CallParameters): Promise<Response>;
  /** The JSON of the body; null without a body. */
  json(parameters: CallParameters): Promise<unknown>;
}

/** The fields of a token that a connection needs. */
interface TokenBody {
  readonly user: { readonly id: string; readonly name: string };
  readonly project: { readonly id: string; readonly name: string };
  readonly catalog?: readonly { readonly type: string; readonly endpoints: readonly TokenEndpoint[] }[];
}
interface TokenEndpoint {
  readonly interface: string;
  readonly url: string;
}

interface Session {
  /** Absent for the session of a browser, whose cookie holds it. */
  token?: string;
  /** The proof that changing requests of a browser's session need. */
  proof?: string;
  user: { id: string; name: string };
  projectId: string;
  endpoints: ReadonlyMap<string, string>;
  /** The server recognises requests by their keys. */
  takesKeys: boolean;
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');

/** The gateway's root, from the address of its identity API. */
export const gatewayRoot = (authUrl: string): string => withoutSlash(authUrl).replace(/\/identity(\/v3)?$/, '');

/** How to log in. */
interface Opening {
  signal?: AbortSignal | undefined;
  /** Sends the login and the requests for JSON, instead of `fetch`. */
  send?: SendOver<WholeAnswer> | undefined;
  reports?: WaitReports | undefined;
}

/** The services that recognise a request by its key. */
const withKeys: ReadonlySet<GatewayService> = new Set(['api', 'orchestration']);

/** A request in the form of `fetch`. */
function optionsOf(
  {
    service,
    method,
    onlyAsks,
    body,
    content,
    headers,
    signal,
  }: Pick<CallParameters, 'service' | 'method' | 'onlyAsks' | 'body' | 'content' | 'headers' | 'signal'>,
  session: Session,
): RequestOptions {
  const isRemembered = method === 'POST' && !onlyAsks && !content && withKeys.has(service);
  return {
    method: method ?? 'GET',
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(content && { 'content-type': 'application/octet-stream' }),
      // A browser states the length of a file by itself.
      ...(content && !(content.stream instanceof Blob) && { 'content-length': String(content.size) }),
      ...(session.takesKeys && isRemembered && { [keyHeader]: newKey() }),
      ...headers,
      ...(session.token !== undefined && { 'x-auth-token': session.token }),
      ...(session.proof !== undefined && { 'x-anneal-proof': session.proof }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(content && { body: content.stream, duplex: 'half' as const }),
    ...(signal && { signal }),
  };
}

/**
 * Logs in. The connection renews its token by itself.
 * @throws AnnealError Unauthorized for wrong credentials, Unavailable when the gateway does not answer
 */
export async function openConnection(login: Login, options: Opening = {}): Promise<GatewayConnection> {
  if (holdsCredentials(login.authUrl)) {
    const message = 'The address of the server must not contain a user or password: use OS_USERNAME and OS_PASSWORD.';
    throw new AnnealError('InvalidRequest', message);
  }
  const url = gatewayRoot(login.authUrl);
  const identity = `${url}/identity/v3`;
  const sender = options.send ?? ownFetch;
  const { reports = {} } = options;
  const { slow } = reports;
  let session = await authenticate({ login, identity, sender, slow, signal: options.signal });
  let renewal: Promise<Session> | undefined;

  // C1: calls that were refused at the same time share one login.
  const renew = (refused: string | undefined): Promise<Session> => {
    if (session.token !== refused) return Promise.resolve(session);
    renewal ??= authenticate({ login, identity, sender, slow, signal: undefined }).finally(() => {
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

  const send = <A extends WholeAnswer>(
    over: SendOver<A>,
    { path, query, what, ...request }: CallParameters,
  ): Promise<A> => {
    checkSegments(path, what);
    const target = new URL(endpoint(request.service) + path);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value === undefined) continue;
      if (typeof value === 'object') for (const item of value) target.searchParams.append(name, item);
      else target.searchParams.set(name, String(value));
    }
    return reach(
      over,
      // An upload takes its time, and has a display of its own.
      { what, root: url, url: target, slow: request.content ? undefined : slow },
      optionsOf(request, session),
    );
  };

  const succeed = async <A extends WholeAnswer>(over: SendOver<A>, parameters: CallParameters): Promise<A> => {
    const { token } = session;
    let response = await send(over, parameters);
    if (response.status === 401 && !parameters.content && ('password' in login || 'applicationCredential' in login)) {
      await response.text();
      await renew(token);
      response = await send(over, parameters); // C2
    }
    if (response.ok || response.status === 304) return response;
    throw await failureIn(response, parameters.what);
  };

  return {
    get user() {
      return session.user;
    },
    get projectId() {
      return session.projectId;
    },
    url,
    reports,
    call: (parameters) => succeed(ownFetch, parameters),
    async json(parameters) {
      const response = await succeed(parameters.over ?? sender, parameters);
      const text = await response.text();
      return text === '' ? null : parseExact(text);
    },
  };
}

/**
 * Refuses an empty name, as of an unset variable of a script, and the names `.` and `..`: such an address is that of
 * something else. @throws AnnealError InvalidRequest
 */
function checkSegments(path: string, what: string): void {
  const wrong = path
    .split('/')
    .slice(1)
    .find((segment) => ['', '.', '..'].includes(segment));
  if (wrong === undefined) return;
  const why = wrong === '' ? 'its name or id is empty' : `"${wrong}" is no name or id`;
  throw new AnnealError('InvalidRequest', `Could not ${what.trimEnd()}: ${why}.`);
}

async function authenticate(input: {
  login: Login;
  identity: string;
  sender: SendOver<WholeAnswer>;
  slow: WaitReports['slow'];
  signal: AbortSignal | undefined;
}): Promise<Session> {
  const { login, identity, sender, slow, signal } = input;
  const root = gatewayRoot(identity);
  const what = `log in at ${root}`;
  if ('session' in login) return sessionOf(login.session, root);
  const response =
    'token' in login
      ? await reach(
          sender,
          { what, root, url: new URL(`${identity}/auth/tokens`), slow },
          {
            headers: { 'x-auth-token': login.token, 'x-subject-token': login.token },
            ...(signal && { signal }),
          },
        )
      : await reach(
          sender,
          { what, root, url: new URL(`${identity}/auth/tokens`), slow },
          {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify('password' in login ? passwordRequest(login) : programRequest(login)),
            ...(signal && { signal }),
          },
        );
  if (response.status === 401) throw refusedLogin(login, root);
  if (!response.ok) throw await failureIn(response, what);
  const body = tokenIn(await response.text());
  if (!body) {
    throw new AnnealError('Unavailable', `Could not ${what}: the server at that address is not an identity service.`);
  }
  const { user, project, catalog = [] } = body;
  const token = 'token' in login ? login.token : (response.headers.get('x-subject-token') ?? '');
  const endpoints = new Map<string, string>();
  for (const { type, endpoints: known } of catalog) {
    const chosen = known.find((one) => one.interface === 'public') ?? known[0];
    if (chosen) endpoints.set(type, withoutSlash(chosen.url));
  }
  const takesKeys = response.headers.get(acceptsHeader)?.toLowerCase() === keyHeader;
  return { token, user, projectId: project.id, endpoints, takesKeys };
}

/** Keystone's own text says neither who logs in nor where. */
function refusedLogin(login: Login, root: string): AnnealError {
  const [who, facts] =
    'username' in login
      ? [` as ${login.username}`, 'user name, this password or this project']
      : ['', 'token or credential; it may have expired or been revoked'];
  return new AnnealError(
    'Unauthorized',
    `Could not log in at ${root}${who}: the server does not accept this ${facts}.`,
    {
      details: { remedy: 'Correct OS_USERNAME, OS_PASSWORD and OS_PROJECT_NAME, or log in again: anneal login URL' },
    },
  );
}

/** The error of an answer. Loaded only for an error, because its schemas would delay every command. */
async function failureIn(response: WholeAnswer, what: string): Promise<AnnealError> {
  const { failureOf } = await import('./failure.ts');
  return failureOf(response, what);
}

/** The token in an answer; undefined for a text of another form. Without a schema: see `failureIn`. */
function tokenIn(text: string): TokenBody | undefined {
  const isNamed = (value: unknown): boolean =>
    isObject(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string';
  const isService = (value: unknown): boolean =>
    isObject(value) &&
    typeof value['type'] === 'string' &&
    Array.isArray(value['endpoints']) &&
    value['endpoints'].every(
      (one) => isObject(one) && typeof one['interface'] === 'string' && typeof one['url'] === 'string',
    );
  const body = jsonIn(text);
  const token = isObject(body) ? body['token'] : undefined;
  if (!isObject(token) || !isNamed(token['user']) || !isNamed(token['project'])) return undefined;
  const { catalog = [] } = token;
  return Array.isArray(catalog) && catalog.every(isService) ? (token as unknown as TokenBody) : undefined;
}

const sessionOf = ({ proof, user, project, paths }: SessionView, root: string): Session => ({
  proof,
  user,
  projectId: project.id,
  endpoints: new Map(Object.entries(paths).map(([type, path]) => [type, withoutSlash(root + path)])),
  // The page came from this server.
  takesKeys: true,
});

/** The body of a login by password at Keystone. */
export const passwordRequest = ({
  username,
  password,
  project,
  userDomain,
  projectDomain,
}: Omit<PasswordLogin, 'authUrl'>): object => ({
  auth: {
    identity: {
      methods: ['password'],
      password: { user: { name: username, domain: { id: userDomain ?? 'default' }, password } },
    },
    scope: { project: { name: project, domain: { id: projectDomain ?? 'default' } } },
  },
});

const programRequest = ({ applicationCredential }: ProgramLogin): object => ({
  auth: {
    identity: { methods: ['application_credential'], application_credential: applicationCredential },
  },
});
