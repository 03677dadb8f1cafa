/** Users and their passwords. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { idsAbove } from '../assignments.ts';
import { countsIn } from '../roles.ts';
import { newUser, type ProjectDocument, type UserDocument } from '../directory/documents.ts';
import { parseField } from '../../http/input.ts';
import { described } from '../../http/document.ts';
import { adminUser } from '../principals.ts';
import { removeUser } from './removal.ts';
import { groupRow, groupSchema } from './group-routes.ts';
import { callerDomain, projectRow, projectSchema } from './project-routes.ts';
import {
  allow,
  describeKind,
  keystoneId,
  listDescription,
  pageOfList,
  nameField,
  ownDomain,
  paramsOf,
  readObject,
  rowSchema,
  refuseChange,
  objectForm,
  takenInDomain,
  textField,
  type IdentityOptions,
  type IdentityRoutes,
} from './shape.ts';

const password = z.string().min(1).max(4096);
const userOptions = z.strictObject({
  ignore_change_password_upon_first_use: z.boolean().nullable().optional(),
  ignore_password_expiry: z.boolean().nullable().optional(),
  ignore_lockout_failure_attempts: z.boolean().nullable().optional(),
  ignore_user_inactivity: z.boolean().nullable().optional(),
  lock_password: z.boolean().nullable().optional(),
  multi_factor_auth_enabled: z.boolean().nullable().optional(),
  multi_factor_auth_rules: z.array(z.array(z.string())).nullable().optional(),
});
const fields = {
  name: nameField(255),
  domain_id: z.string().nullable().optional(),
  enabled: z.boolean().optional(),
  default_project_id: z.string().nullable().optional(),
  description: textField.optional(),
  password: password.nullable().optional(),
  options: userOptions.optional(),
};
const changes = { ...fields, name: fields.name.optional() };
const filters = ['name', 'domain_id', 'enabled', 'id', 'unique_id', 'idp_id', 'protocol_id'];

export const userSchema = rowSchema({
  name: z.string(),
  domain_id: z.string(),
  enabled: z.boolean(),
  default_project_id: z.string().optional(),
  description: z.string().optional(),
  password_expires_at: z.null(),
  options: z.looseObject({}),
}).meta({ id: 'User' });
const kind = describeKind({ kind: 'user', plural: 'users', row: userSchema, fields, changes, filters });

/** A user in the form of Keystone. Its password is not part of it. */
export function userRow(request: FastifyRequest, user: UserDocument): JsonObject {
  const { id, name, domain_id, enabled, default_project_id, description, options, extra } = user;
  return objectForm(request, 'users', {
    id,
    name,
    domain_id,
    enabled,
    ...(default_project_id !== null && { default_project_id }),
    ...(description !== null && { description }),
    password_expires_at: null,
    options,
    extra,
  });
}

/** `/v3/users` and what belongs to one user. */
export const userRoutes: IdentityRoutes = (scope, options) => {
  const { directory, now } = options;
  const { users, passwords } = directory;

  scope.get('/v3/users', kind.lists, async (request) => {
    const domain = ownDomain(request);
    allow(request, 'list_users', { domainId: domain });
    const rows = await users.list(domain === undefined ? {} : { domain_id: domain });
    return pageOfList(request, 'users', { rows: rows.map((row) => userRow(request, row)), filters });
  });

  scope.post('/v3/users', kind.creates, async (request, reply) => {
    const { known, extra } = readObject(request, 'user', fields);
    const domain_id = known.domain_id ?? callerDomain(request);
    allow(request, 'create_user', { domainId: domain_id });
    // Keystone answers 404 for a user in an unknown domain, and 400 for a project or group.
    await options.directory.domains.get(domain_id);
    const user = await users.insert(
      {
        ...newUser({ id: keystoneId(options.newId), name: known.name, domain_id }),
        enabled: known.enabled ?? true,
        default_project_id: known.default_project_id ?? null,
        description: known.description ?? null,
        password: known.password == null ? null : await passwords.hash(known.password),
        options: keptOptions({}, known.options),
        extra,
      },
      takenInDomain({ name: known.name, domain_id }),
    );
    return reply.code(201).send({ user: userRow(request, user) });
  });

  scope.get('/v3/users/:user', kind.shows, async (request) => {
    const user = await userAt(options, request);
    allow(request, 'get_user', { domainId: user.domain_id, userId: user.id });
    return { user: userRow(request, user) };
  });

  scope.patch('/v3/users/:user', kind.updates, async (request) => {
    const user = await userAt(options, request);
    const { id, domain_id } = user;
    allow(request, 'update_user', { domainId: domain_id });
    const { known, extra } = readObject(request, 'user', changes);
    refuseChange(request, 'user', { id, domain_id });
    if (id === adminUser.id && known.enabled === false) {
      throw new AnnealError('Forbidden', 'Cannot disable the user admin: it is the one that can always log in.');
    }
    const { password: given, options: wanted, domain_id: _, ...rest } = known;
    const stored = given == null ? undefined : await passwords.hash(given);
    const ends = stored !== undefined || given === null || known.enabled === false;
    const changed = await users.update(
      id,
      (present) => ({
        ...present,
        ...rest,
        ...(given === null && { password: null }),
        ...(stored && { password: stored }),
        ...(ends && { tokens_from: now().toISOString() }),
        options: keptOptions(present.options, wanted),
        extra: { ...present.extra, ...extra },
      }),
      takenInDomain({ name: known.name ?? user.name, domain_id }),
    );
    return { user: userRow(request, changed) };
  });

  scope.delete('/v3/users/:user', kind.removes, async (request, reply) => {
    const user = await userAt(options, request);
    allow(request, 'delete_user', { domainId: user.domain_id });
    await removeUser(options, user.id);
    return reply.code(204).send();
  });
  belongingRoutes(scope, options);
};

