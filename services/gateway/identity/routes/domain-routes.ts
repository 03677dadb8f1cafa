/** Domains: separate sets of users and projects. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { DomainDocument } from '../directory/documents.ts';
import { defaultDomain } from '../principals.ts';
import { removeProject } from './project-routes.ts';
import { removeUser } from './user-routes.ts';
import {
  accessOf,
  allow,
  describeKind,
  keystoneId,
  pageOfList,
  nameField,
  ownDomain,
  paramsOf,
  readObject,
  rowSchema,
  refuseChange,
  objectForm,
  tagsField,
  textField,
  type IdentityOptions,
  type IdentityRoutes,
} from './shape.ts';

const fields = {
  name: nameField(64),
  description: textField.optional(),
  enabled: z.boolean().optional(),
  tags: tagsField.optional(),
};
const changes = { ...fields, name: fields.name.optional() };

export const domainSchema = rowSchema({
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  tags: z.array(z.string()).optional(),
  options: z.looseObject({}).optional(),
}).meta({ id: 'Domain' });
const described = describeKind({
  kind: 'domain',
  plural: 'domains',
  row: domainSchema,
  fields,
  changes,
  filters: ['name', 'enabled'],
});

const rowOf = (request: FastifyRequest, { id, name, description, enabled, tags, extra }: DomainDocument) =>
  objectForm(request, 'domains', {
    id,
    name,
    description: description ?? '',
    enabled,
    tags: [...tags],
    options: {},
    extra,
  });

export const domainTaken = (name: string): string =>
  `it is not permitted to have two projects acting as domains with the same name: ${name}.`;

/** `/v3/domains` */
export const domainRoutes: IdentityRoutes = (scope, options) => {
  const { domains } = options.directory;

  scope.get('/v3/domains', described.lists, async (request) => {
    const own = ownDomain(request);
    if (own === undefined) allow(request, 'list_domains');
    const rows = own === undefined ? await domains.list() : [await domains.get(own)];
    return pageOfList(request, 'domains', {
      rows: rows.map((row) => rowOf(request, row)),
      filters: ['name', 'enabled'],
    });
  });

  scope.post('/v3/domains', described.creates, async (request, reply) => {
    allow(request, 'create_domain');
    const { known, extra } = readObject(request, 'domain', fields);
    const domain = await domains.insert(
      {
        id: keystoneId(options.newId),
        name: known.name,
        description: known.description ?? '',
        enabled: known.enabled ?? true,
        tags: known.tags ?? [],
        extra,
      },
      domainTaken(known.name),
    );
    return reply.code(201).send({ domain: rowOf(request, domain) });
  });

  scope.get('/v3/domains/:id', described.shows, async (request) => {
    const { id = '' } = paramsOf(request);
    const domain = await domains.get(id);
    const { user, project } = accessOf(request);
    const own = user.domain_id === id || project?.domain_id === id;
    allow(request, 'get_domain', { domainId: id, ...(own && { userId: user.id }) });
    return { domain: rowOf(request, domain) };
  });

  scope.patch('/v3/domains/:id', described.updates, async (request) => {
    const { id = '' } = paramsOf(request);
    await domains.get(id);
    allow(request, 'update_domain');
    const { known, extra } = readObject(request, 'domain', changes);
    refuseChange(request, 'domain', { id });
    if (id === defaultDomain.id && known.enabled === false) {
      throw new AnnealError('Forbidden', 'Cannot disable the default domain.');
    }
    const domain = await domains.update(
      id,
      (present) => ({ ...present, ...known, extra: { ...present.extra, ...extra } }),
      domainTaken(known.name ?? ''),
    );
    return { domain: rowOf(request, domain) };
  });

  scope.delete('/v3/domains/:id', described.removes, async (request, reply) => {
    const { id = '' } = paramsOf(request);
    const domain = await domains.get(id);
    allow(request, 'delete_domain');
    if (domain.enabled) {
      throw new AnnealError('Forbidden', 'Cannot delete a domain that is enabled, please disable it first.');
    }
    await removeDomain(options, id);
    return reply.code(204).send();
  });
};

/** Removes a domain with everything in it. A repetition after a crash removes the rest. */
export async function removeDomain(options: IdentityOptions, domain_id: string): Promise<void> {
  const { domains, projects, users, groups, roles } = options.directory;
  const inside = await projects.list({ domain_id });
  for (const project of inside) await removeProject(options, project);
  for (const user of await users.list({ domain_id })) await removeUser(options, user.id);
  for (const { id } of await groups.list({ domain_id })) await groups.remove(id);
  for (const { id } of await roles.list({ domain_id })) await roles.remove(id);
  await domains.remove(domain_id);
}
