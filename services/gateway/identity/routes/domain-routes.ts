/** Domains: separate sets of users and projects. */
import { domainFields } from '@anneal/contracts/calls/identity-fields.ts';
import type { DomainDocument } from '@anneal/directory/documents.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Route } from '../../http/route.ts';
import { accessOf } from '../caller.ts';
import { checkedByKind, kindRoutes } from './kind-routes.ts';
import { allow, objectForm, ownDomain, rowSchema, type IdentityOptions } from './shape.ts';

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

/** `/v3/domains` */
export const domainRoutes = (options: IdentityOptions): Route[] =>
  kindRoutes(options, {
    kind: 'domain',
    plural: 'domains',
    path: '/v3/domains/{id}',
    row: domainSchema,
    form: rowOf,
    fields: domainFields,
    filters: ['name', 'enabled'],
    records: options.directory.domains,
    rules: { ...checkedByKind, get: 'get_domain' },
    target: ({ id }, { request }) => {
      const { user, project } = accessOf(request);
      return { domainId: id, ...([user.domain_id, project?.domain_id].includes(id) && { userId: user.id }) };
    },
    list: ({ request }) => domainsFor(request, options),
    creates: true,
    changes: true,
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
