/** Glance's API v2 as far as clients read images. Images are added and removed by `/api/v1/images`. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import { imageList, imageShow } from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Ask } from '../ask.ts';
import { baseUrl } from '../http/base-url.ts';
import { queryValue, readJsonBodies } from '../http/body.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { requireToken, type Authenticate } from '../identity/caller.ts';
import { authenticateHeader } from '../identity/keystone.ts';
import { glanceImage, imagePage } from './image-view.ts';

/** Where the API is. Clients add the version. */
export const glancePrefix = '/image';

const glanceWording: FamilyWording = {
  body: ({ status, failure: { code, message, remedy } }) => ({ message, code: status, title: code, remedy }),
  headers: ({ status }, request): Record<string, string> =>
    status === 401 ? { 'www-authenticate': authenticateHeader(request) } : {},
  notFound: (_request, reply) =>
    reply.code(404).send({ message: 'The image API has no endpoint at this address.', code: 404, title: 'NotFound' }),
  notAllowed: (_request, allow) => ({
    message: `This address accepts ${allow.join(', ')}. Images are added by: anneal image add.`,
    code: 405,
    title: 'MethodNotAllowed',
  }),
};

const mostOnPage = 1_000;

/** @throws AnnealError InvalidRequest for a number of images that no page has. */
function limitIn(request: FastifyRequest): number | undefined {
  const text = queryValue(request, 'limit');
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new AnnealError('InvalidRequest', `limit must be a whole number, not ${text}.`);
  return Math.min(Number(text), mostOnPage);
}

export function glanceFamily(
  scope: FastifyInstance,
  options: { ask: Ask; authenticate: Authenticate; report: (error: unknown, request: FastifyRequest) => void },
): void {
  const { ask, authenticate, report } = options;
  readJsonBodies(scope);
  wordErrors(scope, glanceWording, report);
  requireToken(scope, authenticate);

  const open = { config: { public: true } } as const;
  const versions = (request: FastifyRequest) => ({
    versions: [
      {
        id: 'v2.9',
        status: 'CURRENT',
        links: [{ rel: 'self', href: `${baseUrl(request)}${glancePrefix}/v2/` }],
      },
    ],
  });
  scope.get('/', open, (request, reply) => reply.code(300).send(versions(request)));
  scope.get('/versions', open, versions);

  scope.get('/v2/images', async (request) => {
    const { images } = await ask('provisioning', imageList, { data: {} });
    const marker = queryValue(request, 'marker');
    const page = imagePage(images, {
      name: queryValue(request, 'name'),
      status: queryValue(request, 'status'),
      visibility: queryValue(request, 'visibility'),
      marker,
      limit: limitIn(request),
    });
    if (!page)
      throw new AnnealError('InvalidRequest', `There is no image ${marker}, so the list cannot begin after it.`);
    const next = new URLSearchParams({ ...(request.query as Record<string, string>), marker: page.next ?? '' });
    return {
      images: page.images,
      first: '/v2/images',
      ...(page.next !== undefined && { next: `/v2/images?${next.toString()}` }),
      schema: '/v2/schemas/images',
    };
  });
  scope.get<{ Params: { image: string } }>('/v2/images/:image', async ({ params: { image } }) =>
    glanceImage(await ask('provisioning', imageShow, { data: { image } })),
  );
  scope.get<{ Params: { image: string } }>('/v2/images/:image/file', async ({ params: { image } }) => {
    const { name, url } = await ask('provisioning', imageShow, { data: { image } });
    // A redirect would send the token of the client to another server.
    throw new AnnealError('NotSupported', `Anneal keeps no copy of image ${name}. Fetch it where machines do: ${url}`);
  });
}
