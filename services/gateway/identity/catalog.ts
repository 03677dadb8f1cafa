/** The catalog: the address of each API, derived from the address of the request, and what the operator added. */
import { catalogEndpoints, catalogServices, pathsFor } from '@anneal/directory/own-catalog.ts';
import type { DirectoryReader } from '@anneal/directory/reader.ts';
import type { EndpointDocument, ServiceDocument } from '@anneal/directory/documents.ts';

/** The services and endpoints that the operator added. */
export interface AddedCatalog {
  readonly services: readonly ServiceDocument[];
  readonly endpoints: readonly EndpointDocument[];
}

/** Reads what the operator added. One revision of the directory is read once. */
export class AddedCatalogs {
  readonly #directory: DirectoryReader;
  #known: { readonly revision: number; readonly added: AddedCatalog } | undefined;

  constructor(directory: DirectoryReader) {
    this.#directory = directory;
  }

  async read(): Promise<AddedCatalog> {
    const directory = this.#directory;
    const revision = await directory.revision.read();
    if (this.#known?.revision === revision) return this.#known.added;
    const [services, endpoints] = await Promise.all([directory.services.list(), directory.endpoints.list()]);
    const added = { services, endpoints };
    this.#known = { revision, added };
    return added;
  }
}

/** The address of an added endpoint for a token. Undefined when it needs a project or a user that the token lacks. */
function filled(url: string, values: Readonly<Record<string, string | null>>): string | undefined {
  let missing = false;
  const text = url.replaceAll(/[$%]\((tenant_id|project_id|user_id)\)s/g, (_all, name: string) => {
    const value = values[name];
    if (value == null) missing = true;
    return value ?? '';
  });
  return missing ? undefined : text;
}

/** The catalog in a token. An API whose address needs a project is not listed without one. */
export function catalogFor({
  base,
  project,
  user = null,
  region,
  added,
}: {
  base: string;
  project: string | null;
  user?: string | null;
  region: string;
  added: AddedCatalog;
}): object[] {
  const paths = pathsFor(project);
  const values = { project_id: project, tenant_id: project, user_id: user };
  const services = [
    ...catalogServices.filter(({ type }) => type in paths),
    ...added.services.filter(({ enabled }) => enabled),
  ];
  const pathOf = new Map(catalogServices.map(({ id, type }) => [id, paths[type]]));
  const all = [
    ...catalogEndpoints({ base, region }).map((own) => ({
      ...own,
      region_id: region,
      url: `${base}${pathOf.get(own.service_id)}`,
    })),
    ...added.endpoints.flatMap((endpoint) => {
      const url = filled(endpoint.url, values);
      return !endpoint.enabled || url === undefined ? [] : [{ ...endpoint, url }];
    }),
  ];
  return services.map(({ id, type, name }) => ({
    endpoints: all
      .filter(({ service_id }) => service_id === id)
      .map((each) => ({
        id: each.id,
        interface: each.interface,
        region_id: each.region_id,
        url: each.url,
        region: each.region_id,
      })),
    id,
    type,
    name,
  }));
}
