/** Trusts: a user lets another one log in with some of the user's roles in one project. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { isExpired, rolesIn, scopeOfProject } from '../access.ts';
import type { RoleDocument, TrustDocument } from '../directory/documents.ts';
import { notAuthorized } from '../identity-policy.ts';
import { expiryOf } from './application-credential-routes.ts';
import { roleRow, roleSchema } from './role-routes.ts';
import {
  accessOf,
  allow,
  describeKind,
  keystoneId,
  linkTo,
  listLinks,
  pageOfList,
  paramsOf,
  readObject,
  rowSchema,
  type IdentityOptions,
  type IdentityRoutes,
} from './shape.ts';

const fields = {
  trustor_user_id: z.string(),
  trustee_user_id: z.string(),
  project_id: z.string(),
  impersonation: z.boolean(),
  roles: z.array(z.object({ id: z.string().optional(), name: z.string().optional() })).optional(),
  expires_at: z.string().nullable().optional(),
  remaining_uses: z.number().int().positive().nullable().optional(),
  allow_redelegation: z.literal(false, 'must be false, because trusts cannot be passed on').optional(),
};

const all = '/v3/OS-TRUST/trusts';
const one = `${all}/:trust`;

const kind = describeKind({
  kind: 'trust',
  plural: 'trusts',
  row: rowSchema({
    trustor_user_id: z.string(),
    trustee_user_id: z.string(),
    project_id: z.string(),
    impersonation: z.boolean(),
    expires_at: z.string().nullable(),
    remaining_uses: z.int().nullable(),
    roles: z.array(roleSchema).optional(),
  }).meta({ id: 'Trust' }),
  fields,
  filters: ['trustor_user_id', 'trustee_user_id'],
});
const listsRoles = described({
  summary: 'List the roles of a trust.',
  answer: z.object({ roles: z.array(roleSchema), links: listLinks }),
});
const showsRole = described({ summary: 'Show a role of a trust.', answer: z.object({ role: roleSchema }) });
const checksRole = described({ summary: 'Check that a trust has a role.', status: 200 });

const rowOf = (request: FastifyRequest, trust: TrustDocument): JsonObject => {
  const { id, trustor_user_id, trustee_user_id, project_id, impersonation, expires_at, remaining_uses } = trust;
  return {
    id,
    trustor_user_id,
    trustee_user_id,
    project_id,
    impersonation,
    expires_at,
    remaining_uses,
    deleted_at: null,
    redelegated_trust_id: null,
    redelegation_count: 0,
    roles_links: { ...linkTo(request, `OS-TRUST/trusts/${id}/roles`), next: null, previous: null },
    links: linkTo(request, `OS-TRUST/trusts/${id}`),
  };
};

/** `/v3/OS-TRUST/trusts` */
export const trustRoutes: IdentityRoutes = (scope, options) => {
  const { directory, now } = options;
  const { trusts, users } = directory;
  const isOver = (trust: TrustDocument): boolean => isExpired(trust, now()) || trust.remaining_uses === 0;
  /** The trust of the path, for its two users and those who may read all. */
  const found = async (request: FastifyRequest): Promise<TrustDocument> => {
    const trust = await trusts.get(paramsOf(request)['trust'] ?? '');
    const { user } = accessOf(request);
    const isOwn = [trust.trustor_user_id, trust.trustee_user_id].includes(user.id);
    allow(request, 'get_trust', isOwn ? { userId: user.id } : {});
    if (isOver(trust)) throw trusts.absent(trust.id);
    return trust;
  };
  const rolesOf = async (request: FastifyRequest, trust: TrustDocument): Promise<JsonObject[]> =>
    (await directory.roles.findMany(trust.roles)).map((role) => roleRow(request, role));

  scope.get(all, kind.lists, async (request) => {
    const filters = ['trustor_user_id', 'trustee_user_id'] as const;
    const { user } = accessOf(request);
    if (!filters.some((filter) => queryValue(request, filter) === user.id)) allow(request, 'list_trusts');
    const rows = (await trusts.list()).filter((trust) => !isOver(trust)).map((trust) => rowOf(request, trust));
    return pageOfList(request, 'trusts', { rows, filters });
  });

  scope.post(all, kind.creates, async (request, reply) => {
    const { known } = readObject(request, 'trust', fields);
    allow(request, 'create_trust', { userId: known.trustor_user_id });
    refuseDelegated(request);
    await users.get(known.trustee_user_id);
    const roles = await heldRoles(options, known);
    const trust = await trusts.insert(
      {
        id: keystoneId(options.newId),
        trustor_user_id: known.trustor_user_id,
        trustee_user_id: known.trustee_user_id,
        project_id: known.project_id,
        impersonation: known.impersonation,
        roles: roles.map(({ id }) => id),
        expires_at: expiryOf(known.expires_at ?? null, now()),
        remaining_uses: known.remaining_uses ?? null,
      },
      'the id is in use.',
    );
    return reply.code(201).send({ trust: { ...rowOf(request, trust), roles: await rolesOf(request, trust) } });
  });

  scope.get(one, kind.shows, async (request) => {
    const trust = await found(request);
    return { trust: { ...rowOf(request, trust), roles: await rolesOf(request, trust) } };
  });

  scope.delete(one, kind.removes, async (request, reply) => {
    const trust = await trusts.get(paramsOf(request)['trust'] ?? '');
    allow(request, 'delete_trust', { userId: trust.trustor_user_id });
    refuseDelegated(request);
    await trusts.remove(trust.id);
    return reply.code(204).send();
  });

  scope.get(`${one}/roles`, listsRoles, async (request) => {
    const trust = await found(request);
    const { self } = linkTo(request, `OS-TRUST/trusts/${trust.id}/roles`);
    return { roles: await rolesOf(request, trust), links: { self, next: null, previous: null } };
  });

  const roleOf = async (request: FastifyRequest): Promise<RoleDocument> => {
    const trust = await found(request);
    const { role: id = '' } = paramsOf(request);
    if (!trust.roles.includes(id)) throw directory.roles.absent(id);
    return directory.roles.get(id);
  };
  scope.get(`${one}/roles/:role`, showsRole, async (request) => ({ role: roleRow(request, await roleOf(request)) }));
  scope.head(`${one}/roles/:role`, checksRole, async (request, reply) => {
    await roleOf(request);
    return reply.code(200).send();
  });
};

/** A program that acts for a user must not be able to pass that on. */
export function refuseDelegated(request: FastifyRequest): void {
  const { applicationCredential: used, trust } = accessOf(request);
  if (trust || (used && !used.unrestricted)) throw notAuthorized('Delegated tokens cannot manage trusts.');
}

/** @throws AnnealError Forbidden without roles, NotFound for a role that the trustor does not have in the project */
async function heldRoles(
  { directory }: IdentityOptions,
  wanted: {
    trustor_user_id: string;
    project_id: string;
    roles?: readonly { id?: string | undefined; name?: string | undefined }[];
  },
): Promise<RoleDocument[]> {
  const { roles = [] } = wanted;
  if (roles.length === 0) {
    throw new AnnealError('Forbidden', 'At least one role should be specified.');
  }
  const [trustor, project] = await Promise.all([
    directory.users.get(wanted.trustor_user_id),
    directory.projects.get(wanted.project_id),
  ]);
  const held = await rolesIn(directory, trustor, await scopeOfProject(directory, project));
  return roles.map(({ id, name }) => {
    const found = held.find((role) => (id === undefined ? role.name === name : role.id === id));
    if (!found) throw directory.roles.absent(id ?? name ?? '');
    return found;
  });
}
