/** Domains, services, endpoints and regions as resources. */
import { endpointFields, nameField, regionId, textField } from '@anneal/contracts/calls/identity-fields.ts';
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { catalogServices } from '@anneal/directory/own-catalog.ts';
import type { Directory } from '../directory/directory.ts';
import type { RegionDocument } from '@anneal/directory/documents.ts';
import { checkRegion, removeRegion, removeService } from '../objects/catalog.ts';
import { domainTaken } from '../objects/domains.ts';
import { removeDomain } from '../objects/removal.ts';
import { insertOwn, needsNew, type IdentityKind } from './kind.ts';
import { flagField, fieldsGiven } from './objects.ts';

const domainFields = z.object({ name: nameField(64), description: textField.optional(), enabled: flagField });

/** `OS::Keystone::Domain`. Its deletion removes what is in the domain. */
export const domainKind: IdentityKind = {
  owns: async ({ directory }, id) => (await directory.domains.find(id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await directory.domains.find(id)) !== undefined,
  remove: (options, id) => removeDomain(options, id),
  async apply({ directory: { domains } }, wish) {
    const { id, before, applies } = wish;
    const { name, description, enabled } = fieldsGiven(domainFields, wish, 'The domain');
    const taken = domainTaken(name);
    const known = await domains.find(id);
    if (before && !known) return needsNew(`The domain ${name} was deleted.`);
    const wanted = { name, description: description ?? '', enabled: enabled ?? true };
    if (!known) await insertOwn(domains, { id, ...wanted, tags: [], extra: {} }, { name, taken });
    else {
      const change = {
        ...(applies('name') && { name }),
        ...(applies('description') && { description: wanted.description }),
        ...(applies('enabled') && { enabled: wanted.enabled }),
      };
      await domains.update(id, (present) => ({ ...present, ...change }), taken);
    }
    return { kind: 'complete', physical_id: id, attributes: {} };
  },
};

const serviceFields = z.object({
  name: z.string().max(255),
  type: nameField(255),
  description: textField.optional(),
  enabled: flagField,
});

/** `OS::Keystone::Service`. Its deletion removes its endpoints. */
export const catalogServiceKind: IdentityKind = {
  owns: async ({ directory }, id) => (await directory.services.find(id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await directory.services.find(id)) !== undefined,
  remove: ({ directory }, id) => removeService(directory, id),
  async apply({ directory: { services } }, wish) {
    const { id, before } = wish;
    const { name, type, description, enabled } = fieldsGiven(serviceFields, wish, 'The service');
    const wanted = { name, type, description: description ?? null, enabled: enabled ?? true };
    const known = await services.find(id);
    if (before && !known) return needsNew(`The service ${name} was deleted.`);
    if (known) await services.update(id, (present) => ({ ...present, ...wanted }));
    else await insertOwn(services, { id, ...wanted, extra: {} }, { name, taken: 'the id is in use.' });
    return { kind: 'complete', physical_id: id, attributes: {} };
  },
};

const endpointResourceFields = z.object({
  name: z.string().max(255),
  service: z.string(),
  interface: endpointFields.interface,
  url: endpointFields.url,
  region: regionId.nullish(),
  enabled: flagField,
});

/** The id of the service with this id, name or type. @throws AnnealError InvalidRequest */
async function serviceId({ services }: Directory, given: string): Promise<string> {
  const all = [...catalogServices, ...(await services.list())];
  const found =
    all.find(({ id }) => id === given) ??
    all.find(({ name }) => name === given) ??
    all.find(({ type }) => type === given);
  if (found) return found.id;
  throw new AnnealError(
    'InvalidRequest',
    `Could not find service: ${given}. Name one that exists, by its id, name or type.`,
  );
}

/** `OS::Keystone::Endpoint`. */
export const endpointKind: IdentityKind = {
  owns: async ({ directory }, id) => (await directory.endpoints.find(id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await directory.endpoints.find(id)) !== undefined,
  remove: ({ directory }, id) => directory.endpoints.remove(id),
  async apply({ directory, region: home }, wish) {
    const { id, before } = wish;
    const { name, service, url, region, enabled, ...rest } = fieldsGiven(endpointResourceFields, wish, 'The endpoint');
    const { endpoints } = directory;
    const region_id = region ?? null;
    await checkRegion(directory, region_id, home);
    const wanted = {
      service_id: await serviceId(directory, service),
      interface: rest.interface,
      url,
      region_id,
      enabled: enabled ?? true,
      extra: { name },
    };
    const known = await endpoints.find(id);
    if (before && !known) return needsNew(`The endpoint ${name} was deleted.`);
    if (known) await endpoints.update(id, (present) => ({ ...present, ...wanted }));
    else await insertOwn(endpoints, { id, ...wanted }, { name, taken: 'the id is in use.' });
    return { kind: 'complete', physical_id: id, attributes: {} };
  },
};

const regionFields = z.object({
  id: regionId.nullish(),
  parent_region: regionId.nullish(),
  description: z.string().max(65_535).nullish(),
  enabled: flagField,
});

/** The region that the resource created. A region may have an id of its own, which other regions had before. */
const regionOfResource = async ({ regions }: Directory, by: string): Promise<RegionDocument | undefined> =>
  (await regions.list()).find((region) => region.by === by);

/** `OS::Keystone::Region`. */
export const regionKind: IdentityKind = {
  owns: async ({ directory }, id) => (await regionOfResource(directory, id)) !== undefined,
  isWhole: async ({ directory }, { id }) => (await regionOfResource(directory, id)) !== undefined,
  async remove({ directory }, id) {
    const region = await regionOfResource(directory, id);
    if (region) await removeRegion(directory, region.id);
  },
  async apply({ directory, region: home }, wish) {
    const { id: by, before } = wish;
    const fields = fieldsGiven(regionFields, wish, 'The region');
    const id = fields.id ?? by;
    const parent_region_id = fields.parent_region ?? null;
    const { regions } = directory;
    const taken = `Duplicate ID, ${id}.`;
    const own = await regionOfResource(directory, by);
    if (before && !own) return needsNew(`The region ${id} was deleted.`);
    if (own && own.id !== id) return needsNew(`The id of the region ${own.id} cannot change.`);
    await checkRegion(directory, parent_region_id, home);
    const wanted = {
      description: fields.description ?? '',
      parent_region_id,
      extra: { enabled: fields.enabled ?? true },
    };
    if (own) await regions.update(id, (present) => ({ ...present, ...wanted }));
    else {
      if (id === home)
        throw new AnnealError('AlreadyExists', `Cannot create the region ${id}: it is that of this server.`);
      await regions.insert({ id, ...wanted, by }, taken);
    }
    return { kind: 'complete', physical_id: id, attributes: {} };
  },
};
