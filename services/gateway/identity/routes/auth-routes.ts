/** Tokens: `/v3/auth`. */
import { identityLogIn, identityTokenRevoke } from '@anneal/contracts/calls/identity.ts';
import { authSchema, type Auth } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { acceptsHeader } from '@anneal/contracts/request-key.ts';
import { accessOfToken } from '@anneal/directory/access.ts';
import type { DomainDocument, TrustDocument } from '@anneal/directory/documents.ts';
import { mayUse, notAuthorized } from '@anneal/directory/policy.ts';
import { defaultDomain, hostRoles } from '@anneal/directory/principals.ts';
import { projectsOf } from '@anneal/directory/projects.ts';
import { countsIn } from '@anneal/directory/roles.ts';
import { tokenHash } from '@anneal/directory/tokens.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl } from '../../http/base-url.ts';
import { route, type Route, type RouteInput } from '../../http/route.ts';
import { accessOf, callerOf, userCaller } from '../caller.ts';
import { AddedCatalogs, catalogFor, type AddedCatalog } from '../catalog.ts';
import { hostLogin, type HostIdentity } from '../host-login.ts';
import { draftToken, type IssuedToken } from '../new-token.ts';
import { domainSchema } from './domain-routes.ts';
import { listRoute } from './kind-routes.ts';
import { projectRow, projectSchema } from './project-routes.ts';
import { linkTo, objectForm, selfLink, type KeystoneOptions } from './shape.ts';
import { ownPasswordRoute } from './user-routes.ts';

/** Keystone's times have microseconds. */
const microseconds = (time: string): string => time.replace(/\.(\d{3})Z$/, '.$1000Z');

const named = ({ id, name }: { id: string; name: string }) => ({ id, name });

const namedPart = z.looseObject({ id: z.string(), name: z.string() });
const catalogSchema = z.array(
  z.looseObject({
    id: z.string(),
    type: z.string(),
    name: z.string(),
    endpoints: z.array(z.looseObject({ id: z.string(), interface: z.string(), url: z.string() })),
  }),
);
export const tokenSchema = z
  .looseObject({
    methods: z.array(z.string()),
    user: namedPart,
    audit_ids: z.array(z.string()),
    expires_at: z.string(),
    issued_at: z.string(),
    project: namedPart.optional(),
    domain: namedPart.optional(),
    system: z.object({ all: z.boolean() }).optional(),
    roles: z.array(namedPart).optional(),
    catalog: catalogSchema.optional(),
  })
  .meta({ id: 'Token' });
const tokenAnswer = z.object({ token: tokenSchema });
/** The query of the routes that answer with a token. */
export const nocatalogQuery = z.object({
  nocatalog: z.string().optional().meta({ description: 'Leaves the catalog out.' }),
});
const subjectHeaders = z.object({ 'x-subject-token': z.string() });

/** Issues, shows and revokes tokens, and lists the scopes of the caller. */
export const authRoutes = (options: KeystoneOptions): Route[] => {
  const catalogs = new AddedCatalogs(options.directory);
  return [
    loginRoute(options, catalogs),
    ...subjectRoutes(options, catalogs),
    catalogRoute(options, catalogs),
    ...ownScopes(options),
    ownPasswordRoute(options),
  ];
};

function loginRoute(options: KeystoneOptions, catalogs: AddedCatalogs): Route {
  const { region, ask, secrets } = options;
  return route({
    method: 'POST',
    path: '/v3/auth/tokens',
    summary: 'Log in: the token is in the header X-Subject-Token of the answer. Needs no token.',
    public: true,
    query: nocatalogQuery,
    body: authSchema,
    status: 201,
    answer: tokenAnswer,
    handle: async ({ query, body: { auth }, request, reply }) => {
      const host = await hostOf(options, auth);
      if (host) {
        void reply.headers({ 'x-subject-token': host.token, vary: 'X-Auth-Token' });
        const added = await catalogs.read();
        return { token: hostToken(request, options, { host, scope: auth.scope, added }) };
      }
      const sealed = secrets.seal(auth as unknown as JsonObject);
      const draft = draftToken(options);
      await ask('identity', identityLogIn, { data: { ...draft.stored, from: request.ip, auth: sealed }, sealed });
      const issued = await draft.read();
      // The audit names the user who logged in.
      request.caller = userCaller(issued);
      return answerWithToken({ request, reply, query }, { region, catalogs }, issued);
    },
  });
}

