/**
 * Logins by the OpenID provider:
 *
 * - a browser is sent to the provider and comes back to `/identity/oidc/callback`, which gives it a session;
 * - `anneal login --oidc` begins a device login and asks until the user has confirmed it;
 * - keystoneauth sends a token of the provider to Keystone's federation address, and gets a token without a scope.
 *
 * A login in a browser ends at a page of this server and nowhere else. Its reason for a failure is in the log, because
 * everyone can make a link to that page.
 */
import { identityOidcUser } from '@anneal/contracts/calls/identity.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { accessOfUser } from '@anneal/directory/access.ts';
import type { UserDocument } from '@anneal/directory/documents.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import { Attempts } from '@anneal/runtime/work/attempts.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl, queryOf } from '../../http/base-url.ts';
import { route, type Route } from '../../http/route.ts';
import { userCaller } from '../caller.ts';
import { AddedCatalogs } from '../catalog.ts';
import { issueToken, type IssuedToken } from '../new-token.ts';
import { answerWithToken, nocatalogQuery, tokenSchema } from '../routes/auth-routes.ts';
import type { KeystoneOptions } from '../routes/shape.ts';
import { projectsOf } from '../routes/user-routes.ts';
import { cookieOf, setCookie, setSession } from '../session.ts';
import { claimedUser, withGroups } from './claims.ts';
import type { OidcOptions } from './provider.ts';

type Options = KeystoneOptions & { readonly oidc: OidcOptions };

const loginCookie = { cookie: 'anneal_oidc', path: '/identity/oidc' } as const;
const loginMs = 600_000;
/** The address of the login, sealed in a cookie of the browser that began it. */
const pendingSchema = z.object({
  purpose: z.literal('oidc login'),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  project: z.string().optional(),
  until: z.number(),
});

/** The logins by the provider; without one, only the answer that there is none. */
export function oidcRoutes(options: KeystoneOptions): Route[] {
  const { oidc } = options;
  const shows = route({
    method: 'GET',
    path: '/oidc',
    summary: 'Show the OpenID provider of this server. Needs no token.',
    public: true,
    answer: z.object({ provider: z.object({ name: z.string() }).nullable() }),
    handle: () => ({ provider: oidc ? { name: oidc.name } : null }),
  });
  if (!oidc) return [shows];
  const attempts = new Attempts({
    now: () => options.now().getTime(),
    what: 'Logging in by the OpenID provider',
    free: 10,
    longestWaitMs: 60_000,
  });
  const shared = { attempts, catalogs: new AddedCatalogs(options.directory) };
  const all = { ...options, oidc };
  return [shows, ...browserRoutes(all), ...deviceRoutes(all, shared), federationRoute(all, shared)];
}

interface Shared {
  readonly attempts: Attempts;
  readonly catalogs: AddedCatalogs;
}

function browserRoutes(options: Options): Route[] {
  const { oidc, secrets, now } = options;
  const callback = (request: FastifyRequest): string => `${baseUrl(request)}/identity/oidc/callback`;
  return [
    route({
      method: 'GET',
      path: '/oidc/login',
      summary: 'Send a browser to the OpenID provider. Needs no token.',
      public: true,
      query: z.object({ project: z.string().optional() }),
      status: 303,
      handle: async ({ query: { project }, request, reply }) => {
        const { url, checks } = await oidc.provider.begin(callback(request));
        const until = now().getTime() + loginMs;
        const pending = { purpose: 'oidc login', ...checks, ...(project !== undefined && { project }), until };
        const value = Buffer.from(JSON.stringify(secrets.seal(pending))).toString('base64url');
        setCookie({ request, reply }, { ...loginCookie, value, until, sameSite: 'Lax' });
        return reply.header('cache-control', 'no-store').redirect(url.href, 303);
      },
    }),
    route({
      method: 'GET',
      path: '/oidc/callback',
      summary: 'Take a browser back from the OpenID provider. Needs no token.',
      public: true,
      audited: true,
      status: 303,
      handle: async ({ request, reply }) => {
        // A code is used once, whether or not it helps.
        const pending = pendingOf(options, request);
        setCookie({ request, reply }, { ...loginCookie, value: '', until: 0, sameSite: 'Lax' });
        void reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
        try {
          if (!pending)
            throw new AnnealError('Unauthorized', 'This browser has begun no login in the last 10 minutes.');
          const address = new URL(`${callback(request)}${queryOf(request)}`);
          const user = await userOf(options, await oidc.provider.finish(address, pending));
          const scoped = await projectFor(options, user, pending.project);
          const { text, token } = await issue(options, request, { user: user.id, project: scoped });
          setSession({ request, reply }, { token: text, expiresAt: token.expires_at });
          return await reply.redirect('/', 303);
        } catch (error) {
          return await backToLogin(options, reply, { error, begun: pending !== undefined });
        }
      },
    }),
  ];
}

