/** Projects, users, their roles, and tokens for programs: the identity API. */
import { quotaSet, quotaShow, type QuotaChanges, type QuotaView } from '@anneal/contracts/calls/quotas.ts';
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import type { PageRequest } from '@anneal/contracts/page.ts';
import type { GatewayConnection } from './connection.ts';
import type { PageOf } from './page.ts';
import { read, readList } from './read.ts';

const projectSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  domain_id: z.string(),
});
/** A project: what stacks, hosts, queues and workflows belong to. */
export type ProjectView = z.infer<typeof projectSchema>;

const userSchema = z.object({
  id: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  domain_id: z.string(),
  default_project_id: z.string().optional(),
});
/** A user. Its password is never shown. */
export type UserView = z.infer<typeof userSchema>;

const named = z.object({ id: z.string(), name: z.string() });
const roleGrantSchema = z.object({
  user: named.optional(),
  group: named.optional(),
  role: named,
  scope: z.looseObject({ project: named.optional(), domain: named.optional(), system: z.unknown().optional() }),
});
/** A role of a user or a group on a project, a domain or the system. */
export type RoleGrant = z.infer<typeof roleGrantSchema>;

/** The roles that every server has, and what each allows. */
export const roleMeanings = {
  reader: 'reads',
  member: 'reads and changes',
  manager: 'also manages users and projects, in a domain',
  admin: 'everything, in all projects',
} as const;

const accessRuleSchema = z.object({ service: z.string(), method: z.string(), path: z.string() });
/** A request that a program may send: the type of a service, a method, and a path with `*`, `{name}` and `**`. */
export type AccessRuleView = z.infer<typeof accessRuleSchema>;

const programTokenSchema = z.object({
  id: z.string(),
  name: z.string(),
  project_id: z.string(),
  expires_at: z.string().nullable(),
  roles: z.array(z.object({ name: z.string() })),
  access_rules: z.array(accessRuleSchema).optional(),
});
/** An application credential: by it a program logs in for a user, in one project. */
export type ProgramToken = z.infer<typeof programTokenSchema>;
const createdTokenSchema = programTokenSchema.extend({ secret: z.string() });
/** A new application credential with its secret, which is shown once. */
export type CreatedProgramToken = z.infer<typeof createdTokenSchema>;

/** A role in a project. Users, roles and projects are named by name or id. */
export interface RoleParameters {
  user: string;
  role: string;
  project: string;
}

/** The identity API. Each call throws the gateway's AnnealError; an unknown name is NotFound. */
export interface IdentityCalls {
  projects: {
    list(): Promise<ProjectView[]>;
    /** One page by name. Columns: name, status, description. */
    page(parameters: PageRequest): Promise<PageOf<ProjectView>>;
    /** The first names with this text in them. */
    names(parameters: { contains: string; limit: number }): Promise<string[]>;
    /** By name or id. */
    show(project: string): Promise<ProjectView>;
    create(parameters: { name: string; description?: string | undefined }): Promise<ProjectView>;
    /** Changes what is given. No user can log in to a disabled project, and the tokens in it end. */
    set(parameters: {
      project: string;
      name?: string | undefined;
      description?: string | undefined;
      enabled?: boolean | undefined;
    }): Promise<void>;
    /** Refused while the project has stacks. */
    remove(project: string): Promise<void>;
    /** The limits of a project and what it uses of them. */
    quota(project: string): Promise<QuotaView[]>;
    /** Sets limits; null sets the default. For administrators. */
    setQuota(parameters: { project: string; limits: QuotaChanges }): Promise<QuotaView[]>;
  };
  users: {
    list(): Promise<UserView[]>;
    /** One page by name. Columns: name, status, description. */
    page(parameters: PageRequest): Promise<PageOf<UserView>>;
    /** The first names with this text in them. */
    names(parameters: { contains: string; limit: number }): Promise<string[]>;
    show(user: string): Promise<UserView>;
    create(parameters: { name: string; password: string; project?: string | undefined }): Promise<UserView>;
    /** Its tokens end at once. */
    remove(user: string): Promise<void>;
    /** Sets another user's password, for administrators. The tokens of the user end. */
    setPassword(parameters: { user: string; password: string }): Promise<void>;
    /** A disabled user cannot log in, and its tokens end. */
    setEnabled(parameters: { user: string; enabled: boolean }): Promise<void>;
  };
  roles: {
    grant(parameters: RoleParameters): Promise<void>;
    revoke(parameters: RoleParameters): Promise<void>;
    /** Lists the roles of users and groups. */
    list(parameters?: { user?: string | undefined; project?: string | undefined }): Promise<RoleGrant[]>;
  };
  tokens: {
    list(): Promise<ProgramToken[]>;
    create(parameters: {
      name: string;
      /** Default: all roles of the connection. */
      roles?: readonly string[];
      /** A time in ISO 8601. Default: never. */
      expiresAt?: string | undefined;
      /** The only requests that the program may send. Default: all. */
      rules?: readonly AccessRuleView[];
    }): Promise<CreatedProgramToken>;
    /** It stops working at once. */
    revoke(token: string): Promise<void>;
  };
}

