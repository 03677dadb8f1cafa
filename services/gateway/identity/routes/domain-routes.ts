/** Domains: separate sets of users and projects. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { DomainDocument } from '../directory/documents.ts';
import { defaultDomain } from '../principals.ts';
import { removeDomain } from './removal.ts';
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
    const { known, extra } = readObject(request, 'domain', fields);
    const domain = await createDomain(request, options, { ...known, extra });
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
    const { known, extra } = readObject(request, 'domain', changes);
    refuseChange(request, 'domain', { id });
    const domain = await changeDomain(request, options, { id, ...known, extra });
    return { domain: rowOf(request, domain) };
  });

  scope.delete('/v3/domains/:id', described.removes, async (request, reply) => {
    const { id = '' } = paramsOf(request);
    await deleteDomain(request, options, await domains.get(id));
    return reply.code(204).send();
  });
};

interface DomainFields {
  readonly description?: string | null;
  readonly enabled?: boolean;
  readonly tags?: readonly string[];
  readonly extra: JsonObject;
}

/** @throws AnnealError Forbidden for a caller without the right, AlreadyExists when the name is taken */
export function createDomain(
  request: FastifyRequest,
  { directory: { domains }, newId }: IdentityOptions,
  { name, description, enabled = true, tags = [], extra }: DomainFields & { readonly name: string },
): Promise<DomainDocument> {
  allow(request, 'create_domain');
  const draft = { id: keystoneId(newId), name, description: description ?? '', enabled, tags, extra };
  return domains.insert(draft, domainTaken(name));
}

/** @throws AnnealError Forbidden for a caller without the right and for disabling the default domain, AlreadyExists */
export async function changeDomain(
  request: FastifyRequest,
  { directory: { domains } }: IdentityOptions,
  { id, extra, ...change }: DomainFields & { readonly id: string; readonly name?: string },
): Promise<DomainDocument> {
  allow(request, 'update_domain');
  if (id === defaultDomain.id && change.enabled === false) {
    throw new AnnealError('Forbidden', 'Cannot disable the default domain.');
  }
  return domains.update(
    id,
    (present) => ({ ...present, ...change, extra: { ...present.extra, ...extra } }),
    domainTaken(change.name ?? ''),
  );
}

/** @throws AnnealError Forbidden for a caller without the right and for a domain that is enabled */
export async function deleteDomain(
  request: FastifyRequest,
  options: IdentityOptions,
  { id, enabled }: DomainDocument,
): Promise<void> {
  allow(request, 'delete_domain');
  if (enabled) {
    throw new AnnealError('Forbidden', 'Cannot delete a domain that is enabled, please disable it first.');
  }
  await removeDomain(options, id);
}
