/**
 * Anneal's own services and endpoints in the catalog. Their addresses follow from that of a request. Their ids are derived
 * from their names, so that they stay. Pure.
 */
import { createHash } from 'node:crypto';

const idOf = (...parts: string[]): string => createHash('md5').update(parts.join('/')).digest('hex');

interface Api {
  readonly type: string;
  readonly name: string;
  readonly path: string;
  /** The path names the project of the token, which is added to it. */
  readonly ofProject?: true;
}

const apis: readonly Api[] = [
  { type: 'identity', name: 'keystone', path: '/identity/v3/' },
  { type: 'orchestration', name: 'heat', path: '/orchestration/v1/', ofProject: true },
  { type: 'messaging', name: 'zaqar', path: '/messaging' },
  { type: 'baremetal', name: 'ironic', path: '/baremetal' },
  { type: 'workflowv2', name: 'mistral', path: '/workflow/v2' },
  { type: 'image', name: 'glance', path: '/image' },
];

/** The path of each API by its type. A token without a project does not see the stacks. */
export const pathsFor = (project: string | null): Record<string, string> =>
  Object.fromEntries(
    apis.flatMap(({ type, path, ofProject }) =>
      ofProject ? (project === null ? [] : [[type, `${path}${project}`]]) : [[type, path]],
    ),
  );

/** An API as Keystone describes a service. */
export interface CatalogService {
  readonly id: string;
  readonly type: string;
  readonly name: string;
}

export const catalogServices: readonly CatalogService[] = apis.map(({ type, name }) => ({
  id: idOf(type),
  type,
  name,
}));

/** An address of an API as Keystone describes an endpoint. */
export interface CatalogEndpoint {
  readonly id: string;
  readonly service_id: string;
  readonly interface: 'public' | 'internal' | 'admin';
  readonly url: string;
}

/** The endpoints with `%(project_id)s` in place of the project. */
export const catalogEndpoints = ({ base, region }: { base: string; region: string }): CatalogEndpoint[] =>
  apis.flatMap(({ type, path, ofProject }) =>
    (['public', 'internal', 'admin'] as const).map((side) => ({
      id: idOf(type, region, side),
      service_id: idOf(type),
      interface: side,
      url: `${base}${path}${ofProject ? '%(project_id)s' : ''}`,
    })),
  );
