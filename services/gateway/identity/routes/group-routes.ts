/** Groups of users. Their roles count for every member. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { described } from '../../http/document.ts';
import type { UserGroupDocument } from '../directory/documents.ts';
import { callerDomain } from './project-routes.ts';
import {
  allow,
  checkDomain,
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

const fields = {
  name: nameField(255),
  domain_id: z.string().nullable().optional(),
  description: textField.optional(),
};
const changes = { ...fields, name: fields.name.optional() };

export const groupSchema = rowSchema({
  name: z.string(),
  domain_id: z.string(),
  description: z.string(),
}).meta({ id: 'Group' });
const kind = describeKind({
  kind: 'group',
  plural: 'groups',
  row: groupSchema,
  fields,
  changes,
  filters: ['name', 'domain_id'],
});
const memberSchema = rowSchema({ name: z.string(), domain_id: z.string(), enabled: z.boolean() });

export const groupRow = (request: FastifyRequest, group: UserGroupDocument): JsonObject => {
  const { id, name, domain_id, description, extra } = group;
  return objectForm(request, 'groups', { id, name, domain_id, description: description ?? '', extra });
};

/** `/v3/groups` and their members. */
export const groupRoutes: IdentityRoutes = (scope, options) => {
  const { groups } = options.directory;
  const groupAt = (request: FastifyRequest): Promise<UserGroupDocument> => groups.get(paramsOf(request)['group'] ?? '');

  scope.get('/v3/groups', kind.lists, async (request) => {
    const domain = ownDomain(request);
    allow(request, 'list_groups', { domainId: domain });
    const rows = await groups.list(domain === undefined ? {} : { domain_id: domain });
    return pageOfList(request, 'groups', {
      rows: rows.map((row) => groupRow(request, row)),
      filters: ['name', 'domain_id'],
    });
  });

  scope.post('/v3/groups', kind.creates, async (request, reply) => {
    const { known, extra } = readObject(request, 'group', fields);
    const domain_id = known.domain_id ?? callerDomain(request);
    allow(request, 'create_group', { domainId: domain_id });
    await checkDomain(options.directory, domain_id);
    const { name, description = '' } = known;
    const group = await groups.insert(
      { id: keystoneId(options.newId), name, domain_id, description, grants: [], extra },
      takenInDomain({ name, domain_id }),
    );
    return reply.code(201).send({ group: groupRow(request, group) });
  });

  scope.get('/v3/groups/:group', kind.shows, async (request) => {
    const group = await groupAt(request);
    allow(request, 'get_group', { domainId: group.domain_id });
    return { group: groupRow(request, group) };
  });

  scope.patch('/v3/groups/:group', kind.updates, async (request) => {
    const { id, domain_id, name: present } = await groupAt(request);
    allow(request, 'update_group', { domainId: domain_id });
    const { known, extra } = readObject(request, 'group', changes);
    refuseChange(request, 'group', { id, domain_id });
    const { domain_id: _, ...rest } = known;
    const group = await groups.update(
      id,
      (before) => ({ ...before, ...rest, extra: { ...before.extra, ...extra } }),
      takenInDomain({ name: known.name ?? present, domain_id }),
    );
    return { group: groupRow(request, group) };
  });

  scope.delete('/v3/groups/:group', kind.removes, async (request, reply) => {
    const { id, domain_id } = await groupAt(request);
    allow(request, 'delete_group', { domainId: domain_id });
    await groups.remove(id);
    return reply.code(204).send();
  });
  memberRoutes(scope, options);
};

function memberRoutes(scope: FastifyInstance, { directory: { groups, users } }: IdentityOptions): void {
  const groupAt = (request: FastifyRequest) => groups.get(paramsOf(request)['group'] ?? '');
  const member = '/v3/groups/:group/users/:user';
  const pair = async (request: FastifyRequest) => ({
    group: await groupAt(request),
    user: await users.get(paramsOf(request)['user'] ?? ''),
  });

  const lists = described({
    summary: 'List the members of a group.',
    ...listDescription('users', memberSchema, ['name', 'enabled']),
  });
  scope.get('/v3/groups/:group/users', lists, async (request) => {
    const group = await groupAt(request);
    allow(request, 'list_users_in_group', { domainId: group.domain_id });
    const members = (await users.list()).filter((user) => user.groups.includes(group.id));
    const rows = members.map(({ id, name, domain_id, enabled, extra }) =>
      objectForm(request, 'users', { id, name, domain_id, enabled, password_expires_at: null, options: {}, extra }),
    );
    return pageOfList(request, 'users', { rows, filters: ['name', 'enabled'] });
  });

  scope.put(member, described({ summary: 'Add a user to a group.' }), async (request, reply) => {
    const { group, user } = await pair(request);
    allow(request, 'add_user_to_group', { domainId: group.domain_id });
    await users.update(user.id, (present) => ({ ...present, groups: [...new Set([...present.groups, group.id])] }));
    return reply.code(204).send();
  });

  scope.route({
    method: ['GET', 'HEAD'],
    url: member,
    ...described({ summary: 'Check that a user is in a group.' }),
    handler: async (request, reply) => {
      const { group, user } = await pair(request);
      allow(request, 'check_user_in_group', { domainId: group.domain_id, userId: user.id });
      if (!user.groups.includes(group.id)) throw notMember(user.id, group.id);
      return reply.code(204).send();
    },
  });

  scope.delete(member, described({ summary: 'Remove a user from a group.' }), async (request, reply) => {
    const { group, user } = await pair(request);
    allow(request, 'remove_user_from_group', { domainId: group.domain_id });
    await users.update(user.id, (present) => {
      if (!present.groups.includes(group.id)) throw notMember(user.id, group.id);
      return { ...present, groups: present.groups.filter((each) => each !== group.id) };
    });
    return reply.code(204).send();
  });
}

const notMember = (user: string, group: string): AnnealError =>
  new AnnealError('NotFound', `User '${user}' not found in group '${group}'`);
