/**
 * Services, endpoints and regions. Anneal's own follow the address of this server and cannot be changed; the operator
 * adds others, which every token's catalog lists.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import { isPlainName, plainName } from '@anneal/contracts/plain-name.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { baseUrl } from '../../http/base-url.ts';
import { described } from '../../http/document.ts';
import { catalogEndpoints, catalogServices } from '../catalog.ts';
import type { EndpointDocument, RegionDocument, ServiceDocument } from '../directory/documents.ts';
import type { Directory } from '../directory/directory.ts';
import {
  allow,
  describeKind,
  keystoneId,
  linkTo,
  nameField,
  pageOfList,
  paramsOf,
  readObject,
  rowSchema,
  textField,
  type IdentityOptions,
} from './shape.ts';

type Row = JsonObject & { readonly id: string };
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

/** One kind of object: its rows, and the routes that change those of the operator. */
interface Kind {
  readonly rules: readonly [
    'list_services' | 'list_endpoints' | 'list_regions',
    'get_service' | 'get_endpoint' | 'get_region',
  ];
  readonly filters: readonly string[];
  readonly fields: z.ZodRawShape;
  readonly row: z.ZodType;
  /** Anneal's own. */
  readonly own: (request: FastifyRequest) => Row[];
  readonly added: () => Promise<Row[]>;
  readonly create: (request: FastifyRequest, id?: string) => Promise<Row>;
  readonly update: (request: FastifyRequest, id: string) => Promise<Row>;
  readonly remove: (id: string) => Promise<void>;
}

/** `/v3/services`, `/v3/endpoints`, `/v3/regions` */
export function catalogRoutes(scope: FastifyInstance, options: CatalogOptions): void {
  addKind(scope, 'services', servicesOf(options));
  addKind(scope, 'endpoints', endpointsOf(options));
  const regions = regionsOf(options);
  addKind(scope, 'regions', regions);
  const puts = described({
    summary: 'Create a region with this id.',
    body: z.object({ region: z.looseObject(regionFields) }),
    status: 201,
    answer: z.object({ region: regionSchema }),
  });
  scope.put('/v3/regions/:id', puts, async (request, reply) => {
    allow(request, 'change_catalog');
    return created(request, reply, { plural: 'regions', row: await regions.create(request, paramsOf(request)['id']) });
  });
}

const created = (
  request: FastifyRequest,
  reply: FastifyReply,
  { plural, row }: { plural: string; row: Row },
): FastifyReply =>
  reply.code(201).send({ [plural.slice(0, -1)]: { ...row, links: linkTo(request, `${plural}/${row.id}`) } });

function addKind(scope: FastifyInstance, plural: string, kind: Kind): void {
  const singular = plural.slice(0, -1);
  const all = async (request: FastifyRequest): Promise<Row[]> =>
    [...kind.own(request), ...(await kind.added())].map((row) => ({
      ...row,
      links: linkTo(request, `${plural}/${row.id}`),
    }));
  const idOf = (request: FastifyRequest): string => paramsOf(request)['id'] ?? '';
  /** @throws AnnealError Forbidden for one of Anneal's own */
  const changeable = (request: FastifyRequest): string => {
    allow(request, 'change_catalog');
    const id = idOf(request);
    if (!kind.own(request).some((row) => row.id === id)) return id;
    throw new AnnealError(
      'Forbidden',
      `Cannot change the ${singular} ${id}: it follows from the address of this server.`,
    );
  };
  const { row: rowForm, fields, filters } = kind;
  const changes = partial(fields);
  const { lists, creates, shows, updates, removes } = describeKind({
    kind: singular,
    plural,
    row: rowForm,
    fields,
    changes,
    filters,
  });
  scope.get(`/v3/${plural}`, lists, async (request) => {
    allow(request, kind.rules[0]);
    return pageOfList(request, plural, { rows: await all(request), filters: kind.filters });
  });
  scope.get(`/v3/${plural}/:id`, shows, async (request) => {
    allow(request, kind.rules[1]);
    const found = (await all(request)).find((row) => row.id === idOf(request));
    if (!found) throw new AnnealError('NotFound', `Could not find ${singular}: ${idOf(request)}.`);
    return { [singular]: found };
  });
  scope.post(`/v3/${plural}`, creates, async (request, reply) => {
    allow(request, 'change_catalog');
    return created(request, reply, { plural, row: await kind.create(request) });
  });
  scope.patch(`/v3/${plural}/:id`, updates, async (request) => {
    const row = await kind.update(request, changeable(request));
    return { [singular]: { ...row, links: linkTo(request, `${plural}/${row.id}`) } };
  });
  scope.delete(`/v3/${plural}/:id`, removes, async (request, reply) => {
    await kind.remove(changeable(request));
    return reply.code(204).send();
  });
}

const partial = <S extends z.ZodRawShape>(shape: S) => z.object(shape).partial().shape;

const serviceRow = ({ id, name, type, description, enabled, extra }: ServiceDocument): Row => ({
  ...extra,
  id,
  name,
  type,
  description: description ?? '',
  enabled,
});

function servicesOf({ directory, newId }: CatalogOptions): Kind {
  const { services } = directory;
  return {
    rules: ['list_services', 'get_service'],
    filters: ['name', 'type'],
    fields: serviceFields,
    row: serviceSchema,
    own: () => catalogServices.map((service) => ({ ...service, description: '', enabled: true })),
    added: async () => (await services.list()).map(serviceRow),
    async create(request) {
      const { known, extra } = readObject(request, 'service', serviceFields);
      const { name, type, description = null, enabled = true } = known;
      return serviceRow(
        await services.insert(
          { id: keystoneId(newId), name: name ?? '', type, description, enabled, extra },
          'the id is in use.',
        ),
      );
    },
    async update(request, id) {
      const { known, extra } = readObject(request, 'service', partial(serviceFields));
      return serviceRow(
        await services.update(id, (present) => ({
          ...present,
          ...known,
          name: known.name ?? present.name,
          extra: { ...present.extra, ...extra },
        })),
      );
    },
    async remove(id) {
      await services.get(id);
      await removeService(directory, id);
    },
  };
}