/** The groups and projects of a user. */
function belongingRoutes(scope: FastifyInstance, options: IdentityOptions): void {
  const { directory } = options;
  const listsGroups = described({
    summary: 'List the groups of a user.',
    ...listDescription('groups', groupSchema, ['name']),
  });
  scope.get('/v3/users/:user/groups', listsGroups, async (request) => {
    const user = await userAt(options, request);
    allow(request, 'list_groups_for_user', { domainId: user.domain_id, userId: user.id });
    const groups = await directory.groups.findMany(user.groups);
    return pageOfList(request, 'groups', { rows: groups.map((row) => groupRow(request, row)), filters: ['name'] });
  });

  const listsProjects = described({
    summary: 'List the projects in which a user has a role.',
    ...listDescription('projects', projectSchema, ['name', 'domain_id', 'enabled']),
  });
  scope.get('/v3/users/:user/projects', listsProjects, async (request) => {
    const user = await userAt(options, request);
    allow(request, 'list_user_projects', { domainId: user.domain_id, userId: user.id });
    const rows = await projectsOf(options, user);
    const shownRows = rows.map((row) => projectRow(request, row));
    return pageOfList(request, 'projects', { rows: shownRows, filters: ['name', 'domain_id', 'enabled'] });
  });
}

/** The enabled projects in which a user has a role. The number of reads does not depend on the number of projects. */
export async function projectsOf({ directory }: IdentityOptions, user: UserDocument): Promise<ProjectDocument[]> {
  const [projects, groups, roles] = await Promise.all([
    directory.projects.list(),
    directory.groups.findMany(user.groups),
    directory.roles.list(),
  ]);
  const byId = new Map(projects.map((project) => [project.id, project]));
  const known = new Set(roles.map(({ id }) => id));
  const grants = [user, ...groups].flatMap((each) => each.grants).filter(({ role_id }) => known.has(role_id));
  return projects.filter(({ id, enabled, domain_id: domain }) => {
    const scope = { on: 'project', id, above: idsAbove(byId, id), domain } as const;
    return enabled && grants.some((grant) => countsIn(grant, scope));
  });
}

/**
 * `POST /v3/users/{user}/password`: needs no token but the present password. All tokens of the user end. Failures are
 * counted like failed logins, by `check`.
 */
export const ownPasswordRoute =
  (check: (place: string, stored: UserDocument | undefined, given: string) => Promise<void>): IdentityRoutes =>
  (scope, { directory, now }) => {
    const body = z.object({ user: z.object({ original_password: z.string().max(4096), password }) });
    const changesPassword = described(
      { summary: 'Change the own password. All tokens of the user end.', body },
      { public: true },
    );
    scope.post('/v3/users/:user/password', changesPassword, async (request, reply) => {
      const { user: given } = parseField(body, request.body ?? {}, 'The change of the password');
      const id = paramsOf(request)['user'] ?? '';
      const user = await directory.users.find(id);
      await check(`${request.ip} ${id}`, user, given.original_password);
      if (user?.options['lock_password'] === true) {
        throw new AnnealError(
          'InvalidRequest',
          'You cannot change your password at this time due to password policy disallowing password changes. Please contact your administrator to reset your password.',
        );
      }
      const stored = await directory.passwords.hash(given.password);
      const tokens_from = now().toISOString();
      await directory.users.update(id, (present) => ({ ...present, password: stored, tokens_from }));
      return reply.code(204).send();
    });
  };

/** The user in the path. @throws AnnealError NotFound */
export const userAt = (
  { directory }: Pick<IdentityOptions, 'directory'>,
  request: FastifyRequest,
): Promise<UserDocument> => directory.users.get(paramsOf(request)['user'] ?? '');

/** Null removes an option. */
function keptOptions(present: JsonObject, given: z.infer<typeof userOptions> | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...present, ...given } as JsonObject).filter(([, value]) => value != null),
  );
}
