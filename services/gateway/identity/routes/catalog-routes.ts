/**
 * Services, endpoints and regions. Anneal's own follow the address of this server and cannot be changed; the operator
 * adds others, which every token's catalog lists.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { isPlainName, plainName } from '@anneal/contracts/plain-name.ts';
import type { Document, Draft } from '@anneal/store/port.ts';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl } from '../../http/base-url.ts';
import { route, type Route } from '../../http/route.ts';
import { catalogEndpoints, catalogServices } from '../catalog.ts';
import type { RegionDocument } from '@anneal/directory/documents.ts';
import type { Directory } from '../directory/directory.ts';
import type { Records } from '../directory/records.ts';
import { wrappedBody, givenIn, kindRoutes, patch, type KindInput, type ObjectAction } from './kind-routes.ts';
import { allow, keystoneId, nameField, objectForm, rowSchema, textField, type IdentityOptions } from './shape.ts';

type CatalogOptions = IdentityOptions & { readonly region: string };

const serviceFields = {
  name: z.string().max(255).nullish(),
  type: nameField(255),
  description: textField.optional(),
  enabled: z.boolean().optional(),
};
export const regionId = z.string().max(255).refine(isPlainName, plainName);
const regionFields = {
  id: regionId.optional(),
  description: textField.optional(),
  parent_region_id: z.string().max(255).nullable().optional(),
};
export const endpointFields = {
  service_id: z.string(),
  interface: z.enum(['public', 'internal', 'admin']),
  url: z.url().max(2048),
  region_id: regionId.nullable().optional(),
  /** The older name of `region_id`. Such a region is created with the endpoint. */
  region: regionId.nullable().optional(),
  enabled: z.boolean().optional(),
};

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
  records: Records<T>,
  ownObjects: (request: FastifyRequest) => readonly Draft<T>[],
) => {
  const own = (request: FastifyRequest): T[] => ownObjects(request).map((each) => ({ ...each, version: 0 }) as T);
  const change = 'change_catalog';
  return {
    kind,
    plural: `${kind}s`,
    records,
    rules: { list: `list_${kind}s`, get: `get_${kind}`, create: change, update: change, delete: change } as const,
    list: async ({ request }: Pick<KindInput, 'request'>) => [...own(request), ...(await records.list())],
    async find({ params: { id }, request }: OneInput, action: ObjectAction): Promise<T> {
      const found = own(request).find((each) => each.id === id);
      if (!found) return records.get(id);
      if (action === 'get') return found;
      throw new AnnealError(
        'Forbidden',
        `Cannot change the ${kind} ${id}: it follows from the address of this server.`,
      );
    },
  };
};

function serviceRoutes({ directory, newId }: CatalogOptions): Route[] {
  const { services } = directory;
  return kindRoutes({
    ...withOwn('service', services, () =>
      catalogServices.map((own) => ({ ...own, description: '', enabled: true, extra: {} })),
    ),
    path: '/v3/services/{id}',
    row: serviceSchema,
    form: (request, { id, name, type, description, enabled, extra }) =>
      objectForm(request, 'services', { id, name, type, description: description ?? '', enabled, extra }),
    fields: serviceFields,
    filters: ['name', 'type'],
    create: ({ name, type, description = null, enabled = true, extra }) =>
      services.insert({ id: keystoneId(newId), name: name ?? '', type, description, enabled, extra }, idTaken),
    change: ({ name, ...given }, { id }) => patch(services, { id }, { ...given, ...(name != null && { name }) }),
    remove: ({ id }) => removeService(directory, id),
  });
}

const idTaken = 'the id is in use.';

/** Removes a service. Its endpoints first: a repetition after a crash removes the rest. */
export async function removeService({ services, endpoints }: Directory, id: string): Promise<void> {
  for (const each of await endpoints.list({ service_id: id })) await endpoints.remove(each.id);
  await services.remove(id);
}