const service = 'identity';
type Plural = 'projects' | 'users' | 'roles';
type Change = 'DELETE' | 'PUT' | 'PATCH';

const identified = z.looseObject({ id: z.string(), name: z.string() });

/** The requests that all parts of the identity API share. */
function requestsOf(connection: GatewayConnection) {
  const list = async <T>(plural: string, row: z.ZodType<T>, query: Record<string, string> = {}): Promise<T[]> => {
    const what = `list the ${plural.replaceAll('_', ' ')}`;
    return readList({ [plural]: row }, await connection.json({ service, path: `/${plural}`, query, what }), what);
  };
  const names = async (plural: Plural, { contains, limit }: { contains: string; limit: number }): Promise<string[]> => {
    const query = { limit: String(limit), ...(contains !== '' && { name__contains: contains }) };
    return (await list(plural, identified, query)).map(({ name }) => name);
  };
  /** By name, otherwise by id. */
  const find = async <T extends { id: string }>(plural: Plural, row: z.ZodType<T>, name: string): Promise<T> => {
    const [found] = await list(plural, row, { name });
    if (found) return found;
    const singular = plural.slice(0, -1);
    const what = `show the ${singular} ${name}`;
    const answer = await connection
      .json({ service, path: `/${plural}/${encodeURIComponent(name)}`, what })
      .catch((error: unknown) => {
        if (!hasCode(error, 'NotFound')) throw error;
        throw new AnnealError('NotFound', `There is no ${singular} with the name or id ${name}.`);
      });
    return read(z.object({ [singular]: row }), answer, what)[singular] as T;
  };
  return {
    list,
    page: async <T>(plural: Plural, row: z.ZodType<T>, asked: PageRequest): Promise<PageOf<T>> => {
      // Loaded here, because the command line has no pages.
      const { readPage } = await import('./page.ts');
      return readPage(connection, { path: `/${plural}`, key: plural, row, ...asked });
    },
    names,
    find,
    idOf: async (plural: Plural, name: string): Promise<string> => (await find(plural, identified, name)).id,
    change: async (method: Change, path: string, { what, body }: { what: string; body?: unknown }): Promise<void> => {
      await connection.call({ service, method, path, what, ...(body !== undefined && { body }) });
    },
    create: async <T>(path: string, body: Record<string, object>, row: z.ZodType<T>): Promise<T> => {
      const [kind = ''] = Object.keys(body);
      const what = `create the ${kind.replaceAll('_', ' ')}`;
      const answer = await connection.json({ service, method: 'POST', path, body, what });
      return read(z.object({ [kind]: row }), answer, what)[kind] as T;
    },
  };
}
type Requests = ReturnType<typeof requestsOf>;

