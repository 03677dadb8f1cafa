/** Roles, and what they imply. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import type { RoleDocument } from '@anneal/directory/documents.ts';
import type { Records } from '../directory/records.ts';
import { notAuthorized } from '@anneal/directory/policy.ts';
import { fixedRoles, idOfRole } from '@anneal/directory/principals.ts';
import { kindRoutes, patch, rulesOf } from './kind-routes.ts';
import {
  allow,
  keystoneId,
  linkTo,
  nameField,
  objectForm,
  ownDomain,
  rowSchema,
  selfLink,
  textField,
  type IdentityOptions,
} from './shape.ts';

const fields = {
  name: nameField(255),
  domain_id: z.string().nullable().optional(),
  description: textField.optional(),
  options: z.looseObject({}).optional(),
};

const isFixed = (id: string): boolean => fixedRoles.some((role) => role.id === id);

export const roleSchema = rowSchema({
  name: z.string(),
  domain_id: z.string().nullable(),
  description: z.string().nullable(),
  options: z.looseObject({}),
}).meta({ id: 'Role' });
const namedRole = rowSchema({ name: z.string() });
const inferenceOf = (implies: z.ZodType) =>
  z.object({ role_inference: z.object({ prior_role: namedRole, implies }), links: selfLink });

export const roleRow = (request: FastifyRequest, role: RoleDocument): JsonObject => {
  const { id, name, domain_id, description, extra } = role;
  const options: JsonObject = isFixed(id) ? { immutable: true } : {};
  return objectForm(request, 'roles', { id, name, domain_id: domain_id || null, description, options, extra });
};

function refuseFixed(id: string, action: string): void {
  if (!isFixed(id)) return;
  throw new AnnealError(
    'Forbidden',
    `Unable to ${action} immutable role resource: \`${id}. Set resource option "immutable" to false first.`,
  );
}

const taken = (name: string): string => `Duplicate entry found with name ${name}.`;

/** `/v3/roles` and `/v3/role_inferences`. */
export const roleRoutes = ({ directory: { roles, domains }, newId }: IdentityOptions): Route[] => [
  ...kindRoutes({
    kind: 'role',
    plural: 'roles',
    path: '/v3/roles/{role}',
    row: roleSchema,
    form: roleRow,
    fields,
    filters: ['name'],
    parameters: ['domain_id'],
    records: roles,
    rules: { ...rulesOf('role'), create: 'create_role' },
    list: ({ query }) => roles.list({ domain_id: query['domain_id'] ?? '' }),
    fixed: ({ id, domain_id }) => ({ id, domain_id: domain_id || null }),
    async create({ name, domain_id, description = null, extra }) {
      if (domain_id) await domains.get(domain_id);
      const draft = { id: keystoneId(newId), name, domain_id: domain_id ?? '', description, implies: [], extra };
      return roles.insert(draft, taken(name));
    },
    async change({ options: _options, ...given }, { id, name }) {
      refuseFixed(id, 'update');
      return patch(roles, { id, taken: taken(given.name ?? name) }, given);
    },
    async remove({ id }) {
      refuseFixed(id, 'delete');
      await roles.remove(id);
    },
  }),
  ...inferenceRoutes(roles),
  inferencesRoute(roles),
];

const named = (request: FastifyRequest, { id, name }: RoleDocument) => ({
  id,
  name,
  links: linkTo(request, `roles/${id}`),
});

const inference = (request: FastifyRequest, prior: RoleDocument, implies: unknown) => ({
  role_inference: { prior_role: named(request, prior), implies },
  links: linkTo(request, `roles/${prior.id}/implies`),
});

const impliedBy = async (roles: Records<RoleDocument>, request: FastifyRequest, prior: RoleDocument) =>
  (await roles.findMany(prior.implies)).map((role) => named(request, role));

const mayRead = (request: FastifyRequest): void => allow(request, 'get_role', { domainId: ownDomain(request) });

function inferenceRoutes(roles: Records<RoleDocument>): Route[] {
  const path = '/v3/roles/{role}/implies/{implied}';
  const pair = async ({ role, implied }: { role: string; implied: string }) => ({
    prior: await roles.get(role),
    other: await roles.get(implied),
  });
  return [
    route({
      method: 'GET',
      path: '/v3/roles/{role}/implies',
      summary: 'List the roles that a role implies.',
      answer: inferenceOf(z.array(namedRole)),
      handle: async ({ params, request }) => {
        mayRead(request);
        const prior = await roles.get(params.role);
        return inference(request, prior, await impliedBy(roles, request, prior));
      },
    }),
    route({
      method: ['GET', 'HEAD'],
      path,
      summary: 'Check that a role implies another.',
      answer: inferenceOf(namedRole),
      also: { 204: null },
      handle: async ({ params, request, reply }) => {
        mayRead(request);
        const { prior, other } = await pair(params);
        if (!prior.implies.includes(other.id)) {
          throw new AnnealError('NotFound', `${prior.id} does not imply ${other.id}.`);
        }
        if (request.method === 'HEAD') void reply.code(204);
        return inference(request, prior, named(request, other));
      },
    }),
    route({
      method: 'PUT',
      path,
      summary: 'Make a role imply another.',
      status: 201,
      answer: inferenceOf(namedRole),
      handle: async ({ params, request }) => {
        allow(request, 'update_role');
        const { prior, other } = await pair(params);
        await imply(roles, prior, other);
        return inference(request, prior, named(request, other));
      },
    }),
    route({
      method: 'DELETE',
      path,
      summary: 'End that a role implies another.',
      handle: async ({ params, request }) => {
        allow(request, 'update_role');
        const { prior, other } = await pair(params);
        refuseFixed(prior.id, 'update');
        await roles.update(prior.id, (present) => ({
          ...present,
          implies: present.implies.filter((each) => each !== other.id),
        }));
      },
    }),
  ];
}

const inferencesRoute = (roles: Records<RoleDocument>): Route =>
  route({
    method: 'GET',
    path: '/v3/role_inferences',
    summary: 'List what roles imply.',
    answer: z.object({
      role_inferences: z.array(z.object({ prior_role: namedRole, implies: z.array(namedRole) })),
      links: selfLink,
    }),
    handle: async ({ request }) => {
      allow(request, 'list_roles', { domainId: ownDomain(request) });
      const priors = (await roles.list()).filter(({ implies }) => implies.length > 0);
      const rows = priors.map(async (prior) => ({
        prior_role: named(request, prior),
        implies: await impliedBy(roles, request, prior),
      }));
      return { role_inferences: await Promise.all(rows), links: linkTo(request, 'role_inferences') };
    },
  });

async function imply(roles: Records<RoleDocument>, prior: RoleDocument, other: RoleDocument): Promise<void> {
  if (other.id === idOfRole('admin')) throw new AnnealError('Forbidden', `${other.id} cannot be an implied roles.`);
  refuseFixed(prior.id, 'update');
  const all = new Map((await roles.list()).map((role) => [role.id, role]));
  if (impliesRole(all, other.id, prior.id)) {
    throw notAuthorized(`${other.name} implies ${prior.name}, so ${prior.name} cannot imply ${other.name}`);
  }
  await roles.update(prior.id, (present) => ({ ...present, implies: [...new Set([...present.implies, other.id])] }));
}

/** Whether a role implies another, directly or by others. */
function impliesRole(all: ReadonlyMap<string, RoleDocument>, from: string, to: string): boolean {
  return from === to || (all.get(from)?.implies ?? []).some((each) => impliesRole(all, each, to));
}
