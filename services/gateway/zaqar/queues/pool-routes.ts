/** Pools and flavors: Anneal keeps all queues in one store, so there is one of each, which cannot be changed. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
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
const listQuery = z.object({ marker: z.string().default(''), detailed: z.boolean().default(false) });

export const poolRoutes = ({ path }: Dialect): Route[] =>
  (['pools', 'flavors'] as const).flatMap((kind) => {
    const { form, more } = kinds[kind];
    const answer = rowSchemas[kind];
    const one = kind.slice(0, -1);
    const href = `${path}/${kind}/${onlyName}`;
    const row = (detailed: boolean) => ({ name: onlyName, href, ...form, ...(detailed && more) });
    return [
      route({
        method: 'GET',
        path: `/${kind}`,
        summary: `List the ${kind}: there is one.`,
        query: listQuery,
        answer: z.object({ [kind]: z.array(answer), links: linksSchema }),
        handle: ({ query: { marker, detailed } }) => {
          const next = `marker=${onlyName}${detailed ? '&detailed=true' : ''}`;
          return {
            [kind]: marker < onlyName ? [row(detailed)] : [],
            links: [{ rel: 'next', href: `${path}/${kind}?${next}` }],
          };
        },
      }),
      route({
        method: 'GET',
        path: `/${kind}/{name}`,
        summary: `Show a ${one}.`,
        answer,
        handle: ({ params: { name } }) => {
          if (name === onlyName) return row(true);
          const what = kind === 'pools' ? 'Pool' : 'Flavor';
          throw zaqarError('NotFound', 'Not found', `${what} ${name} does not exist`);
        },
      }),
      route({
        method: ['PUT', 'PATCH', 'DELETE'],
        path: `/${kind}/{name}`,
        summary: `Refused: the only ${one} cannot be changed.`,
        isRefusal: true,
        handle: ({ request }) => refuse(kind, request.method),
      }),
    ];
  });

function refuse(kind: string, method: string): never {
  throw new AnnealError(
    'Forbidden',
    `Attempted ${method} of ${kind}: the queues of this server are in one store, so its only ${kind.slice(0, -1)} is ${onlyName} and cannot be changed.`,
  );
}