/** Why a login in a browser ended without a session, for the login page. The details are in the log. */
function backToLogin(
  { oidc }: Options,
  reply: FastifyReply,
  { error, begun }: { error: unknown; begun: boolean },
): FastifyReply {
  if (!(error instanceof AnnealError)) throw error;
  oidc.log.warn({ code: error.code, reason: error.message }, 'login by the OpenID provider refused');
  const reason = !begun ? 'expired' : error.code === 'Unavailable' ? 'unavailable' : 'refused';
  return reply.redirect(`/?login=${reason}`, 303);
}

function pendingOf({ secrets, now }: Options, request: FastifyRequest): z.infer<typeof pendingSchema> | undefined {
  try {
    const text = Buffer.from(cookieOf(request, loginCookie.cookie) ?? '', 'base64url').toString();
    const sealed = JSON.parse(text) as JsonObject;
    // Only what one of the keys sealed counts, and not what looks like it when it is open.
    const read =
      isObject(sealed) && secrets.isSealed(sealed) ? pendingSchema.safeParse(secrets.open(sealed)) : undefined;
    return read?.success && read.data.until > now().getTime() ? read.data : undefined;
  } catch {
    return undefined;
  }
}

function deviceRoutes(options: Options, { attempts, catalogs }: Shared): Route[] {
  const { oidc, region } = options;
  // Each start makes the provider keep a code, so an address has to wait that starts many and finishes none.
  const place = (request: FastifyRequest): string => `${request.ip} device`;
  return [
    route({
      method: 'POST',
      path: '/oidc/device',
      summary: 'Begin the login of a device. Needs no token.',
      public: true,
      answer: z.object({
        device_code: z.string(),
        user_code: z.string(),
        verification_uri: z.string(),
        verification_uri_complete: z.string().optional(),
        expires_in: z.number(),
        interval: z.number(),
      }),
      handle: async ({ request, reply }) => {
        attempts.check(place(request));
        attempts.failed(place(request));
        const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval } =
          await oidc.provider.beginDevice();
        void reply.header('cache-control', 'no-store');
        return {
          device_code,
          user_code,
          verification_uri,
          ...(verification_uri_complete !== undefined && { verification_uri_complete }),
          expires_in,
          interval: interval ?? 5,
        };
      },
    }),
    route({
      method: 'POST',
      path: '/oidc/device/token',
      summary: 'Ask whether the login of a device has ended. Needs no token.',
      public: true,
      query: nocatalogQuery,
      body: z.strictObject({ device_code: z.string().max(4096), project: z.string().max(255).optional() }),
      status: 201,
      answer: z.object({ token: tokenSchema }),
      also: { 202: z.object({ status: z.string() }) },
      handle: async ({ query, body: { device_code, project }, request, reply }) => {
        const claims = await oidc.provider.finishDevice(device_code);
        if (!claims) {
          void reply.code(202);
          return { status: 'pending' };
        }
        attempts.succeeded(place(request));
        const user = await userOf(options, claims);
        const scoped = await projectFor(options, user, project);
        const issued = await issue(options, request, { user: user.id, project: scoped });
        void reply.header('cache-control', 'no-store');
        return answerWithToken({ request, reply, query }, { region, catalogs }, issued);
      },
    }),
  ];
}

