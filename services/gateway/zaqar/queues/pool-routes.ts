/** Pools and flavors: Anneal keeps all queues in one store, so there is one of each, which cannot be changed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';
import { queryBoolean, queryValue } from '../../http/body.ts';
import type { Dialect } from '../dialect.ts';
import { zaqarError } from '../wording.ts';

/** The name of the one pool, and of the one flavor. */
export const onlyName = 'default';

/** First in, first out; claims; durable. The numbers are Zaqar's. */
const capabilities = ['1', '2', '3'];

const kinds = {
  pools: { form: { weight: 100, uri: 'anneal:', flavor: onlyName }, more: { options: {} } },
  flavors: { form: { pool_list: [onlyName], capabilities }, more: {} },
} as const;

export function poolRoutes(scope: FastifyInstance, { path }: Dialect): void {
  for (const [kind, { form, more }] of Object.entries(kinds)) {
    const href = `${path}/${kind}/${onlyName}`;
    const row = (detailed: boolean) => ({ name: onlyName, href, ...form, ...(detailed && more) });
    scope.get(`/${kind}`, (request) => {
      const detailed = queryBoolean(request, 'detailed') ?? false;
      const rest = (queryValue(request, 'marker') ?? '') < onlyName ? [row(detailed)] : [];
      const query = `marker=${onlyName}${detailed ? '&detailed=true' : ''}`;
      return { [kind]: rest, links: [{ rel: 'next', href: `${path}/${kind}?${query}` }] };
    });
    scope.get(`/${kind}/:name`, (request) => {
      const { name } = request.params as { name: string };
      if (name === onlyName) return row(true);
      const what = kind === 'pools' ? 'Pool' : 'Flavor';
      throw zaqarError('NotFound', 'Not found', `${what} ${name} does not exist`);
    });
    for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
      scope.route({ method, url: `/${kind}/:name`, handler: (request) => refuse(kind, request.method) });
    }
  }
}

function refuse(kind: string, method: string): never {
  throw new AnnealError(
    'Forbidden',
    `Attempted ${method} of ${kind}: the queues of this server are in one store, so its only ${kind.slice(0, -1)} is ${onlyName} and cannot be changed.`,
  );
}
