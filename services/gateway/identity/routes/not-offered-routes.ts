/**
 * Objects of Keystone that Anneal does not keep. Their lists, which clients read to show what there is, are empty; a request
 * that would create or change one says what to use instead.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { z } from 'zod';
import { route, type Route } from '../../http/route.ts';
import { listRoute } from './kind-routes.ts';

const quotas = 'unified limits. Operators set quotas: `anneal project quota`.';
const federation = 'federation by SAML. Users of a company log in by OpenID Connect: ANNEAL_GATEWAY_OIDC_ISSUER.';
const oauth = 'login by OAuth1. Programs log in with an application credential or a trust.';

const kinds: readonly (readonly [path: string, plural: string, instead: string])[] = [
  ['limits', 'limits', quotas],
  ['registered_limits', 'registered_limits', quotas],
  ['OS-FEDERATION/identity_providers', 'identity_providers', federation],
  ['OS-FEDERATION/identity_providers/{provider}/protocols', 'protocols', federation],
  ['OS-FEDERATION/mappings', 'mappings', federation],
  ['OS-FEDERATION/service_providers', 'service_providers', federation],
  ['OS-OAUTH1/consumers', 'consumers', oauth],
];
/** The steps of a login by OAuth1. */
const steps = [
  ['POST', 'OS-OAUTH1/request_token'],
  ['PUT', 'OS-OAUTH1/authorize/{token}'],
  ['POST', 'OS-OAUTH1/access_token'],
] as const;

/** The lists that are empty, and the requests that are refused. */
export const notOfferedRoutes = (): Route[] => [
  ...kinds.flatMap(([path, plural, instead]) => {
    const name = plural.slice(0, -1).replaceAll('_', ' ');
    const all = `/v3/${path}`;
    return [
      listRoute({
        path: all,
        summary: `List the ${plural.replaceAll('_', ' ')}. This server has none.`,
        plural,
        row: z.looseObject({}),
        rows: () => [],
      }),
      refused('POST', all, instead),
      refused(['PUT', 'PATCH'], `${all}/{id}`, instead),
      route({
        method: ['GET', 'DELETE'],
        path: `${all}/{id}`,
        summary: `Not found: this server has no ${name}.`,
        isRefusal: true,
        handle: ({ params }) => {
          throw new AnnealError('NotFound', `Could not find ${name}: ${params['id']}.`);
        },
      }),
    ];
  }),
  ...steps.map(([method, path]) => refused(method, `/v3/${path}`, oauth)),
];

const refused = (method: Route['method'], path: string, instead: string): Route =>
  route({
    method,
    path,
    summary: `Refused: Anneal does not offer ${instead}`,
    isRefusal: true,
    handle: () => {
      throw new AnnealError('NotSupported', `This server does not offer ${instead}`);
    },
  });
