/** Trusts: a user lets another one log in with some of the user's roles in one project. */
import { trustFields } from '@anneal/contracts/calls/identity-fields.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isExpired } from '@anneal/directory/access.ts';
import type { RoleDocument, TrustDocument } from '@anneal/directory/documents.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { accessOf } from '../caller.ts';
import { checkedByKind, kindRoutes } from './kind-routes.ts';
import { roleRow, roleSchema } from './role-routes.ts';
import { allow, linkTo, listLinks, rowSchema, type IdentityOptions } from './shape.ts';

const trustSchema = rowSchema({
  trustor_user_id: z.string(),
  trustee_user_id: z.string(),
  project_id: z.string(),
  impersonation: z.boolean(),
  expires_at: z.string().nullable(),
  remaining_uses: z.int().nullable(),
  roles: z.array(roleSchema).optional(),
}).meta({ id: 'Trust' });

/** A trust, with its roles unless it is in a list. */
type Shown = TrustDocument & { readonly held?: readonly RoleDocument[] };
const path = '/v3/OS-TRUST/trusts/{trust}';

const rowOf = (request: FastifyRequest, trust: Shown): JsonObject => {
  const { id, trustor_user_id, trustee_user_id, project_id, impersonation, expires_at, remaining_uses, held } = trust;
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
    ...(held && { roles: held.map((role) => roleRow(request, role)) }),
  };
};

/** `/v3/OS-TRUST/trusts` */
export const trustRoutes = (options: IdentityOptions): Route[] => {
  const { directory, now } = options;
  const { trusts } = directory;
  const isOver = (trust: TrustDocument): boolean => isExpired(trust, now()) || trust.remaining_uses === 0;
  const withRoles = async (trust: TrustDocument) => ({ ...trust, held: await directory.roles.findMany(trust.roles) });
  /** The trust with its roles, for its two users and those who may read all. */
  const found = async (request: FastifyRequest, id: string) => {
    const trust = await trusts.get(id);
    const { user } = accessOf(request);
    const isOwn = [trust.trustor_user_id, trust.trustee_user_id].includes(user.id);
    allow(request, 'get_trust', isOwn ? { userId: user.id } : {});
    if (isOver(trust)) throw trusts.absent(trust.id);
    return withRoles(trust);
  };
  return [
    ...kindRoutes<typeof path, Shown>(options, {
      kind: 'trust',
      plural: 'trusts',
      path,
      row: trustSchema,
      form: rowOf,
      fields: trustFields,
      filters: ['trustor_user_id', 'trustee_user_id'],
      records: trusts,
      rules: checkedByKind,
      async list({ query, request }) {
        const { user } = accessOf(request);
        const isOwn = [query['trustor_user_id'], query['trustee_user_id']].includes(user.id);
        if (!isOwn) allow(request, 'list_trusts');
        return (await trusts.list()).filter((trust) => !isOver(trust));
      },
      find: ({ params, request }) => found(request, params.trust),
      changed: async (id) => withRoles(await trusts.get(id)),
      creates: true,
    }),
    ...trustRoleRoutes(options, found),
  ];
};

function trustRoleRoutes(
  { directory: { roles } }: IdentityOptions,
  found: (request: FastifyRequest, id: string) => Promise<Required<Shown>>,
): Route[] {
  return [
    route({
      method: 'GET',
      path: `${path}/roles`,
      summary: 'List the roles of a trust.',
      answer: z.object({ roles: z.array(roleSchema), links: listLinks }),
      handle: async ({ params, request }) => {
        const { id, held } = await found(request, params.trust);
        const links = { ...linkTo(request, `OS-TRUST/trusts/${id}/roles`), next: null, previous: null };
        return { roles: held.map((role) => roleRow(request, role)), links };
      },
    }),
    route({
      method: ['GET', 'HEAD'],
      path: `${path}/roles/{role}`,
      summary: 'Show a role of a trust.',
      answer: z.object({ role: roleSchema }),
      handle: async ({ params, request }) => {
        const role = (await found(request, params.trust)).held.find(({ id }) => id === params.role);
        if (!role) throw roles.absent(params.role);
        return { role: roleRow(request, role) };
      },
    }),
  ];
}
