/** Services, endpoints and the region: what this server offers. They follow its address and cannot be changed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { JsonObject } from '@anneal/contracts/json.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { baseUrl } from '../../http/base-url.ts';
import { catalogEndpoints, catalogServices } from '../catalog.ts';
import { allow, linkTo, pageOfList, paramsOf } from './shape.ts';

type Row = JsonObject & { readonly id: string };

/** `/v3/services`, `/v3/endpoints`, `/v3/regions` */
export function catalogRoutes(scope: FastifyInstance, { region }: { region: string }): void {
  const kinds = {
    services: {
      rules: ['list_services', 'get_service'],
      filters: ['name', 'type'],
      rows: (): Row[] => catalogServices.map((service) => ({ ...service, description: '', enabled: true })),
    },
    endpoints: {
      rules: ['list_endpoints', 'get_endpoint'],
      filters: ['service_id', 'interface', 'region_id', 'region'],
      rows: (request: FastifyRequest): Row[] =>
        catalogEndpoints({ base: baseUrl(request), region }).map((endpoint) => ({
          ...endpoint,
          region,
          region_id: region,
          enabled: true,
        })),
    },
    regions: {
      rules: ['list_regions', 'get_region'],
      filters: ['parent_region_id'],
      rows: (): Row[] => [{ id: region, description: '', parent_region_id: null }],
    },
  } as const;
  for (const [plural, { rules, rows, filters }] of Object.entries(kinds)) {
    const singular = plural.slice(0, -1);
    const all = (request: FastifyRequest): Row[] =>
      rows(request).map((row) => ({ ...row, links: linkTo(request, `${plural}/${row.id}`) }));
    scope.get(`/v3/${plural}`, (request) => {
      allow(request, rules[0]);
      return pageOfList(request, plural, { rows: all(request), filters });
    });
    scope.get(`/v3/${plural}/:id`, (request) => {
      allow(request, rules[1]);
      const { id = '' } = paramsOf(request);
      const found = all(request).find((row) => row.id === id);
      if (!found) throw new AnnealError('NotFound', `Could not find ${singular}: ${id}.`);
      return { [singular]: found };
    });
    const refuse = (): never => {
      throw new AnnealError('Forbidden', `Cannot change the ${plural}: they follow from the address of this server.`);
    };
    scope.post(`/v3/${plural}`, refuse);
    scope.route({ method: ['PATCH', 'PUT', 'DELETE'], url: `/v3/${plural}/:id`, handler: refuse });
  }
}
