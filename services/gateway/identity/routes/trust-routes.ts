/** Trusts: a user lets another one log in with some of the user's roles in one project. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { isExpired, rolesIn, scopeOfProject } from '@anneal/directory/access.ts';
import type { RoleDocument, TrustDocument } from '@anneal/directory/documents.ts';
import { notAuthorized } from '@anneal/directory/policy.ts';
import { expiryOf } from './application-credential-routes.ts';
import { checkedByKind, kindRoutes } from './kind-routes.ts';
import { roleRow, roleSchema } from './role-routes.ts';
import { accessOf, allow, keystoneId, linkTo, listLinks, rowSchema, type IdentityOptions } from './shape.ts';

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
  const { directory, newId, now } = options;
  const { trusts, users } = directory;
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
    ...kindRoutes<typeof path, Shown, typeof fields>({
      kind: 'trust',
      plural: 'trusts',
      path,
      row: trustSchema,
      form: rowOf,
      fields,
      filters: ['trustor_user_id', 'trustee_user_id'],
      records: trusts,
      rules: checkedByKind,
      async list({ query, request }) {
        const { user } = accessOf(request);
        const isOwn = [query['trustor_user_id'], query['trustee_user_id']].includes(user.id);
        if (!isOwn) allow(request, 'list_trusts');
        return (await trusts.list()).filter((trust) => !isOver(trust));
      },
      async find({ params, request }, action) {
        if (action === 'get') return found(request, params.trust);
        const trust = await trusts.get(params.trust);
        allow(request, 'delete_trust', { userId: trust.trustor_user_id });
        refuseDelegated(request);
        return trust;
      },
      async create(given, { request }) {
        const { trustor_user_id, trustee_user_id, project_id, impersonation } = given;
        allow(request, 'create_trust', { userId: trustor_user_id });
        refuseDelegated(request);
        await users.get(trustee_user_id);
        const roles = await heldRoles(options, given);
        const draft = {
          id: keystoneId(newId),
          trustor_user_id,
          trustee_user_id,
          project_id,
          impersonation,
          roles: roles.map(({ id }) => id),
          expires_at: expiryOf(given.expires_at ?? null, now()),
          remaining_uses: given.remaining_uses ?? null,
        };
        return withRoles(await trusts.insert(draft, 'the id is in use.'));
      },
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
