/** Tokens: `/v3/auth`. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl } from '../../http/base-url.ts';
import { parseField } from '../../http/input.ts';
import { described } from '../../http/document.ts';
import { accessOfToken, type UserAccess } from '../access.ts';
import { Attempts } from '../attempts.ts';
import { callerOf, userCaller } from '../caller.ts';
import { AddedCatalogs, catalogFor, type AddedCatalog } from '../catalog.ts';
import type { DomainDocument, TrustDocument, UserDocument } from '../directory/documents.ts';
import { hostLogin, type HostIdentity } from '../host-login.ts';
import { mayUse, notAuthorized } from '../identity-policy.ts';
import { authSchema, checkSecret, logIn, type Auth } from '../login.ts';
import { defaultDomain, hostRoles } from '../principals.ts';
import { countsIn } from '../roles.ts';
import type { TokenDocument } from '../tokens.ts';
import { domainSchema } from './domain-routes.ts';
import { projectRow, projectSchema } from './project-routes.ts';
import { accessOf, linkTo, listDescription, pageOfList, objectForm, selfLink, type KeystoneOptions } from './shape.ts';
import { ownPasswordRoute, projectsOf } from './user-routes.ts';

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
const nocatalog = z.object({ nocatalog: z.string().optional().meta({ description: 'Leaves the catalog out.' }) });
const subject = z.object({ 'X-Subject-Token': z.string() });
const issues = described(
  {
    summary: 'Log in: the token is in the header X-Subject-Token of the answer. Needs no token.',
    query: nocatalog,
    body: authSchema,
    status: 201,
    answer: tokenAnswer,
  },
  { public: true },
);
const showsCatalog = described(
  {
    summary: 'Show the catalog: the addresses of all APIs.',
    answer: z.object({ catalog: catalogSchema, links: selfLink }),
  },
  { hosts: true, signallers: true },
);

/** Issues, shows and revokes tokens, and lists the scopes of the caller. */
export function authRoutes(scope: FastifyInstance, options: KeystoneOptions): void {
  const { directory, tokens, region, now } = options;
  const attempts = new Attempts({
    now: () => now().getTime(),
    what: 'Logging in',
    free: 5,
    longestWaitMs: 60_000,
  });
  const catalogs = new AddedCatalogs(directory);
  const host = (login: { id: string; token: string }) => hostLogin(options, login);

  scope.post('/v3/auth/tokens', issues, async (request, reply) => {
    const { auth } = parseField(authSchema, request.body, 'The login');
    const login = await logIn({ directory, tokens, attempts, host, now }, auth, request.ip);
    if ('token' in login) {
      const token = hostToken(request, options, { host: login, scope: auth.scope, added: await catalogs.read() });
      return reply.code(201).headers({ 'x-subject-token': login.token, vary: 'X-Auth-Token' }).send({ token });
    }
    const { access, scope: tokenScope, methods, parent } = login;
    const { text, document } = await tokens.issue({
      userId: access.user.id,
      scope: tokenScope,
      methods,
      ...(parent && { parent }),
      ...(access.applicationCredential && { applicationCredentialId: access.applicationCredential.id }),
      ...(access.trust && { trustId: access.trust.id }),
    });
    // The audit names the user who logged in.
    request.caller = userCaller({ token: document, access });
    return reply
      .code(201)
      .headers({ 'x-subject-token': text, vary: 'X-Auth-Token' })
      .send({ token: tokenBody(request, { token: document, access, region, added: await catalogs.read() }) });
  });

  subjectRoutes(scope, options, catalogs);
  scope.get('/v3/auth/catalog', showsCatalog, async (request) => {
    const caller = callerOf(request);
    if (caller.kind === 'user' && caller.access.roles.length === 0) {
      throw new AnnealError('Forbidden', 'You are not authorized to perform the requested action.');
    }
    return {
      catalog: catalogFor({
        base: baseUrl(request),
        project: caller.project,
        ...(caller.kind === 'user' && { user: caller.access.user.id }),
        region,
        added: await catalogs.read(),
      }),
      links: linkTo(request, 'auth/catalog'),
    };
  });
  ownScopes(scope, options);

  const check = async (place: string, user: UserDocument | undefined, given: string): Promise<void> =>
    checkSecret({ directory, attempts, place }, user?.password, given);
  ownPasswordRoute(check)(scope, options);
}

