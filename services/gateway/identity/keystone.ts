/** Tokens and the catalog in Keystone v3's form, as far as keystoneauth, the openstack command and curl need them. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Secrets } from '@anneal/runtime/secrets/secrets.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { parseField, queryValue } from '../http/body.ts';
import type { FamilyWording } from '../http/family.ts';
import { Attempts } from './attempts.ts';
import { callerOf } from './caller.ts';
import { catalogFor } from './catalog.ts';
import { hostLogin, type HostIdentity } from './host-login.ts';
import type { Password } from './password.ts';
import { adminProject } from '@anneal/contracts/project.ts';
import { adminUser, domain, hostRoles, roles } from './principals.ts';
import type { TokenDocument, Tokens } from './tokens.ts';

const naming = z.object({ id: z.string().optional(), name: z.string().optional() });
const authSchema = z.object({
  auth: z.object({
    identity: z.object({
      methods: z.array(z.string()).min(1),
      password: z
        .object({ user: naming.extend({ domain: naming.optional(), password: z.string().max(4096) }) })
        .optional(),
      token: z.object({ id: z.string() }).optional(),
    }),
    scope: z
      .union([
        z.literal('unscoped'),
        z.looseObject({ project: naming.extend({ domain: naming.optional() }).optional() }),
      ])
      .optional(),
  }),
});
type Auth = z.infer<typeof authSchema>['auth'];
type LoginUser = NonNullable<Auth['identity']['password']>['user'];

const titles: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  413: 'Request Entity Too Large',
  429: 'Too Many Requests',
  503: 'Service Unavailable',
};
const wording = (code: number, message: string) => ({
  error: { code, title: titles[code] ?? 'Internal Server Error', message },
});

export const authenticateHeader = (request: FastifyRequest): string => `Keystone uri="${baseUrl(request)}/identity"`;

export const keystoneWording: FamilyWording = {
  body: ({ status, failure }) => wording(status, failure.message),
  headers: (problem, request) => ({
    vary: 'X-Auth-Token',
    ...(problem.status === 401 && { 'www-authenticate': authenticateHeader(request) }),
  }),
  notFound: (_request, reply) =>
    reply.code(404).send(wording(404, 'The identity API has no endpoint at this address.')),
  notAllowed: (_request, allow) => wording(405, `This address accepts ${allow.join(', ')}.`),
};

export interface KeystoneOptions {
  ask: Ask;
  secrets: Secrets;
  /** Lifetime of a token, in milliseconds. */
  lifetimeMs: number;
  password: Password;
  tokens: Tokens;
  region: string;
  now: () => number;
}

