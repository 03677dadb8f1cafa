/** Users and their passwords. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { idsAbove } from '../assignments.ts';
import { newUser, type ProjectDocument, type UserDocument } from '@anneal/directory/documents.ts';
import { adminUser } from '@anneal/directory/principals.ts';
import { countsIn } from '@anneal/directory/roles.ts';
import { groupRow, groupSchema } from './group-routes.ts';
import { kindRoutes, listRoute, patch, rulesOf } from './kind-routes.ts';
import { projectRow, projectSchema } from './project-routes.ts';
import { removeUser } from './removal.ts';
import {
  allow,
  callerDomain,
  keystoneId,
  nameField,
  objectForm,
  rowSchema,
  takenInDomain,
  textField,
  type IdentityOptions,
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

export const userSchema = rowSchema({
  name: z.string(),
  domain_id: z.string(),
  enabled: z.boolean(),
  default_project_id: z.string().optional(),
  description: z.string().optional(),
  password_expires_at: z.null(),
  options: z.looseObject({}),
}).meta({ id: 'User' });

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
export const userRoutes = (options: IdentityOptions): Route[] => {
  const { directory, newId, now } = options;
  const { users, passwords } = directory;
  return [
    ...kindRoutes({
      kind: 'user',
      plural: 'users',
      path: '/v3/users/{user}',
      row: userSchema,
      form: userRow,
      fields,
      filters: ['name', 'domain_id', 'enabled', 'id', 'unique_id', 'idp_id', 'protocol_id'],
      records: users,
      rules: rulesOf('user'),
      target: ({ id, domain_id }) => ({ domainId: domain_id, userId: id }),
      fixed: ({ id, domain_id }) => ({ id, domain_id }),
      async create({ name, domain_id: wanted, password: given, ...rest }, { request }) {
        const domain_id = wanted ?? callerDomain(request);
        allow(request, 'create_user', { domainId: domain_id });
        // Keystone answers 404 for a user in an unknown domain, and 400 for a project or group.
        await directory.domains.get(domain_id);
        const draft = {
          ...newUser({ id: keystoneId(newId), name, domain_id }),
          ...rest,
          password: given == null ? null : await passwords.hash(given),
          options: keptOptions({}, rest.options),
        };
        return users.insert(draft, takenInDomain(draft));
      },
      async change({ password: given, options: wanted, ...rest }, user) {
        if (user.id === adminUser.id && rest.enabled === false) {
          throw new AnnealError('Forbidden', 'Cannot disable the user admin: it is the one that can always log in.');
        }
        const stored = given == null ? given : await passwords.hash(given);
        const ends = stored !== undefined || rest.enabled === false;
        return patch(users, { id: user.id, taken: takenInDomain({ ...user, ...rest }) }, ({ options: present }) => ({
          ...rest,
          ...(stored !== undefined && { password: stored }),
          ...(ends && { tokens_from: now().toISOString() }),
          options: keptOptions(present, wanted),
        }));
      },
      remove: ({ id }) => removeUser(options, id),
    }),
    ...belongingRoutes(options),
  ];
};

/** The groups and projects of a user. */
const belongingRoutes = (options: IdentityOptions): Route[] => [
  listRoute({
    path: '/v3/users/{user}/groups',
    summary: 'List the groups of a user.',
    plural: 'groups',
    row: groupSchema,
    filters: ['name'],
    rows: async ({ params, request }) => {
      const user = await options.directory.users.get(params.user);
      allow(request, 'list_groups_for_user', { domainId: user.domain_id, userId: user.id });
      return (await options.directory.groups.findMany(user.groups)).map((row) => groupRow(request, row));
    },
  }),
  listRoute({
    path: '/v3/users/{user}/projects',
    summary: 'List the projects in which a user has a role.',
    plural: 'projects',
    row: projectSchema,
    filters: ['name', 'domain_id', 'enabled'],
    rows: async ({ params, request }) => {
      const user = await options.directory.users.get(params.user);
      allow(request, 'list_user_projects', { domainId: user.domain_id, userId: user.id });
      return (await projectsOf(options, user)).map((row) => projectRow(request, row));
    },
  }),
];

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
export const ownPasswordRoute = (
  { directory, now }: IdentityOptions,
  check: (place: string, stored: UserDocument | undefined, given: string) => Promise<void>,
): Route =>
  route({
    method: 'POST',
    path: '/v3/users/{user}/password',
    summary: 'Change the own password. All tokens of the user end.',
    public: true,
    body: z.object({ user: z.object({ original_password: z.string().max(4096), password }) }),
    handle: async ({ params: { user: id }, body: { user: given }, request }) => {
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
    },
  });

/** Null removes an option. */
function keptOptions(present: JsonObject, given: z.infer<typeof userOptions> | undefined): JsonObject {
  return Object.fromEntries(
    Object.entries({ ...present, ...given } as JsonObject).filter(([, value]) => value != null),
  );
}
