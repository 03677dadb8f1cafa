/**
 * Services, endpoints and regions. Anneal's own follow the address of this server and cannot be changed; the operator
 * adds others, which every token's catalog lists.
 */
import { endpointFields, regionFields, serviceFields } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { catalogEndpoints, catalogServices } from '@anneal/directory/own-catalog.ts';
import type { Document } from '@anneal/store/port.ts';
import type { Directory } from '../directory/directory.ts';
import type { Records } from '../directory/records.ts';
import { patch, serveKind, type ObjectQuestion, type ServedKind } from './kind.ts';
import { idTaken, insertNew, type IdentityParts } from './parts.ts';

/** The parts of a kind of which Anneal has objects of its own, with these ids. */
const withOwn = <T extends Document>(title: string, records: Records<T>, own: readonly string[]) => {
  const change = 'change_catalog';
  return {
    title,
    records,
    rules: { create: change, update: change, delete: change } as const,
    async find({ id }: ObjectQuestion): Promise<T> {
      if (!own.includes(id)) return records.get(id);
      throw new AnnealError(
        'Forbidden',
        `Cannot change the ${title} ${id}: it follows from the address of this server.`,
      );
    },
  };
};

/** Serves the services of the catalog. */
export const serviceObjects = ({ directory }: IdentityParts): ServedKind => {
  const { services } = directory;
  const own = catalogServices.map(({ id }) => id);
  return serveKind({
    ...withOwn('service', services, own),
    fields: serviceFields,
    create: ({ name, type, description = null, enabled = true, extra }, { id }) =>
      insertNew(services, { id, name: name ?? '', type, description, enabled, extra }, idTaken),
    change: ({ name, ...given }, { id }) => patch(services, { id }, { ...given, ...(name != null && { name }) }),
    remove: ({ id }) => removeService(directory, id),
  });
};

/** Removes a service. Its endpoints first: a repetition after a crash removes the rest. */
export async function removeService({ services, endpoints }: Directory, id: string): Promise<void> {
  for (const each of await endpoints.list({ service_id: id })) await endpoints.remove(each.id);
  await services.remove(id);
}

/** Serves the endpoints of the catalog. */
export const endpointObjects = ({ directory, region: home }: IdentityParts): ServedKind => {
  const { endpoints } = directory;
  const own = catalogEndpoints({ base: '', region: home }).map(({ id }) => id);
  return serveKind({
    ...withOwn('endpoint', endpoints, own),
    fields: endpointFields,
    async create({ region, region_id: named, enabled = true, ...given }, { id }) {
      await checkService(directory, given.service_id);
      const region_id = await regionOf(directory, named ?? region, { home, mayAdd: named == null });
      await insertNew(endpoints, { id, ...given, region_id, enabled }, idTaken);
    },
    async change({ region, region_id: named, ...given }, { id }) {
      if (given.service_id !== undefined) await checkService(directory, given.service_id);
      const moves = region !== undefined || named !== undefined;
      const region_id = await regionOf(directory, named ?? region, { home, mayAdd: named == null });
      await patch(endpoints, { id }, { ...given, ...(moves && { region_id }) });
    },
  });
};

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

/** Serves the regions of the catalog, whose ids clients may choose. */
export const regionObjects = ({ directory, region: home }: IdentityParts): ServedKind => {
  const { regions } = directory;
  return serveKind({
    ...withOwn('region', regions, [home]),
    fields: regionFields,
    async create({ description, parent_region_id = null, extra }, { id }) {
      if (id === home)
        throw new AnnealError('AlreadyExists', `Conflict occurred attempting to store region - ${takenRegion(id)}`);
      await checkRegion(directory, parent_region_id, home);
      await regions.insert({ id, description: description ?? '', parent_region_id, extra }, takenRegion(id));
    },
    async change({ description, ...given }, { id }) {
      await checkRegion(directory, given.parent_region_id, home);
      await patch(regions, { id }, { ...given, ...(description !== undefined && { description: description ?? '' }) });
    },
    remove: ({ id }) => removeRegion(directory, id),
  });
};

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