function endpointRoutes({ directory, newId, region: home }: CatalogOptions): Route[] {
  const { endpoints } = directory;
  return kindRoutes({
    ...withOwn('endpoint', endpoints, (request) =>
      catalogEndpoints({ base: baseUrl(request), region: home }).map((own) => ({
        ...own,
        region_id: home,
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
    async create({ region, region_id: named, enabled = true, ...given }) {
      await checkService(directory, given.service_id);
      const region_id = await regionOf(directory, named ?? region, { home, mayAdd: named == null });
      return endpoints.insert({ id: keystoneId(newId), ...given, region_id, enabled }, idTaken);
    },
    async change({ region, region_id: named, ...given }, { id }) {
      if (given.service_id !== undefined) await checkService(directory, given.service_id);
      const moves = region !== undefined || named !== undefined;
      const region_id = await regionOf(directory, named ?? region, { home, mayAdd: named == null });
      return patch(endpoints, { id }, { ...given, ...(moves && { region_id }) });
    },
  });
}

/** @throws AnnealError InvalidRequest, as in Keystone, for a service that does not exist */
async function checkService({ services }: Directory, id: string): Promise<void> {
  if (catalogServices.some((own) => own.id === id) || (await services.find(id))) return;
  throw new AnnealError('InvalidRequest', `Could not find service: ${id}.`);
}

/** The region of an endpoint. `mayAdd`: an unknown one is created. @throws AnnealError InvalidRequest for another */
async function regionOf(
  { regions }: Directory,
  id: string | null = null,
  { home, mayAdd }: { home: string; mayAdd: boolean },
): Promise<string | null> {
  if (id === null || id === home || (await regions.find(id))) return id;
  if (!mayAdd) throw new AnnealError('InvalidRequest', `Could not find region: ${id}.`);
  await regions.insert({ id, description: '', parent_region_id: null, extra: {} }, takenRegion(id));
  return id;
}

const takenRegion = (id: string): string => `Duplicate ID, ${id}.`;

function regionRoutes({ directory, newId, region: home }: CatalogOptions): Route[] {
  const { regions } = directory;
  type Wanted = Partial<z.output<z.ZodObject<typeof regionFields>>> & Pick<RegionDocument, 'extra'>;
  const create = async ({ id = '', description, parent_region_id = null, extra }: Wanted): Promise<RegionDocument> => {
    if (id === home)
      throw new AnnealError('AlreadyExists', `Conflict occurred attempting to store region - ${takenRegion(id)}`);
    await checkRegion(directory, parent_region_id, home);
    const draft = { id: id || keystoneId(newId), description: description ?? '', parent_region_id, extra };
    return regions.insert(draft, takenRegion(draft.id));
  };
  const form = (request: FastifyRequest, { id, description, parent_region_id, extra }: RegionDocument) =>
    objectForm(request, 'regions', { id, description, parent_region_id, extra });
  const own = [{ id: home, description: '', parent_region_id: null, extra: {} }];
  return [
    ...kindRoutes({
      ...withOwn('region', regions, () => own),
      path: '/v3/regions/{id}',
      row: regionSchema,
      form,
      fields: regionFields,
      filters: ['parent_region_id'],
      create,
      async change({ description, ...given }, { id }) {
        await checkRegion(directory, given.parent_region_id, home);
        return patch(
          regions,
          { id },
          { ...given, ...(description !== undefined && { description: description ?? '' }) },
        );
      },
      remove: ({ id }) => removeRegion(directory, id),
    }),
    route({
      method: 'PUT',
      path: '/v3/regions/{id}',
      summary: 'Create a region with this id.',
      body: wrappedBody('region', z.looseObject(regionFields)),
      status: 201,
      answer: z.object({ region: regionSchema }),
      handle: async ({ params: { id }, body, request }) => {
        allow(request, 'change_catalog');
        const given = givenIn<Wanted>(regionFields, body['region']);
        if (given.id !== undefined && given.id !== id) {
          throw new AnnealError('InvalidRequest', 'Conflicting region IDs specified: the address and the body differ.');
        }
        return { region: form(request, await create({ ...given, id })) };
      },
    }),
  ];
}

/** @throws AnnealError NotFound for a region that is neither this server's nor an added one */
export async function checkRegion({ regions }: Directory, id: string | null | undefined, home: string): Promise<void> {
  if (id == null || id === home || (await regions.find(id))) return;
  throw new AnnealError('NotFound', `Could not find region: ${id}.`);
}

/** @throws AnnealError Forbidden for a region that is in use */
export async function removeRegion({ regions, endpoints }: Directory, id: string): Promise<void> {
  const [used, below] = await Promise.all([endpoints.list(), regions.list()]);
  if (used.some(({ region_id }) => region_id === id) || below.some(({ parent_region_id: up }) => up === id)) {
    throw new AnnealError(
      'Forbidden',
      `Unable to delete region ${id} because it or its child regions have associated endpoints.`,
    );
  }
  await regions.remove(id);
}