export function keystoneRoutes(scope: FastifyInstance, options: KeystoneOptions): void {
  const { lifetimeMs, password, tokens, region, now } = options;
  const attempts = new Attempts({ now, what: 'Logging in', free: 5, longestWaitMs: 60_000 });
  const open = { config: { public: true } } as const;

  scope.get('/', open, (request, reply) => reply.code(300).send({ versions: { values: [versionEntry(request)] } }));
  scope.get('/v3', open, (request) => ({ version: versionEntry(request) }));

  scope.post('/v3/auth/tokens', open, async (request, reply) => {
    const { auth } = parseField(authSchema, request.body, 'The login');
    const parent = await identify(auth, request.ip);
    if (parent && 'token' in parent) return sendHostToken(request, reply, auth, parent);
    const project = scopeOf(auth, parent);
    const { text, document } = await tokens.issue({
      userId: adminUser.id,
      projectId: project,
      methods: auth.identity.methods,
      ...(parent && { parent }),
    });
    return reply
      .code(201)
      .headers({ 'x-subject-token': text, vary: 'X-Auth-Token' })
      .send({ token: tokenBody(request, document) });
  });

  /**
   * Identifies the login: the admin by password (undefined) or by token (that token), or a host. A right credential is
   * never slowed down: failures are counted by address and user, and only wrong credentials have to wait.
   */
  async function identify({ identity }: Auth, ip: string): Promise<TokenDocument | HostIdentity | undefined> {
    if (identity.methods.includes('password') && identity.password) return byPassword(identity.password.user, ip);
    if (identity.methods.includes('token') && identity.token) {
      return (await tokens.find(identity.token.id)) ?? refuse(`${ip} token`);
    }
    throw new AnnealError(
      'InvalidRequest',
      `The login has the methods ${identity.methods.join(', ')}; it must have password or token, with its data.`,
    );
  }

  async function byPassword(user: LoginUser, ip: string): Promise<HostIdentity | undefined> {
    const place = `${ip} ${(user.id ?? user.name ?? '').slice(0, 255)}`;
    const known =
      (user.id === undefined || user.id === adminUser.id) &&
      (user.name === undefined || user.name === adminUser.name) &&
      (user.id !== undefined || (user.name !== undefined && inDomain(user.domain)));
    if (!known && user.id !== undefined) {
      const host = await hostLogin(options, { id: user.id, token: user.password });
      if (host) return host;
    }
    const remembered = password.remembers(user.password);
    if (!(known && remembered)) {
      // Before the first successful login since the start, this password may be the right one.
      if (!known || remembered === false) attempts.check(place);
      // Also hash the password of an unknown user, or the response time would reveal which names exist.
      const right = await password.matches(user.password);
      if (!known || !right) return refuse(place);
    }
    attempts.succeeded(place);
    return undefined;
  }

  function refuse(place: string): never {
    attempts.check(place);
    attempts.failed(place);
    throw new AnnealError('Unauthorized', 'The request you have made requires authentication.');
  }

  function sendHostToken(request: FastifyRequest, reply: FastifyReply, { scope: wanted }: Auth, host: HostIdentity) {
    const named = typeof wanted === 'object' ? wanted.project : undefined;
    if (named?.id !== undefined && named.id !== host.project) {
      throw new AnnealError('Unauthorized', `Host ${host.name} has no project ${named.id}.`);
    }
    const at = now();
    const token = {
      methods: ['password'],
      user: { domain, id: host.id, name: host.name, password_expires_at: null },
      audit_ids: [],
      issued_at: microseconds(new Date(at).toISOString()),
      expires_at: microseconds(new Date(at + lifetimeMs).toISOString()),
      project: { domain, id: host.project, name: host.project === adminProject.id ? adminProject.name : host.project },
      is_domain: false,
      roles: hostRoles,
      catalog: catalogFor({ base: baseUrl(request), project: host.project, region }),
    };
    return reply.code(201).headers({ 'x-subject-token': host.token, vary: 'X-Auth-Token' }).send({ token });
  }

  const subjectOf = async (request: FastifyRequest): Promise<{ text: string; document: TokenDocument }> => {
    const text = request.headers['x-subject-token'];
    if (typeof text !== 'string') throw new AnnealError('InvalidRequest', 'The header X-Subject-Token is missing.');
    const document = await tokens.find(text);
    if (!document) throw new AnnealError('NotFound', 'The token in X-Subject-Token is invalid or has expired.');
    return { text, document };
  };
  scope.get('/v3/auth/tokens', async (request, reply) => {
    const { text, document } = await subjectOf(request);
    return reply.header('x-subject-token', text).send({ token: tokenBody(request, document) });
  });
  scope.head('/v3/auth/tokens', async (request, reply) => {
    const { text } = await subjectOf(request);
    return reply.header('x-subject-token', text).code(200).send();
  });
  scope.delete('/v3/auth/tokens', async (request, reply) => {
    await tokens.revoke((await subjectOf(request)).text);
    return reply.code(204).send();
  });

  const links = (request: FastifyRequest, path: string) => ({ self: `${baseUrl(request)}/identity/v3/${path}` });
  const collections = {
    projects: {
      ...adminProject,
      domain_id: domain.id,
      enabled: true,
      is_domain: false,
      parent_id: domain.id,
      description: '',
      tags: [],
    },
    users: { ...adminUser, domain_id: domain.id, enabled: true, password_expires_at: null },
    domains: { ...domain, enabled: true, description: '' },
  };
  for (const [plural, entry] of Object.entries(collections)) {
    const singular = plural.slice(0, -1);
    const shown = (request: FastifyRequest) => ({ ...entry, links: links(request, `${plural}/${entry.id}`) });
    const list = (request: FastifyRequest) => {
      const name = queryValue(request, 'name');
      const fits = name === undefined || name === entry.name;
      return {
        [plural]: fits ? [shown(request)] : [],
        links: { ...links(request, plural), previous: null, next: null },
      };
    };
    scope.get(`/v3/${plural}`, list);
    if (plural !== 'users') scope.get(`/v3/auth/${plural}`, list);
    scope.get<{ Params: { id: string } }>(`/v3/${plural}/:id`, (request) => {
      if (request.params.id === entry.id) return { [singular]: shown(request) };
      throw new AnnealError('NotFound', `Could not find ${singular}: ${request.params.id}.`);
    });
  }
  scope.get('/v3/auth/catalog', { config: { hosts: true, signallers: true } }, (request) => {
    const { project } = callerOf(request);
    return { catalog: catalogFor({ base: baseUrl(request), project, region }), links: links(request, 'auth/catalog') };
  });

  function tokenBody(request: FastifyRequest, token: TokenDocument): object {
    const scoped = token.project_id !== null;
    return {
      methods: token.methods,
      user: { domain, ...adminUser, password_expires_at: null },
      audit_ids: token.audit_ids,
      expires_at: microseconds(token.expires_at),
      issued_at: microseconds(token.issued_at),
      ...(scoped && {
        project: { domain, ...adminProject },
        is_domain: false,
        roles,
        ...(!('nocatalog' in (request.query as object)) && {
          catalog: catalogFor({ base: baseUrl(request), project: token.project_id, region }),
        }),
      }),
    };
  }
}

const inDomain = (named: { id?: string | undefined; name?: string | undefined } | undefined): boolean =>
  named === undefined ||
  named.id === domain.id ||
  (named.id === undefined && named.name?.toLowerCase() === domain.name.toLowerCase());

/** The project of the new token. @throws AnnealError Unauthorized for an unknown project, as in Keystone. */
function scopeOf({ scope }: Auth, parent: TokenDocument | undefined): string | null {
  if (scope === 'unscoped') return null;
  // Without a scope, a new token inherits its parent's scope, and a login gets the user's default project.
  if (scope === undefined) return parent ? parent.project_id : adminProject.id;
  const { project } = scope;
  if (project === undefined) {
    throw new AnnealError('Unauthorized', 'The scope of a token must be a project: "scope": {"project": …}.');
  }
  const named = project.id ?? project.name;
  const right =
    project.id === undefined
      ? project.name === adminProject.name && inDomain(project.domain)
      : project.id === adminProject.id;
  if (!right) {
    throw new AnnealError('Unauthorized', `The user ${adminUser.name} has no project ${named ?? '(not named)'}.`);
  }
  return adminProject.id;
}

const microseconds = (time: string): string => time.replace(/\.(\d{3})Z$/, '.$1000Z');

function versionEntry(request: FastifyRequest): object {
  return {
    id: 'v3.14',
    status: 'stable',
    updated: '2020-04-07T00:00:00Z',
    links: [{ rel: 'self', href: `${baseUrl(request)}/identity/v3/` }],
    'media-types': [{ base: 'application/json', type: 'application/vnd.openstack.identity-v3+json' }],
  };
}