/** The host or the signaller that logs in with its id and its token in place of a user with a password. */
async function hostOf(options: KeystoneOptions, { identity }: Auth): Promise<HostIdentity | undefined> {
  const { id, password: token } = identity.password?.user ?? {};
  if (!identity.methods.includes('password') || id === undefined || token === undefined) return undefined;
  return (await options.directory.users.find(id)) ? undefined : hostLogin(options, { id, token });
}

const catalogRoute = ({ region }: KeystoneOptions, catalogs: AddedCatalogs): Route =>
  route({
    method: 'GET',
    path: '/v3/auth/catalog',
    summary: 'Show the catalog: the addresses of all APIs.',
    hosts: true,
    signallers: true,
    answer: z.object({ catalog: catalogSchema, links: selfLink }),
    handle: async ({ request }) => {
      const caller = callerOf(request);
      if (caller.kind === 'user' && caller.access.roles.length === 0) {
        throw new AnnealError('Forbidden', 'You are not authorized to perform the requested action.');
      }
      const user = caller.kind === 'user' ? caller.access.user.id : null;
      const added = await catalogs.read();
      return {
        catalog: catalogFor({ base: baseUrl(request), project: caller.project, user, region, added }),
        links: linkTo(request, 'auth/catalog'),
      };
    },
  });

/** `/v3/auth/projects`, `/domains` and `/system`: the scopes in which the caller has a role. */
function ownScopes(options: KeystoneOptions): Route[] {
  const { groups, domains } = options.directory;
  const grantsOf = async (request: FastifyRequest) => {
    const { user } = accessOf(request);
    return [user, ...(await groups.findMany(user.groups))].flatMap(({ grants }) => grants);
  };
  return [
    listRoute({
      path: '/v3/auth/projects',
      summary: 'List the projects in which the caller has a role.',
      plural: 'projects',
      row: projectSchema,
      filters: ['name', 'domain_id', 'enabled'],
      rows: async ({ request }) =>
        (await projectsOf(options.directory, accessOf(request).user)).map((row) => projectRow(request, row)),
    }),
    listRoute({
      path: '/v3/auth/domains',
      summary: 'List the domains in which the caller has a role.',
      plural: 'domains',
      row: domainSchema,
      filters: ['name'],
      rows: async ({ request }) => {
        const grants = (await grantsOf(request)).filter(({ on, inherited }) => on === 'domain' && !inherited);
        const rows = await domains.findMany([...new Set(grants.map(({ id }) => id))]);
        return rows.filter(({ enabled }) => enabled).map((row) => domainRow(request, row));
      },
    }),
    route({
      method: 'GET',
      path: '/v3/auth/system',
      summary: 'Show whether the caller has a role in the system.',
      answer: z.object({ system: z.array(z.object({ all: z.boolean() })), links: selfLink }),
      handle: async ({ request }) => {
        const has = (await grantsOf(request)).some((grant) => countsIn(grant, { on: 'system' }));
        return { system: has ? [{ all: true }] : [], links: linkTo(request, 'auth/system') };
      },
    }),
  ];
}

const domainRow = (request: FastifyRequest, { id, name, description, enabled, extra }: DomainDocument): JsonObject =>
  objectForm(request, 'domains', { id, name, description: description ?? '', enabled, extra });