/** The address of Keystone's federation that the plugins `v3oidc…` of keystoneauth use. */
function federationRoute(options: Options, { attempts, catalogs }: Shared): Route {
  const { oidc, directory, region } = options;
  return route({
    method: ['GET', 'POST'],
    path: '/v3/OS-FEDERATION/identity_providers/{provider}/protocols/{protocol}/auth',
    summary: 'Exchange a token of the OpenID provider for one of this server.',
    public: true,
    audited: true,
    query: nocatalogQuery,
    // Its absence is a 401, which the schema could not answer.
    headers: z.object({ authorization: z.string().optional() }),
    status: 201,
    answer: z.object({ token: tokenSchema }),
    handle: async ({ params: { provider, protocol }, query, headers, request, reply }) => {
      if (provider !== oidc.name) throw new AnnealError('NotFound', `Could not find Identity Provider: ${provider}.`);
      if (protocol !== 'openid') throw new AnnealError('NotFound', `Could not find federated protocol ${protocol}.`);
      const [, bearer] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
      if (bearer === undefined || bearer.length > 16_384) {
        throw new AnnealError(
          'Unauthorized',
          'The header Authorization: Bearer … with a token of the provider is missing.',
        );
      }
      const user = await unlessRepeated(attempts, `${request.ip} bearer`, async () =>
        bearerOf(options, await oidc.provider.claimsOfBearer(bearer)),
      );
      const access = await accessOfUser(directory, user, { project_id: null });
      if (!access) throw new AnnealError('Unauthorized', `The user ${user.name} is disabled.`);
      const issued = await issue(options, request, { user: user.id, project: null });
      return answerWithToken({ request, reply, query }, { region, catalogs }, issued);
    },
  });
}

/** Each wrong token may cost the provider a request, so an address that sends many has to wait. */
async function unlessRepeated<T>(attempts: Attempts, place: string, work: () => Promise<T>): Promise<T> {
  attempts.check(place);
  try {
    const done = await work();
    attempts.succeeded(place);
    return done;
  } catch (error) {
    if (hasCode(error, 'Unauthorized')) attempts.failed(place);
    throw error;
  }
}

/** The user of a token that another program has asked for, perhaps without the scope of groups. */
async function bearerOf({ ask, oidc, directory }: Options, claims: JsonObject): Promise<UserDocument> {
  const { subject, name, groups, roles } = claimedUser(claims, oidc.mapping);
  const claimed = { subject, name, roles: [...roles], ...(groups && { groups: [...groups] }) };
  const data = { provider: oidc.name, issuer: oidc.provider.issuer, creates: oidc.creates, ...claimed };
  const { user } = await ask('identity', identityOidcUser, { data });
  return directory.users.get(user);
}

/** The user of a login that Anneal has asked for, with its scopes: without the claim, the user is in no group. */
const userOf = (options: Options, claims: JsonObject): Promise<UserDocument> =>
  bearerOf(options, withGroups(claims, options.oidc.mapping));

/**
 * The id of the project of a session: the wanted one, otherwise the user's default project, otherwise the first by name.
 * @throws AnnealError Forbidden when the user has no role there
 */
async function projectFor(options: Options, user: UserDocument, wanted: string | undefined): Promise<string> {
  const { directory } = options;
  const own = await projectsOf(options, user);
  const named = own.find(
    ({ id, name, domain_id }) => id === wanted || (name === wanted && domain_id === defaultDomain.id),
  );
  const [first] = own.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const chosen = wanted === undefined ? (own.find(({ id }) => id === user.default_project_id) ?? first) : named;
  if (chosen && (await accessOfUser(directory, user, { project_id: chosen.id }))) return chosen.id;
  throw new AnnealError(
    'Forbidden',
    `The user ${user.name} has no role in ${wanted === undefined ? 'any project' : `the project ${wanted}`}, or it does not exist or is disabled.`,
    { details: { remedy: `An operator grants one: openstack role add --user ${user.id} --project PROJECT member` } },
  );
}

async function issue(
  options: Options,
  request: FastifyRequest,
  wanted: { user: string; project: string | null },
): Promise<IssuedToken> {
  const issued = await issueToken(options, { ...wanted, methods: ['openid'] });
  // The audit names the user who logged in.
  request.caller = userCaller(issued);
  return issued;
}
