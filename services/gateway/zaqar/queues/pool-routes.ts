/** Pools and flavors: Anneal keeps all queues in one store, so there is one of each, which cannot be changed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { queryBoolean, queryValue } from '../../http/body.ts';
import { described } from '../../http/document.ts';
import { linksSchema, type Dialect } from '../dialect.ts';
import { zaqarError } from '../wording.ts';

/** The name of the one pool, and of the one flavor. */
export const onlyName = 'default';

/** First in, first out; claims; durable. The numbers are Zaqar's. */
const capabilities = ['1', '2', '3'];

const kinds = {
  pools: { form: { weight: 100, uri: 'anneal:', flavor: onlyName }, more: { options: {} } },
  flavors: { form: { pool_list: [onlyName], capabilities }, more: {} },
} as const;

const named = { name: z.string(), href: z.string() };
const rowSchemas = {
  pools: z.object({ ...named, weight: z.int(), uri: z.string(), flavor: z.string(), options: z.object().optional() }),
  flavors: z.object({ ...named, pool_list: z.array(z.string()), capabilities: z.array(z.string()) }),
};
const listQuery = z.object({ marker: z.string().optional(), detailed: z.boolean().optional() });

export function poolRoutes(scope: FastifyInstance, { path }: Dialect): void {
  for (const kind of ['pools', 'flavors'] as const) {
    const { form, more } = kinds[kind];
    const answer = rowSchemas[kind];
    const one = kind.slice(0, -1);
    const href = `${path}/${kind}/${onlyName}`;
    const row = (detailed: boolean) => ({ name: onlyName, href, ...form, ...(detailed && more) });
    const listed = z.object({ [kind]: z.array(answer), links: linksSchema });
    const list = described({ summary: `List the ${kind}: there is one.`, query: listQuery, answer: listed });
    scope.get(`/${kind}`, list, (request) => {
      const detailed = queryBoolean(request, 'detailed') ?? false;
      const rest = (queryValue(request, 'marker') ?? '') < onlyName ? [row(detailed)] : [];
      const query = `marker=${onlyName}${detailed ? '&detailed=true' : ''}`;
      return { [kind]: rest, links: [{ rel: 'next', href: `${path}/${kind}?${query}` }] };
    });
    scope.get(`/${kind}/:name`, described({ summary: `Show a ${one}.`, answer }), (request) => {
      const { name } = request.params as { name: string };
      if (name === onlyName) return row(true);
      const what = kind === 'pools' ? 'Pool' : 'Flavor';
      throw zaqarError('NotFound', 'Not found', `${what} ${name} does not exist`);
    });
    for (const method of ['PUT', 'PATCH', 'DELETE'] as const) {
      scope.route({
        method,
        url: `/${kind}/:name`,
        ...described({ summary: `Refused: the only ${one} cannot be changed.`, isRefusal: true }),
        handler: (request) => refuse(kind, request.method),
      });
    }
  }
}

function refuse(kind: string, method: string): never {
  throw new AnnealError(
    'Forbidden',
    `Attempted ${method} of ${kind}: the queues of this server are in one store, so its only ${kind.slice(0, -1)} is ${onlyName} and cannot be changed.`,
  );
}