/** The calls of the identity API. */
export function identityOf(connection: GatewayConnection): IdentityCalls {
  const requests = requestsOf(connection);
  const { list, page, names, find, idOf, change, create } = requests;
  return {
    projects: {
      list: () => list('projects', projectSchema),
      page: (asked) => page('projects', projectSchema, asked),
      names: (asked) => names('projects', asked),
      show: (project) => find('projects', projectSchema, project),
      create: ({ name, description = '' }) => create('/projects', { project: { name, description } }, projectSchema),
      set: async ({ project, ...fields }) =>
        change('PATCH', `/projects/${await idOf('projects', project)}`, {
          what: `change the project ${project}`,
          body: { project: fields },
        }),
      remove: async (project) =>
        change('DELETE', `/projects/${await idOf('projects', project)}`, { what: `delete the project ${project}` }),
      async quota(project) {
        const what = `show the quota of the project ${project}`;
        const body = await connection.json({ service: 'api', path: quotaPath(project), what });
        return read(quotaShow.answer, body, what).quotas;
      },
      async setQuota({ project, limits }) {
        const what = `set the quota of the project ${project}`;
        const path = quotaPath(project);
        const body = await connection.json({ service: 'api', method: 'POST', path, body: { limits }, what });
        return read(quotaSet.answer, body, what).quotas;
      },
    },
    users: usersOf(requests),
    roles: rolesOf(requests),
    tokens: tokensOf(connection, requests),
  };
}

const quotaPath = (project: string): string => `/projects/${encodeURIComponent(project)}/quota`;

function usersOf({ list, page, names, find, idOf, change, create }: Requests): IdentityCalls['users'] {
  const update = async (name: string, user: object, what: string): Promise<void> =>
    change('PATCH', `/users/${await idOf('users', name)}`, { what, body: { user } });
  return {
    list: () => list('users', userSchema),
    page: (asked) => page('users', userSchema, asked),
    names: (asked) => names('users', asked),
    show: (user) => find('users', userSchema, user),
    async create({ name, password, project }) {
      const home = project === undefined ? undefined : await idOf('projects', project);
      const user = { name, password, ...(home !== undefined && { default_project_id: home }) };
      return create('/users', { user }, userSchema);
    },
    remove: async (user) =>
      change('DELETE', `/users/${await idOf('users', user)}`, { what: `delete the user ${user}` }),
    setPassword: ({ user, password }) => update(user, { password }, `set the password of ${user}`),
    setEnabled: ({ user, enabled }) => update(user, { enabled }, `${enabled ? 'enable' : 'disable'} the user ${user}`),
  };
}

function rolesOf({ list, idOf, change }: Requests): IdentityCalls['roles'] {
  const grantPath = async ({ user, role, project }: RoleParameters): Promise<string> => {
    const ids = [idOf('projects', project), idOf('users', user), idOf('roles', role)] as const;
    const [projectId, userId, roleId] = await Promise.all(ids);
    return `/projects/${projectId}/users/${userId}/roles/${roleId}`;
  };
  return {
    async grant(wanted) {
      const what = `grant ${wanted.role} in ${wanted.project} to ${wanted.user}`;
      await change('PUT', await grantPath(wanted), { what });
    },
    async revoke(wanted) {
      const what = `revoke ${wanted.role} in ${wanted.project} from ${wanted.user}`;
      await change('DELETE', await grantPath(wanted), { what });
    },
    async list({ user, project } = {}) {
      const query = {
        include_names: 'true',
        ...(user !== undefined && { 'user.id': await idOf('users', user) }),
        ...(project !== undefined && { 'scope.project.id': await idOf('projects', project) }),
      };
      return list('role_assignments', roleGrantSchema, query);
    },
  };
}

function tokensOf(connection: GatewayConnection, { change, create }: Requests): IdentityCalls['tokens'] {
  const path = `/users/${connection.user.id}/application_credentials`;
  const list = async (): Promise<ProgramToken[]> => {
    const what = 'list the tokens for programs';
    return readList(
      { application_credentials: programTokenSchema },
      await connection.json({ service, path, what }),
      what,
    );
  };
  return {
    list,
    async create({ name, roles = [], expiresAt, rules = [] }) {
      const wanted = {
        name,
        ...(roles.length > 0 && { roles: roles.map((role) => ({ name: role })) }),
        ...(expiresAt !== undefined && { expires_at: expiresAt }),
        ...(rules.length > 0 && { access_rules: rules }),
      };
      return create(path, { application_credential: wanted }, createdTokenSchema);
    },
    async revoke(token) {
      const found = (await list()).find(({ id, name }) => id === token || name === token);
      if (!found) throw new AnnealError('NotFound', `There is no token with the name or id ${token}.`);
      await change('DELETE', `${path}/${found.id}`, { what: `revoke the token ${token}` });
    },
  };
}
