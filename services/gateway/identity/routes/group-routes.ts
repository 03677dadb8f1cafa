/** Groups of users. Their roles count for every member. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route, type RouteInput } from '../../http/route.ts';
import type { Directory } from '../directory/directory.ts';
import type { UserGroupDocument } from '@anneal/directory/documents.ts';
import { kindRoutes, listRoute, patch, rulesOf } from './kind-routes.ts';
import {
  allow,
  callerDomain,
  checkDomain,
  keystoneId,
  nameField,
  objectForm,
  rowSchema,
  takenInDomain,
  textField,
  type IdentityOptions,
} from './shape.ts';

const fields = {
  name: nameField(255),
  domain_id: z.string().nullable().optional(),
  description: textField.optional(),
};

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
export const groupRoutes = ({ directory, newId }: IdentityOptions): Route[] => {
  const { groups } = directory;
  return [
    ...kindRoutes({
      kind: 'group',
      plural: 'groups',
      path: '/v3/groups/{group}',
      row: groupSchema,
      form: groupRow,
      fields,
      filters: ['name', 'domain_id'],
      records: groups,
      rules: rulesOf('group'),
      target: ({ domain_id }) => ({ domainId: domain_id }),
      fixed: ({ id, domain_id }) => ({ id, domain_id }),
      async create({ name, domain_id: wanted, description = '', extra }, { request }) {
        const domain_id = wanted ?? callerDomain(request);
        allow(request, 'create_group', { domainId: domain_id });
        await checkDomain(directory, domain_id);
        const draft = { id: keystoneId(newId), name, domain_id, description, grants: [], extra };
        return groups.insert(draft, takenInDomain(draft));
      },
      change: (given, group) => patch(groups, { id: group.id, taken: takenInDomain({ ...group, ...given }) }, given),
    }),
    ...memberRoutes(directory),
  ];
};

function memberRoutes({ groups, users }: Directory): Route[] {
  const path = '/v3/groups/{group}/users/{user}';
  /** The user and the group of the path. */
  const pair = async ({ params }: Pick<RouteInput<typeof path>, 'params'>) => ({
    group: await groups.get(params.group),
    user: await users.get(params.user),
  });
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
      handle: async (input) => {
        const { group, user } = await pair(input);
        allow(input.request, 'add_user_to_group', { domainId: group.domain_id });
        await users.update(user.id, (present) => ({ ...present, groups: [...new Set([...present.groups, group.id])] }));
      },
    }),
    route({
      method: ['GET', 'HEAD'],
      path,
      summary: 'Check that a user is in a group.',
      handle: async (input) => {
        const { group, user } = await pair(input);
        allow(input.request, 'check_user_in_group', { domainId: group.domain_id, userId: user.id });
        if (!user.groups.includes(group.id)) throw notMember(user.id, group.id);
      },
    }),
    route({
      method: 'DELETE',
      path,
      summary: 'Remove a user from a group.',
      handle: async (input) => {
        const { group, user } = await pair(input);
        allow(input.request, 'remove_user_from_group', { domainId: group.domain_id });
        await users.update(user.id, (present) => {
          if (!present.groups.includes(group.id)) throw notMember(user.id, group.id);
          return { ...present, groups: present.groups.filter((each) => each !== group.id) };
        });
      },
    }),
  ];
}

const notMember = (user: string, group: string): AnnealError =>
  new AnnealError('NotFound', `User '${user}' not found in group '${group}'`);
