/** Users and their passwords. */
import { userFields } from '@anneal/contracts/calls/identity-fields.ts';
import { identityPasswordChange } from '@anneal/contracts/calls/identity.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { UserDocument } from '@anneal/directory/documents.ts';
import { projectsOf } from '@anneal/directory/projects.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { groupRow, groupSchema } from './group-routes.ts';
import { kindRoutes, listRoute } from './kind-routes.ts';
import { projectRow, projectSchema } from './project-routes.ts';
import { allow, objectForm, rowSchema, type IdentityOptions } from './shape.ts';

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
export const userRoutes = (options: IdentityOptions): Route[] => [
  ...kindRoutes(options, {
    kind: 'user',
    plural: 'users',
    path: '/v3/users/{user}',
    row: userSchema,
    form: userRow,
    fields: userFields,
    filters: ['name', 'domain_id', 'enabled', 'id', 'unique_id', 'idp_id', 'protocol_id'],
    records: options.directory.users,
    rules: { list: 'list_users', get: 'get_user' },
    target: ({ id, domain_id }) => ({ domainId: domain_id, userId: id }),
    creates: true,
    changes: true,
  }),
  ...belongingRoutes(options),
];

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
      return (await projectsOf(options.directory, user)).map((row) => projectRow(request, row));
    },
  }),
];

/** Needs no token but the present password. All tokens of the user end. Failures are counted like failed logins. */
export const ownPasswordRoute = ({ ask, secrets }: IdentityOptions): Route =>
  route({
    method: 'POST',
    path: '/v3/users/{user}/password',
    summary: 'Change the own password. All tokens of the user end.',
    public: true,
    body: z.object({
      user: z.object({ original_password: z.string().max(4096), password: z.string().min(1).max(4096) }),
    }),
    handle: async ({ params: { user: id }, body: { user: passwords }, request }) => {
      const sealed = secrets.seal(passwords);
      const data = { user: id, from: request.ip, passwords: sealed };
      await ask('identity', identityPasswordChange, { data, sealed });
    },
  });
