/**
 * Objects of Keystone that Anneal does not keep. Their lists, which clients read to show what there is, are empty; a request
 * that would create or change one says what to use instead.
 */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { FastifyRequest } from 'fastify';
import { described } from '../../http/document.ts';
import { z } from 'zod';
import { accessOf, listDescription, pageOfList, paramsOf, type IdentityRoutes } from './shape.ts';

const quotas = 'unified limits. Operators set quotas: `anneal project quota`.';
const federation = 'federation by SAML. Users of a company log in by OpenID Connect: ANNEAL_GATEWAY_OIDC_ISSUER.';
const oauth = 'login by OAuth1. Programs log in with an application credential or a trust.';

const kinds: readonly (readonly [path: string, plural: string, instead: string])[] = [
  ['limits', 'limits', quotas],
  ['registered_limits', 'registered_limits', quotas],
  ['OS-FEDERATION/identity_providers', 'identity_providers', federation],
  ['OS-FEDERATION/identity_providers/:provider/protocols', 'protocols', federation],
  ['OS-FEDERATION/mappings', 'mappings', federation],
  ['OS-FEDERATION/service_providers', 'service_providers', federation],
  ['OS-OAUTH1/consumers', 'consumers', oauth],
];
/** The steps of a login by OAuth1. */
const steps = [
  ['POST', 'OS-OAUTH1/request_token'],
  ['PUT', 'OS-OAUTH1/authorize/:token'],
  ['POST', 'OS-OAUTH1/access_token'],
] as const;

export const notOfferedRoutes: IdentityRoutes = (scope) => {
  const refuse = (instead: string) => (request: FastifyRequest) => {
    accessOf(request);
    throw new AnnealError('NotSupported', `This server does not offer ${instead}`);
  };
  const refuses = (instead: string) =>
    described({ summary: `Refused: Anneal does not offer ${instead}`, isRefusal: true });
  for (const [path, plural, instead] of kinds) {
    const name = plural.slice(0, -1).replaceAll('_', ' ');
    const lists = described({
      summary: `List the ${plural.replaceAll('_', ' ')}. This server has none.`,
      ...listDescription(plural, z.looseObject({}), []),
    });
    scope.get(`/v3/${path}`, lists, (request) => {
      accessOf(request);
      return pageOfList(request, plural, { rows: [], filters: [] });
    });
    scope.post(`/v3/${path}`, refuses(instead), refuse(instead));
    const one = `/v3/${path}/:id`;
    scope.route({ method: ['PUT', 'PATCH'], url: one, ...refuses(instead), handler: refuse(instead) });
    scope.route({
      method: ['GET', 'DELETE'],
      url: one,
      ...described({ summary: `Not found: this server has no ${name}.`, isRefusal: true }),
      handler: (request) => {
        accessOf(request);
        throw new AnnealError('NotFound', `Could not find ${name}: ${paramsOf(request)['id']}.`);
      },
    });
  }
  for (const [method, path] of steps)
    scope.route({ method, url: `/v3/${path}`, ...refuses(oauth), handler: refuse(oauth) });
};
