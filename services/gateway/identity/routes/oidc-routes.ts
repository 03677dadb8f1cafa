/**
 * Logins by the OpenID provider, which the identity service decides:
 *
 * - a browser is sent to the provider and comes back to `/identity/oidc/callback`, which gives it a session;
 * - `anneal login --oidc` begins a device login and asks until the user has confirmed it;
 * - keystoneauth sends a token of the provider to Keystone's federation address, and gets a token without a scope.
 *
 * A login in a browser ends at a page of this server and nowhere else. Its reason for a failure is in the log, because
 * everyone can make a link to that page.
 */
import {
  identityOidcBearer,
  identityOidcBegin,
  identityOidcDeviceBegin,
  identityOidcDeviceFinish,
  identityOidcFinish,
  identityOidcShow,
} from '@anneal/contracts/calls/identity.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isObject, type JsonObject } from '@anneal/contracts/json.ts';
import { jsonIn } from '@anneal/contracts/plain-json.ts';
import { sealText } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl, queryOf } from '../../http/base-url.ts';
import { route, type Route } from '../../http/route.ts';
import { userCaller } from '../caller.ts';
import { AddedCatalogs } from '../catalog.ts';
import { draftToken } from '../new-token.ts';
import { cookieOf, setCookie, setSession } from '../session.ts';
import { answerWithToken, nocatalogQuery, tokenSchema } from './auth-routes.ts';
import type { KeystoneOptions } from './shape.ts';

const loginCookie = { cookie: 'anneal_oidc', path: '/identity/oidc' } as const;

/** The logins by the provider. */
export const oidcRoutes = (options: KeystoneOptions): Route[] => [
  route({
    method: 'GET',
    path: '/oidc',
    summary: 'Show the OpenID provider of this server. Needs no token.',
    public: true,
    answer: z.object({ provider: z.object({ name: z.string() }).nullable() }),
    handle: () => options.ask('identity', identityOidcShow, { data: {} }),
  }),
  ...browserRoutes(options),
  ...deviceRoutes(options),
  federationRoute(options),
];

function browserRoutes(options: KeystoneOptions): Route[] {
  const { ask, secrets } = options;
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
        const data = { callback: callback(request), ...(project !== undefined && { project }) };
        const { url, pending, until } = await ask('identity', identityOidcBegin, { data });
        const value = Buffer.from(JSON.stringify(pending)).toString('base64url');
        setCookie({ request, reply }, { ...loginCookie, value, until: Date.parse(until), sameSite: 'Lax' });
        return reply.header('cache-control', 'no-store').redirect(url, 303);
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
        const pending = pendingIn(request);
        setCookie({ request, reply }, { ...loginCookie, value: '', until: 0, sameSite: 'Lax' });
        void reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
        const address = sealText(secrets, `${callback(request)}${queryOf(request)}`);
        try {
          const draft = draftToken(options);
          const data = { ...draft.stored, address, pending: pending ?? {} };
          // The seal that the browser brings back is one of the identity service.
          const { expired } = await ask('identity', identityOidcFinish, { data, sealed: [address, data.pending] });
          if (expired) return await backToLogin(options, reply, { reason: 'expired', error: noLogin() });
          const issued = await draft.read();
          // The audit names the user who logged in.
          request.caller = userCaller(issued);
          setSession({ request, reply }, { token: issued.text, expiresAt: issued.token.expires_at });
          return await reply.redirect('/', 303);
        } catch (error) {
          if (!(error instanceof AnnealError)) throw error;
          const reason = error.code === 'Unavailable' ? 'unavailable' : 'refused';
          return await backToLogin(options, reply, { reason, error });
        }
      },
    }),
  ];
}

const noLogin = (): AnnealError =>
  new AnnealError('Unauthorized', 'This browser has begun no login in the last 10 minutes.');

/** Why a login in a browser ended without a session, for the login page. The details are in the log. */
function backToLogin(
  { log }: KeystoneOptions,
  reply: FastifyReply,
  { reason, error }: { reason: 'expired' | 'unavailable' | 'refused'; error: AnnealError },
): FastifyReply {
  log.warn({ code: error.code, reason: error.message }, 'login by the OpenID provider refused');
  return reply.redirect(`/?login=${reason}`, 303);
}

/** Reads the cookie with the login that the browser has begun. Only the identity service can open it. */
function pendingIn(request: FastifyRequest): JsonObject | undefined {
  const kept = jsonIn(Buffer.from(cookieOf(request, loginCookie.cookie) ?? '', 'base64url').toString());
  return isObject(kept) ? kept : undefined;
}

const deviceSchema = z.object({
  device_code: z.string(),
  user_code: z.string(),
  verification_uri: z.string(),
  verification_uri_complete: z.string().optional(),
  expires_in: z.number(),
  interval: z.number(),
});

function deviceRoutes(options: KeystoneOptions): Route[] {
  const { ask, secrets, region } = options;
  const catalogs = new AddedCatalogs(options.directory);
  return [
    route({
      method: 'POST',
      path: '/oidc/device',
      summary: 'Begin the login of a device. Needs no token.',
      public: true,
      answer: deviceSchema,
      handle: async ({ request, reply }) => {
        const { device } = await ask('identity', identityOidcDeviceBegin, { data: { from: request.ip } });
        void reply.header('cache-control', 'no-store');
        return deviceSchema.parse(secrets.open(device));
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
        const code = sealText(secrets, device_code);
        const draft = draftToken(options);
        const data = { ...draft.stored, from: request.ip, code, ...(project !== undefined && { project }) };
        const { pending } = await ask('identity', identityOidcDeviceFinish, { data, sealed: code });
        if (pending) {
          void reply.code(202);
          return { status: 'pending' };
        }
        const issued = await draft.read();
        request.caller = userCaller(issued);
        void reply.header('cache-control', 'no-store');
        return answerWithToken({ request, reply, query }, { region, catalogs }, issued);
      },
    }),
  ];
}

const longestBearer = 16_384;

/** The address of Keystone's federation that the plugins `v3oidc…` of keystoneauth use. */
function federationRoute(options: KeystoneOptions): Route {
  const { ask, secrets, region } = options;
  const catalogs = new AddedCatalogs(options.directory);
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
    handle: async ({ params, query, headers, request, reply }) => {
      const [, given] = /^bearer +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
      const bearer = given === undefined || given.length > longestBearer ? undefined : sealText(secrets, given);
      const draft = draftToken(options);
      const data = { ...draft.stored, from: request.ip, ...params, ...(bearer && { bearer }) };
      await ask('identity', identityOidcBearer, { data, ...(bearer && { sealed: bearer }) });
      const issued = await draft.read();
      request.caller = userCaller(issued);
      return answerWithToken({ request, reply, query }, { region, catalogs }, issued);
    },
  });
}
