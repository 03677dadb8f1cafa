/** Roles, and what they imply. */
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import type { RoleDocument } from '../directory/documents.ts';
import type { Records } from '../directory/records.ts';
import { notAuthorized } from '../identity-policy.ts';
import { fixedRoles, idOfRole } from '../principals.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import {
  allow,
  describeKind,
  keystoneId,
  linkTo,
  pageOfList,
  nameField,
  ownDomain,
  paramsOf,
  readObject,
  rowSchema,
  selfLink,
  refuseChange,
  objectForm,
  textField,
  type IdentityRoutes,
} from './shape.ts';

const fields = {
  name: nameField(255),
  domain_id: z.string().nullable().optional(),
  description: textField.optional(),
  options: z.looseObject({}).optional(),
};
const changes = { ...fields, name: fields.name.optional() };

const isFixed = (id: string): boolean => fixedRoles.some((role) => role.id === id);

export const roleSchema = rowSchema({
  name: z.string(),
  domain_id: z.string().nullable(),
  description: z.string().nullable(),
  options: z.looseObject({}),
}).meta({ id: 'Role' });
const kind = describeKind({
  kind: 'role',
  plural: 'roles',
  row: roleSchema,
  fields,
  changes,
  filters: ['name', 'domain_id'],
});
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
export const roleRoutes: IdentityRoutes = (scope, { directory: { roles, domains }, newId }) => {
  scope.get('/v3/roles', kind.lists, async (request) => {
    allow(request, 'list_roles', { domainId: ownDomain(request) });
    const domain = queryValue(request, 'domain_id') ?? '';
    const rows = (await roles.list({ domain_id: domain })).map((row) => roleRow(request, row));
    return pageOfList(request, 'roles', { rows, filters: ['name'] });
  });

  scope.post('/v3/roles', kind.creates, async (request, reply) => {
    allow(request, 'create_role');
    const { known, extra } = readObject(request, 'role', fields);
    const domain_id = known.domain_id ?? '';
    if (domain_id !== '') await domains.get(domain_id);
    const { name, description = null } = known;
    const role = await roles.insert(
      { id: keystoneId(newId), name, domain_id, description, implies: [], extra },
      taken(name),
    );
    return reply.code(201).send({ role: roleRow(request, role) });
  });

  scope.get('/v3/roles/:role', kind.shows, async (request) => {
    allow(request, 'get_role', { domainId: ownDomain(request) });
    return { role: roleRow(request, await roles.get(paramsOf(request)['role'] ?? '')) };
  });

  scope.patch('/v3/roles/:role', kind.updates, async (request) => {
    const { id, domain_id, name } = await roles.get(paramsOf(request)['role'] ?? '');
    allow(request, 'update_role');
    const { known, extra } = readObject(request, 'role', changes);
    refuseChange(request, 'role', { id, domain_id: domain_id || null });
    refuseFixed(id, 'update');
    const { domain_id: _, options: _options, ...rest } = known;
    const role = await roles.update(
      id,
      (present) => ({ ...present, ...rest, extra: { ...present.extra, ...extra } }),
      taken(known.name ?? name),
    );
    return { role: roleRow(request, role) };
  });

  scope.delete('/v3/roles/:role', kind.removes, async (request, reply) => {
    const { id } = await roles.get(paramsOf(request)['role'] ?? '');
    allow(request, 'delete_role');
    refuseFixed(id, 'delete');
    await roles.remove(id);
    return reply.code(204).send();
  });
  inferenceRoutes(scope, roles);
};

const listsImplied = described({
  summary: 'List the roles that a role implies.',
  answer: inferenceOf(z.array(namedRole)),
});
const createsInference = described({
  summary: 'Make a role imply another.',
  status: 201,
  answer: inferenceOf(namedRole),
});
const listsInferences = described({
  summary: 'List what roles imply.',
  answer: z.object({
    role_inferences: z.array(z.object({ prior_role: namedRole, implies: z.array(namedRole) })),
    links: selfLink,
  }),
});
const checksInference = described({
  summary: 'Check that a role implies another.',
  answer: inferenceOf(namedRole),
  also: { 204: null },
});

function inferenceRoutes(scope: FastifyInstance, roles: Records<RoleDocument>): void {
  const implied = '/v3/roles/:role/implies/:implied';
  const pair = async (request: FastifyRequest) => {
    const { role = '', implied: other = '' } = paramsOf(request);
    return { prior: await roles.get(role), other: await roles.get(other) };
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
  const impliedBy = async (request: FastifyRequest, prior: RoleDocument) =>
    (await roles.findMany(prior.implies)).map((role) => named(request, role));

  scope.get('/v3/roles/:role/implies', listsImplied, async (request) => {
    allow(request, 'get_role', { domainId: ownDomain(request) });
    const prior = await roles.get(paramsOf(request)['role'] ?? '');
    return inference(request, prior, await impliedBy(request, prior));
  });

  scope.route({
    method: ['GET', 'HEAD'],
    url: implied,
    ...checksInference,
    handler: async (request, reply) => {
      allow(request, 'get_role', { domainId: ownDomain(request) });
      const { prior, other } = await pair(request);
      if (!prior.implies.includes(other.id)) {
        throw new AnnealError('NotFound', `${prior.id} does not imply ${other.id}.`);
      }
      return reply.code(request.method === 'HEAD' ? 204 : 200).send(inference(request, prior, named(request, other)));
    },
  });

  scope.put(implied, createsInference, async (request, reply) => {
    allow(request, 'update_role');
    const { prior, other } = await pair(request);
    if (other.id === idOfRole('admin')) throw new AnnealError('Forbidden', `${other.id} cannot be an implied roles.`);
    refuseFixed(prior.id, 'update');
    const all = new Map((await roles.list()).map((role) => [role.id, role]));
    if (impliesRole(all, other.id, prior.id)) {
      throw notAuthorized(`${other.name} implies ${prior.name}, so ${prior.name} cannot imply ${other.name}`);
    }
    await roles.update(prior.id, (present) => ({
      ...present,
      implies: [...new Set([...present.implies, other.id])],
    }));
    return reply.code(201).send(inference(request, prior, named(request, other)));
  });

  scope.delete(implied, described({ summary: 'End that a role implies another.' }), async (request, reply) => {
    allow(request, 'update_role');
    const { prior, other } = await pair(request);
    refuseFixed(prior.id, 'update');
    await roles.update(prior.id, (present) => ({
      ...present,
      implies: present.implies.filter((each) => each !== other.id),
    }));
    return reply.code(204).send();
  });

  scope.get('/v3/role_inferences', listsInferences, async (request) => {
    allow(request, 'list_roles', { domainId: ownDomain(request) });
    const priors = (await roles.list()).filter(({ implies: some }) => some.length > 0);
    const rows = await Promise.all(
      priors.map(async (prior) => ({
        prior_role: named(request, prior),
        implies: await impliedBy(request, prior),
      })),
    );
    return { role_inferences: rows, links: linkTo(request, 'role_inferences') };
  });
}

/** Whether a role implies another, directly or by others. */
function impliesRole(all: ReadonlyMap<string, RoleDocument>, from: string, to: string): boolean {
  return from === to || (all.get(from)?.implies ?? []).some((each) => impliesRole(all, each, to));
}
