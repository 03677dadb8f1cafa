/** The address of each API, derived from the address of the request. Ids are derived from names, so that they stay. */
import { createHash } from 'node:crypto';

const idOf = (...parts: string[]): string => createHash('md5').update(parts.join('/')).digest('hex');

export function catalogFor({
  base,
  project,
  region,
}: {
  base: string;
  project: string | null;
  region: string;
}): object[] {
  const services = [
    { type: 'identity', name: 'keystone', url: `${base}/identity/v3/` },
    ...(project === null ? [] : [{ type: 'orchestration', name: 'heat', url: `${base}/orchestration/v1/${project}` }]),
    { type: 'messaging', name: 'zaqar', url: `${base}/messaging` },
    { type: 'baremetal', name: 'ironic', url: `${base}/baremetal` },
  ];
  return services.map(({ type, name, url }) => ({
    endpoints: ['public', 'internal', 'admin'].map((side) => ({
      id: idOf(type, region, side),
      interface: side,
      region_id: region,
      url,
      region,
    })),
    id: idOf(type),
    type,
    name,
  }));
}
