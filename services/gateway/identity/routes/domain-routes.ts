/** Domains: separate sets of users and projects. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Route } from '../../http/route.ts';
import type { DomainDocument } from '@anneal/directory/documents.ts';
import { defaultDomain } from '@anneal/directory/principals.ts';
import { checkedByKind, kindRoutes, patch } from './kind-routes.ts';
import { removeDomain } from './removal.ts';
import {
  accessOf,
  allow,
  keystoneId,
  nameField,
  objectForm,
  ownDomain,
  rowSchema,
  tagsField,
  textField,
  type IdentityOptions,
} from './shape.ts';

const fields = {
  name: nameField(64),
  description: textField.optional(),
  enabled: z.boolean().optional(),
  tags: tagsField.optional(),
};

export const domainSchema = rowSchema({
  name: z.string(),
  description: z.string(),
  enabled: z.boolean(),
  tags: z.array(z.string()).optional(),
  options: z.looseObject({}).optional(),
}).meta({ id: 'Domain' });

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
export const domainRoutes = (options: IdentityOptions): Route[] =>
  kindRoutes({
    kind: 'domain',
    plural: 'domains',
    path: '/v3/domains/{id}',
    row: domainSchema,
    form: rowOf,
    fields,
    filters: ['name', 'enabled'],
    records: options.directory.domains,
    rules: { ...checkedByKind, get: 'get_domain', update: 'update_domain', delete: 'delete_domain' },
    target: ({ id }, { request }) => {
      const { user, project } = accessOf(request);
      return { domainId: id, ...([user.domain_id, project?.domain_id].includes(id) && { userId: user.id }) };
    },
    fixed: ({ id }) => ({ id }),
    list: ({ request }) => domainsFor(request, options),
    create: (given, { request }) => createDomain(request, options, given),
    change: (given, { id }) => changeDomain(options, id, given),
    remove: (domain) => deleteDomain(options, domain),
  });

/** All domains, or that of the caller's scope. @throws AnnealError Forbidden */
export async function domainsFor(
  request: FastifyRequest,
  { directory: { domains } }: IdentityOptions,
): Promise<DomainDocument[]> {
  const own = ownDomain(request);
  if (own !== undefined) return [await domains.get(own)];
  allow(request, 'list_domains');
  return domains.list();
}

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

/** @throws AnnealError Forbidden for disabling the default domain, AlreadyExists */
export async function changeDomain(
  { directory: { domains } }: IdentityOptions,
  id: string,
  change: DomainFields & { readonly name?: string },
): Promise<DomainDocument> {
  if (id === defaultDomain.id && change.enabled === false) {
    throw new AnnealError('Forbidden', 'Cannot disable the default domain.');
  }
  return patch(domains, { id, taken: domainTaken(change.name ?? '') }, change);
}

/** @throws AnnealError Forbidden for a domain that is enabled */
export async function deleteDomain(options: IdentityOptions, { id, enabled }: DomainDocument): Promise<void> {
  if (enabled) {
    throw new AnnealError('Forbidden', 'Cannot delete a domain that is enabled, please disable it first.');
  }
  await removeDomain(options, id);
}
