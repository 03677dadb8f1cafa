/**
 * Services, endpoints and regions. Anneal's own follow the address of this server and cannot be changed; the operator
 * adds others, which every token's catalog lists.
 */
import { endpointFields, regionFields, serviceFields } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { keystoneId, type RegionDocument } from '@anneal/directory/documents.ts';
import { catalogEndpoints, catalogServices } from '@anneal/directory/own-catalog.ts';
import type { RecordReader } from '@anneal/directory/reader.ts';
import type { Document, Draft } from '@anneal/store/port.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl } from '../../http/base-url.ts';
import { route, type Route } from '../../http/route.ts';
import { createObject } from './changes.ts';
import { kindRoutes, wrappedBody, type KindInput } from './kind-routes.ts';
import { allow, objectForm, rowSchema, type IdentityOptions } from './shape.ts';

type CatalogOptions = IdentityOptions & { readonly region: string };

const serviceSchema = rowSchema({
  name: z.string(),
  type: z.string(),
  description: z.string(),
  enabled: z.boolean(),
}).meta({ id: 'Service' });
const endpointSchema = rowSchema({
  service_id: z.string(),
  interface: z.enum(['public', 'internal', 'admin']),
  url: z.string(),
  region_id: z.string().nullable(),
  region: z.string().nullable(),
  enabled: z.boolean(),
}).meta({ id: 'Endpoint' });
const regionSchema = rowSchema({ description: z.string(), parent_region_id: z.string().nullable() }).meta({
  id: 'Region',
});

/** `/v3/services`, `/v3/endpoints`, `/v3/regions` */
export const catalogRoutes = (options: CatalogOptions): Route[] => [
  ...serviceRoutes(options),
  ...endpointRoutes(options),
  ...regionRoutes(options),
];

type OneInput = Pick<KindInput, 'request'> & { readonly params: { readonly id: string } };

/** The parts of a kind of which Anneal has objects of its own. */
const withOwn = <T extends Document, K extends 'service' | 'endpoint' | 'region'>(
  kind: K,
  records: RecordReader<T>,
  ownObjects: (request: FastifyRequest) => readonly Draft<T>[],
) => {
  const own = (request: FastifyRequest): T[] => ownObjects(request).map((each) => ({ ...each, version: 0 }) as T);
  return {
    kind,
    plural: `${kind}s`,
    records,
    rules: { list: `list_${kind}s`, get: `get_${kind}` } as const,
    list: async ({ request }: Pick<KindInput, 'request'>) => [...own(request), ...(await records.list())],
    find: async ({ params: { id }, request }: OneInput): Promise<T> =>
      own(request).find((each) => each.id === id) ?? records.get(id),
    changes: true as const,
  };
};

const serviceRoutes = (options: CatalogOptions): Route[] =>
  kindRoutes(options, {
    ...withOwn('service', options.directory.services, () =>
      catalogServices.map((own) => ({ ...own, description: '', enabled: true, extra: {} })),
    ),
    path: '/v3/services/{id}',
    row: serviceSchema,
    form: (request, { id, name, type, description, enabled, extra }) =>
      objectForm(request, 'services', { id, name, type, description: description ?? '', enabled, extra }),
    fields: serviceFields,
    filters: ['name', 'type'],
    creates: true,
  });

const endpointRoutes = (options: CatalogOptions): Route[] =>
  kindRoutes(options, {
    ...withOwn('endpoint', options.directory.endpoints, (request) =>
      catalogEndpoints({ base: baseUrl(request), region: options.region }).map((own) => ({
        ...own,
        region_id: options.region,
        enabled: true,
        extra: {},
      })),
    ),
    path: '/v3/endpoints/{id}',
    row: endpointSchema,
    form: (request, { id, service_id, interface: side, url, region_id, enabled, extra }) => {
      const row = { id, service_id, interface: side, url, region_id, region: region_id, enabled };
      return objectForm(request, 'endpoints', { ...row, extra });
    },
    fields: endpointFields,
    filters: ['service_id', 'interface', 'region_id', 'region'],
    creates: true,
  });

function regionRoutes(options: CatalogOptions): Route[] {
  const { directory, newId, region: home } = options;
  const { regions } = directory;
  const create = async (request: FastifyRequest, id: string, fields: JsonObject): Promise<RegionDocument> => {
    await createObject(options, request, { kind: 'region', id, fields });
    return regions.get(id);
  };
  const form = (request: FastifyRequest, { id, description, parent_region_id, extra }: RegionDocument) =>
    objectForm(request, 'regions', { id, description, parent_region_id, extra });
  const own = [{ id: home, description: '', parent_region_id: null, extra: {} }];
  return [
    ...kindRoutes(options, {
      ...withOwn('region', regions, () => own),
      path: '/v3/regions/{id}',
      row: regionSchema,
      form,
      fields: regionFields,
      filters: ['parent_region_id'],
      creates(fields, { request }) {
        const { id } = fields;
        return create(request, typeof id === 'string' && id !== '' ? id : keystoneId(newId), fields);
      },
    }),
    route({
      method: 'PUT',
      path: '/v3/regions/{id}',
      summary: 'Create a region with this id.',
      body: wrappedBody('region', z.looseObject(regionFields)),
      status: 201,
      answer: z.object({ region: regionSchema }),
      handle: async ({ params: { id }, body: { region: given = {} }, request }) => {
        allow(request, 'change_catalog');
        if (given['id'] !== undefined && given['id'] !== id) {
          throw new AnnealError('InvalidRequest', 'Conflicting region IDs specified: the address and the body differ.');
        }
        return { region: form(request, await create(request, id, given)) };
      },
    }),
  ];
}