/** `/v3/auth/projects`, `/domains` and `/system`: the scopes in which the caller has a role. */
function ownScopes(scope: FastifyInstance, options: KeystoneOptions): void {
  const { directory } = options;
  const projects = described({
    summary: 'List the projects in which the caller has a role.',
    ...listDescription('projects', projectSchema, ['name', 'domain_id', 'enabled']),
  });
  scope.get('/v3/auth/projects', projects, async (request) => {
    const rows = (await projectsOf(options, accessOf(request).user)).map((row) => projectRow(request, row));
    return pageOfList(request, 'projects', { rows, filters: ['name', 'domain_id', 'enabled'] });
  });
  const grantsOf = async ({ grants, groups }: UserDocument) => [
    ...grants,
    ...(await directory.groups.findMany(groups)).flatMap((group) => group.grants),
  ];
  const domains = described({
    summary: 'List the domains in which the caller has a role.',
    ...listDescription('domains', domainSchema, ['name']),
  });
  scope.get('/v3/auth/domains', domains, async (request) => {
    const grants = await grantsOf(accessOf(request).user);
    const ids = new Set(grants.filter(({ on, inherited }) => on === 'domain' && !inherited).map(({ id }) => id));
    const rows = (await directory.domains.findMany([...ids])).filter(({ enabled }) => enabled);
    return pageOfList(request, 'domains', { rows: rows.map((row) => domainRow(request, row)), filters: ['name'] });
  });
  const system = described({
    summary: 'Show whether the caller has a role in the system.',
    answer: z.object({ system: z.array(z.object({ all: z.boolean() })), links: selfLink }),
  });
  scope.get('/v3/auth/system', system, async (request) => {
    const grants = await grantsOf(accessOf(request).user);
    const has = grants.some((grant) => countsIn(grant, { on: 'system' }));
    return { system: has ? [{ all: true }] : [], links: linkTo(request, 'auth/system') };
  });
}

const domainRow = (request: FastifyRequest, { id, name, description, enabled, extra }: DomainDocument): JsonObject =>
  objectForm(request, 'domains', { id, name, description: description ?? '', enabled, extra });

/** Shows, checks and revokes the token in X-Subject-Token. */
function subjectRoutes(
  scope: FastifyInstance,
  { directory, tokens, region, now }: KeystoneOptions,
  catalogs: AddedCatalogs,
): void {
  /** The token in X-Subject-Token. A token of another user is unknown to a caller who may not check it. */
  const subjectOf = async (request: FastifyRequest, rule: 'validate_token' | 'revoke_token') => {
    const text = request.headers['x-subject-token'];
    if (typeof text !== 'string') throw new AnnealError('InvalidRequest', 'The header X-Subject-Token is missing.');
    const document = await tokens.find(text);
    const access = document && (await accessOfToken(directory, document, now()));
    const caller = accessOf(request);
    const isService = rule === 'validate_token' && caller.roles.some(({ name }) => name === 'service');
    if (!document || !access)
      throw new AnnealError('NotFound', 'The token in X-Subject-Token is invalid or has expired.');
    if (!isService && !mayUse(rule, caller, { userId: access.user.id, domainId: access.user.domain_id })) {
      if (rule === 'revoke_token') throw notAuthorized('identity:revoke_token');
      throw new AnnealError('NotFound', 'The token in X-Subject-Token is invalid or has expired.');
    }
    return { text, document, access };
  };
  const shows = described({
    summary: 'Show the token in X-Subject-Token.',
    query: nocatalog,
    headers: subject,
    answer: tokenAnswer,
  });
  scope.get('/v3/auth/tokens', shows, async (request, reply) => {
    const { text, document, access } = await subjectOf(request, 'validate_token');
    return reply
      .header('x-subject-token', text)
      .send({ token: tokenBody(request, { token: document, access, region, added: await catalogs.read() }) });
  });
  const checks = described({ summary: 'Check the token in X-Subject-Token.', headers: subject, status: 200 });
  scope.head('/v3/auth/tokens', checks, async (request, reply) => {
    const { text } = await subjectOf(request, 'validate_token');
    return reply.header('x-subject-token', text).code(200).send();
  });
  const revokes = described({ summary: 'Revoke the token in X-Subject-Token.', headers: subject });
  scope.delete('/v3/auth/tokens', revokes, async (request, reply) => {
    await tokens.revoke((await subjectOf(request, 'revoke_token')).text);
    return reply.code(204).send();
  });
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

export function tokenBody(
  request: FastifyRequest,
  { token, access, region, added }: { token: TokenDocument; access: UserAccess; region: string; added: AddedCatalog },
): object {
  const { user, userDomain, project, domain, system, roles, applicationCredential, trust } = access;
  const scoped = roles.length > 0;
  return {
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
    ...(scoped &&
      !('nocatalog' in (request.query as object)) && {
        catalog: catalogFor({ base: baseUrl(request), project: project?.id ?? null, user: user.id, region, added }),
      }),
    ...(applicationCredential && {
      application_credential: {
        ...named(applicationCredential),
        restricted: !applicationCredential.unrestricted,
        ...(applicationCredential.access_rules && { access_rules: applicationCredential.access_rules }),
      },
    }),
  };
}
