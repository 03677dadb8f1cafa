/** Groups of users. Their roles count for every member. */
import { groupFields } from '@anneal/contracts/calls/identity-fields.ts';
import { identityMemberSet } from '@anneal/contracts/calls/identity.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { absentMember } from '@anneal/directory/absent.ts';
import type { UserGroupDocument } from '@anneal/directory/documents.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route, type RouteInput } from '../../http/route.ts';
import { identityCallerOf } from './changes.ts';
import { kindRoutes, listRoute } from './kind-routes.ts';
import { allow, objectForm, rowSchema, type IdentityOptions } from './shape.ts';

export const groupSchema = rowSchema({
  name: z.string(),
  domain_id: z.string(),
  description: z.string(),
}).meta({ id: 'Group' });
const memberSchema = rowSchema({ name: z.string(), domain_id: z.string(), enabled: z.boolean() });

export const groupRow = (request: FastifyRequest, group: UserGroupDocument): JsonObject => {
  const { id, name, domain_id, description, extra } = group;
  return objectForm(request, 'groups', { id, name, domain_id, description: description ?? '', extra });
};

/** `/v3/groups` and their members. */
export const groupRoutes = (options: IdentityOptions): Route[] => [
  ...kindRoutes(options, {
    kind: 'group',
    plural: 'groups',
    path: '/v3/groups/{group}',
    row: groupSchema,
    form: groupRow,
    fields: groupFields,
    filters: ['name', 'domain_id'],
    records: options.directory.groups,
    rules: { list: 'list_groups', get: 'get_group' },
    target: ({ domain_id }) => ({ domainId: domain_id }),
    creates: true,
    changes: true,
  }),
  ...memberRoutes(options),
];

function memberRoutes({ ask, directory: { groups, users } }: IdentityOptions): Route[] {
  const path = '/v3/groups/{group}/users/{user}';
  const setMember = async (
    { params, request }: Pick<RouteInput<typeof path>, 'params' | 'request'>,
    member: boolean,
  ) => {
    await ask('identity', identityMemberSet, { data: { caller: identityCallerOf(request), ...params, member } });
  };
  return [
    listRoute({
      path: '/v3/groups/{group}/users',
      summary: 'List the members of a group.',
      plural: 'users',
      row: memberSchema,
      filters: ['name', 'enabled'],
      rows: async ({ params, request }) => {
        const group = await groups.get(params.group);
        allow(request, 'list_users_in_group', { domainId: group.domain_id });
        const members = (await users.list()).filter((user) => user.groups.includes(group.id));
        return members.map(({ id, name, domain_id, enabled, extra }) =>
          objectForm(request, 'users', { id, name, domain_id, enabled, password_expires_at: null, options: {}, extra }),
        );
      },
    }),
    route({
      method: 'PUT',
      path,
      summary: 'Add a user to a group.',
      handle: (input) => setMember(input, true),
    }),
    route({
      method: ['GET', 'HEAD'],
      path,
      summary: 'Check that a user is in a group.',
      handle: async ({ params, request }) => {
        const group = await groups.get(params.group);
        const user = await users.get(params.user);
        allow(request, 'check_user_in_group', { domainId: group.domain_id, userId: user.id });
        if (!user.groups.includes(group.id)) throw absentMember(user.id, group.id);
      },
    }),
    route({
      method: 'DELETE',
      path,
      summary: 'Remove a user from a group.',
      handle: (input) => setMember(input, false),
    }),
  ];
}
