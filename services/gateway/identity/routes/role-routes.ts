/** Roles, and what they imply. */
import { roleFields } from '@anneal/contracts/calls/identity-fields.ts';
import { identityImplySet } from '@anneal/contracts/calls/identity.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { RoleDocument } from '@anneal/directory/documents.ts';
import { isFixedRole } from '@anneal/directory/principals.ts';
import type { RecordReader } from '@anneal/directory/reader.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { identityCallerOf } from './changes.ts';
import { kindRoutes } from './kind-routes.ts';
import { allow, linkTo, objectForm, ownDomain, rowSchema, selfLink, type IdentityOptions } from './shape.ts';

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
  const options: JsonObject = isFixedRole(id) ? { immutable: true } : {};
  return objectForm(request, 'roles', { id, name, domain_id: domain_id || null, description, options, extra });
};

/** `/v3/roles` and `/v3/role_inferences`. */
export const roleRoutes = (options: IdentityOptions): Route[] => {
  const { roles } = options.directory;
  return [
    ...kindRoutes(options, {
      kind: 'role',
      plural: 'roles',
      path: '/v3/roles/{role}',
      row: roleSchema,
      form: roleRow,
      fields: roleFields,
      filters: ['name'],
      parameters: ['domain_id'],
      records: roles,
      rules: { list: 'list_roles', get: 'get_role' },
      list: ({ query }) => roles.list({ domain_id: query['domain_id'] ?? '' }),
      creates: true,
      changes: true,
    }),
    ...inferenceRoutes(options),
    inferencesRoute(roles),
  ];
};

const named = (request: FastifyRequest, { id, name }: RoleDocument) => ({
  id,
  name,
  links: linkTo(request, `roles/${id}`),
});

const inference = (request: FastifyRequest, prior: RoleDocument, implies: unknown) => ({
  role_inference: { prior_role: named(request, prior), implies },
  links: linkTo(request, `roles/${prior.id}/implies`),
});

const impliedBy = async (roles: RecordReader<RoleDocument>, request: FastifyRequest, prior: RoleDocument) =>
  (await roles.findMany(prior.implies)).map((role) => named(request, role));

const mayRead = (request: FastifyRequest): void => allow(request, 'get_role', { domainId: ownDomain(request) });

function inferenceRoutes({ ask, directory: { roles } }: IdentityOptions): Route[] {
  const path = '/v3/roles/{role}/implies/{implied}';
  const pair = async ({ role, implied }: { role: string; implied: string }) => ({
    prior: await roles.get(role),
    other: await roles.get(implied),
  });
  const setImplied = async (request: FastifyRequest, params: { role: string; implied: string }, implies: boolean) => {
    await ask('identity', identityImplySet, { data: { caller: identityCallerOf(request), ...params, implies } });
  };
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
        await setImplied(request, params, true);
        const { prior, other } = await pair(params);
        return inference(request, prior, named(request, other));
      },
    }),
    route({
      method: 'DELETE',
      path,
      summary: 'End that a role implies another.',
      handle: ({ params, request }) => setImplied(request, params, false),
    }),
  ];
}

const inferencesRoute = (roles: RecordReader<RoleDocument>): Route =>
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