/** Shows, checks and revokes the token in X-Subject-Token. */
function subjectRoutes({ ask, directory, tokens, region, now }: KeystoneOptions, catalogs: AddedCatalogs): Route[] {
  const facts = { path: '/v3/auth/tokens', headers: subjectHeaders } as const;
  /** The token in X-Subject-Token. A token of another user is unknown to a caller who may not check it. */
  const subjectOf = async (request: FastifyRequest, text: string, rule: 'validate_token' | 'revoke_token') => {
    const token = await tokens.find(text);
    const access = token && (await accessOfToken(directory, token, now()));
    const caller = accessOf(request);
    const isService = rule === 'validate_token' && caller.roles.some(({ name }) => name === 'service');
    if (!access) throw new AnnealError('NotFound', 'The token in X-Subject-Token is invalid or has expired.');
    if (!isService && !mayUse(rule, caller, { userId: access.user.id, domainId: access.user.domain_id })) {
      if (rule === 'revoke_token') throw notAuthorized('identity:revoke_token');
      throw new AnnealError('NotFound', 'The token in X-Subject-Token is invalid or has expired.');
    }
    return { token, access };
  };
  return [
    route({
      ...facts,
      method: ['GET', 'HEAD'],
      summary: 'Show the token in X-Subject-Token.',
      query: nocatalogQuery,
      answer: tokenAnswer,
      handle: async ({ headers: { 'x-subject-token': text }, query, request, reply }) => {
        const subject = await subjectOf(request, text, 'validate_token');
        return answerWithToken({ request, reply, query }, { region, catalogs }, { ...subject, text });
      },
    }),
    route({
      ...facts,
      method: 'DELETE',
      summary: 'Revoke the token in X-Subject-Token.',
      handle: async ({ headers: { 'x-subject-token': text }, request }) => {
        await subjectOf(request, text, 'revoke_token');
        await ask('identity', identityTokenRevoke, { data: { token: tokenHash(text) } });
      },
    }),
  ];
}

/** The answer to the login of a host, whose token stays the same. */
function hostToken(
  request: FastifyRequest,
  { now, lifetimeMs, region }: KeystoneOptions,
  { host: found, scope: wanted, added }: { host: HostIdentity; scope: Auth['scope']; added: AddedCatalog },
): object {
  const project = typeof wanted === 'object' ? wanted.project : undefined;
  if (project?.id !== undefined && project.id !== found.project) {
    throw new AnnealError('Unauthorized', `Host ${found.name} has no project ${project.id}.`);
  }
  const at = now();
  return {
    methods: ['password'],
    user: { domain: defaultDomain, id: found.id, name: found.name, password_expires_at: null },
    audit_ids: [],
    issued_at: microseconds(at.toISOString()),
    expires_at: microseconds(new Date(at.getTime() + lifetimeMs).toISOString()),
    project: { domain: defaultDomain, id: found.project, name: found.project },
    is_domain: false,
    roles: hostRoles,
    catalog: catalogFor({ base: baseUrl(request), project: found.project, region, added }),
  };
}

const trustInToken = ({ id, trustor_user_id, trustee_user_id, impersonation }: TrustDocument): object => ({
  id,
  trustor_user: { id: trustor_user_id },
  trustee_user: { id: trustee_user_id },
  impersonation,
});

type TokenExchange = Pick<RouteInput<string, z.output<typeof nocatalogQuery>>, 'request' | 'reply' | 'query'>;

/** Answers with a token: its text is in a header. */
export async function answerWithToken(
  { request, reply, query }: TokenExchange,
  { region, catalogs }: { readonly region: string; readonly catalogs: AddedCatalogs },
  { text, token, access }: IssuedToken,
): Promise<{ token: object }> {
  void reply.headers({ 'x-subject-token': text, vary: 'X-Auth-Token', [acceptsHeader]: 'Idempotency-Key' });
  const { user, userDomain, project, domain, system, roles, applicationCredential, trust } = access;
  const scoped = roles.length > 0;
  const place = { base: baseUrl(request), project: project?.id ?? null, user: user.id, region };
  const shown = {
    methods: token.methods,
    user: { domain: named(userDomain), ...named(user), password_expires_at: null },
    audit_ids: token.audit_ids,
    expires_at: microseconds(token.expires_at),
    issued_at: microseconds(token.issued_at),
    ...(project && { project: { domain: named(domain ?? userDomain), ...named(project) } }),
    ...(project && !trust && { is_domain: false }),
    ...(trust && { 'OS-TRUST:trust': trustInToken(trust) }),
    ...(!project && domain && { domain: named(domain) }),
    ...(system && { system: { all: true } }),
    ...(scoped && { roles: roles.map(named) }),
    ...(scoped && query.nocatalog === undefined && { catalog: catalogFor({ ...place, added: await catalogs.read() }) }),
    ...(applicationCredential && {
      application_credential: {
        ...named(applicationCredential),
        restricted: !applicationCredential.unrestricted,
        ...(applicationCredential.access_rules && { access_rules: applicationCredential.access_rules }),
      },
    }),
  };
  return { token: shown };
}