/** Removes a service. Its endpoints first: a repetition after a crash removes the rest. */
export async function removeService({ services, endpoints }: Directory, id: string): Promise<void> {
  for (const each of await endpoints.list({ service_id: id })) await endpoints.remove(each.id);
  await services.remove(id);
}

const endpointRow = ({ id, service_id, interface: side, url, region_id, enabled, extra }: EndpointDocument) => ({
  ...extra,
  id,
  service_id,
  interface: side,
  url,
  region_id,
  region: region_id,
  enabled,
});

const ownEndpoints = (request: FastifyRequest, home: string) =>
  catalogEndpoints({ base: baseUrl(request), region: home }).map((endpoint) => ({
    ...endpoint,
    region: home,
    region_id: home,
    enabled: true,
  }));

function endpointsOf({ directory, newId, region: home }: CatalogOptions): Kind {
  const { endpoints } = directory;
  return {
    rules: ['list_endpoints', 'get_endpoint'],
    filters: ['service_id', 'interface', 'region_id', 'region'],
    fields: endpointFields,
    row: endpointSchema,
    own: (request) => ownEndpoints(request, home),
    added: async () => (await endpoints.list()).map(endpointRow),
    async create(request) {
      const { known, extra } = readObject(request, 'endpoint', endpointFields);
      await checkService(directory, known.service_id);
      const region_id = await regionOf(directory, known, home);
      const { service_id, interface: side, url, enabled = true } = known;
      const draft = { id: keystoneId(newId), service_id, interface: side, url, region_id, enabled, extra };
      return endpointRow(await endpoints.insert(draft, 'the id is in use.'));
    },
    async update(request, id) {
      const { known, extra } = readObject(request, 'endpoint', partial(endpointFields));
      if (known.service_id !== undefined) await checkService(directory, known.service_id);
      const { region: _older, region_id: _newer, ...rest } = known;
      const moves = known.region !== undefined || known.region_id !== undefined;
      const region_id = moves ? await regionOf(directory, known, home) : undefined;
      return endpointRow(
        await endpoints.update(id, (present) => ({
          ...present,
          ...rest,
          ...(region_id !== undefined && { region_id }),
          extra: { ...present.extra, ...extra },
        })),
      );
    },
    async remove(id) {
      await endpoints.get(id);
      await endpoints.remove(id);
    },
  };
}

/** @throws AnnealError InvalidRequest, as in Keystone, for a service that does not exist */
async function checkService({ services }: Directory, id: string): Promise<void> {
  if (catalogServices.some((own) => own.id === id) || (await services.find(id))) return;
  throw new AnnealError('InvalidRequest', `Could not find service: ${id}.`);
}

/** The region of an endpoint. @throws AnnealError InvalidRequest for an unknown `region_id` */
async function regionOf(
  { regions }: Directory,
  { region_id, region }: { region_id?: string | null | undefined; region?: string | null | undefined },
  home: string,
): Promise<string | null> {
  const id = region_id ?? region ?? null;
  if (id === null || id === home || (await regions.find(id))) return id;
  if (region_id != null) throw new AnnealError('InvalidRequest', `Could not find region: ${id}.`);
  await regions.insert({ id, description: '', parent_region_id: null, extra: {} }, takenRegion(id));
  return id;
}

const takenRegion = (id: string): string => `Duplicate ID, ${id}.`;

const regionRow = ({ id, description, parent_region_id, extra }: RegionDocument): Row => ({
  ...extra,
  id,
  description,
  parent_region_id,
});

function regionsOf({ directory, newId, region: home }: CatalogOptions): Kind {
  const { regions } = directory;
  return {
    rules: ['list_regions', 'get_region'],
    filters: ['parent_region_id'],
    fields: regionFields,
    row: regionSchema,
    own: () => [{ id: home, description: '', parent_region_id: null }],
    added: async () => (await regions.list()).map(regionRow),
    async create(request, named) {
      const { known, extra } = readObject(request, 'region', regionFields);
      const { description, parent_region_id = null } = known;
      if (named !== undefined && known.id !== undefined && known.id !== named) {
        throw new AnnealError('InvalidRequest', 'Conflicting region IDs specified: the address and the body differ.');
      }
      const id = named ?? (known.id === undefined || known.id === '' ? keystoneId(newId) : known.id);
      if (id === home)
        throw new AnnealError('AlreadyExists', `Conflict occurred attempting to store region - ${takenRegion(id)}`);
      await checkRegion(directory, parent_region_id, home);
      return regionRow(
        await regions.insert({ id, description: description ?? '', parent_region_id, extra }, takenRegion(id)),
      );
    },
    async update(request, id) {
      const { known, extra } = readObject(request, 'region', partial(regionFields));
      const { id: _, description, ...rest } = known;
      await checkRegion(directory, rest.parent_region_id, home);
      return regionRow(
        await regions.update(id, (present) => ({
          ...present,
          ...rest,
          ...(description !== undefined && { description: description ?? '' }),
          extra: { ...present.extra, ...extra },
        })),
      );
    },
    async remove(id) {
      await regions.get(id);
      await removeRegion(directory, id);
    },
  };
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
