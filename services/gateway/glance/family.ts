/**
 * Glance's API v2 as far as clients list, upload, save and delete images. An image whose content machines fetch elsewhere
 * is added by `/api/v1/images`.
 */
import { hasCode } from '@anneal/contracts/errors.ts';
import {
  imageDraftAdd,
  imageDraftShow,
  imageDraftSchema,
  imageList,
  imageShow,
  uploadFormats,
  type ImageDraft,
} from '@anneal/contracts/calls/images.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl, nextQueryOf } from '../http/base-url.ts';
import { readJsonBodies } from '../http/body.ts';
import { serveDocument } from '../http/document.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
import { route, type Route } from '../http/route.ts';
import { serveRoutes } from '../http/serve-routes.ts';
import { requireToken, type Authenticate } from '../identity/caller.ts';
import { authenticateHeader } from '../identity/keystone.ts';
import { sendContent } from '../images/send-content.ts';
import type { ImageUploads } from '../images/uploads.ts';
import {
  glanceDraft,
  glanceImage,
  glanceImageSchema,
  imageDocument,
  imageOrder,
  imagePage,
  imagesDocument,
  imageSortKeys,
  imageVisibilities,
} from './image-view.ts';

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

const errorSchema = z
  .object({ message: z.string(), code: z.int(), title: z.string(), remedy: z.string().optional() })
  .meta({ id: 'Error' });

/** The body by which clients create an image. Properties of their own are kept and shown again. */
const createFields = {
  id: z.uuid().optional(),
  name: imageDraftSchema.shape.name,
  disk_format: z.enum(uploadFormats, 'must be raw or qcow2, which are the formats that machines can get'),
  container_format: z.literal('bare', 'must be bare').optional(),
  visibility: z.literal('public', 'must be public: every project may use every image').optional(),
  min_disk: z.number().int().min(0).optional(),
  min_ram: z.number().int().min(0).optional(),
  protected: z.literal(false).optional(),
  os_hidden: z.literal(false).optional(),
  tags: z.array(z.string()).optional(),
};
/** Fields that the server sets. */
const ownFields = new Set([
  'status',
  'size',
  'virtual_size',
  'checksum',
  'os_hash_algo',
  'os_hash_value',
  'owner',
  'locations',
  'direct_url',
  'created_at',
  'updated_at',
  'self',
  'file',
  'schema',
]);
const propertiesIn = (given: object): [string, unknown][] =>
  Object.entries(given).filter(([name]) => !Object.hasOwn(createFields, name));
const createSchema = z.looseObject(createFields).superRefine((given, check) => {
  for (const [name, value] of propertiesIn(given)) {
    const problem = ownFields.has(name)
      ? 'is set by the server'
      : typeof value === 'string'
        ? undefined
        : 'must be text';
    if (problem !== undefined) check.addIssue({ code: 'custom', path: [name], message: problem });
  }
});

const mostOnPage = 1_000;

const link = z.object({ rel: z.string(), href: z.string() });
const entry = z.object({ id: z.string(), status: z.string(), links: z.array(link) });
const document = z.looseObject({ name: z.string(), properties: z.looseObject({}) });
const bytes = z.string().meta({ format: 'binary' });

interface ImageRouteOptions {
  readonly ask: Ask;
  readonly images: ImageUploads;
  readonly newId: () => string;
}

/** Glance's API: its document and its routes. */
export function glanceFamily(
  scope: FastifyInstance,
  options: ImageRouteOptions & {
    version: string;
    authenticate: Authenticate;
    report: (error: unknown, request: FastifyRequest) => void;
  },
): void {
  readJsonBodies(scope);
  wordErrors(scope, glanceWording, options.report);
  requireToken(scope, options.authenticate);
  serveDocument(scope, {
    title: 'Images',
    description: 'Compatible with Glance v2: images that machines boot from, and their contents.',
    version: options.version,
    error: errorSchema,
  });
  serveRoutes(scope, [...versionRoutes, ...listRoutes(options), ...contentRoutes(options)]);
}

const versions = { public: true, answer: z.object({ versions: z.array(entry) }) } as const;
const shownVersions = (request: FastifyRequest) => ({
  versions: [
    { id: 'v2.9', status: 'CURRENT', links: [{ rel: 'self', href: `${baseUrl(request)}${glancePrefix}/v2/` }] },
  ],
});

const versionRoutes = [
  ...(['/', '/versions'] as const).map((path) =>
    route({
      method: 'GET',
      path,
      summary: 'List the versions of this API.',
      ...versions,
      status: path === '/' ? 300 : 200,
      handle: ({ request }) => shownVersions(request),
    }),
  ),
  route({
    method: 'GET',
    path: '/v2/schemas/image',
    summary: 'Show the JSON Schema of an image.',
    answer: document,
    handle: () => imageDocument,
  }),
  route({
    method: 'GET',
    path: '/v2/schemas/images',
    summary: 'Show the JSON Schema of a page of images.',
    answer: document,
    handle: () => imagesDocument,
  }),
];

const draftOf = (ask: Ask, id: string): Promise<ImageDraft> => ask('provisioning', imageDraftShow, { data: { id } });

const listRoutes = ({ ask }: ImageRouteOptions): Route[] => [
  route({
    method: 'GET',
    path: '/v2/images',
    summary: 'List the images that machines can boot from, by name.',
    query: z.object({
      name: z.string().optional(),
      status: z.string().optional(),
      visibility: z.enum(imageVisibilities).optional(),
      sort: z.string().optional().meta({ description: 'Keys with directions: `name:asc,size:desc`.' }),
      sort_key: z.array(z.enum(imageSortKeys)).optional(),
      sort_dir: z.array(z.enum(['asc', 'desc'])).optional(),
      marker: z.string().optional().meta({ description: 'The id of the image before the first one.' }),
      limit: z
        .int()
        .min(0)
        .max(999_999_999)
        .default(25)
        .transform((limit) => Math.min(limit, mostOnPage))
        .meta({ description: `At most ${mostOnPage}; 25 by default.` }),
    }),
    answer: z.object({
      images: z.array(glanceImageSchema),
      first: z.string(),
      next: z.string().optional(),
      schema: z.string(),
    }),
    handle: async ({ query: { sort, sort_key = [], sort_dir = [], ...wanted }, request }) => {
      const { images } = await ask('provisioning', imageList, { data: {} });
      const order = imageOrder({ sort, keys: sort_key, directions: sort_dir });
      const { rows, next } = imagePage(images, { ...wanted, order });
      return {
        images: rows,
        first: '/v2/images',
        ...(next !== undefined && { next: `/v2/images${nextQueryOf(request, { marker: next })}` }),
        schema: '/v2/schemas/images',
      };
    },
  }),
  route({
    method: 'GET',
    path: '/v2/images/{image}',
    summary: 'Show an image, also one that waits for its content.',
    answer: glanceImageSchema,
    handle: async ({ params: { image } }) => {
      try {
        return glanceImage(await ask('provisioning', imageShow, { data: { image } }));
      } catch (error) {
        if (!hasCode(error, 'NotFound')) throw error;
        const draft = await draftOf(ask, image).catch(() => undefined);
        if (draft) return glanceDraft(draft);
        throw error;
      }
    },
  }),
];

/** Images with their content: create, upload, save, delete. */
const contentRoutes = ({ ask, images, newId }: ImageRouteOptions): Route[] => [
  route({
    method: 'POST',
    path: '/v2/images',
    summary: 'Create an image. It waits for its content.',
    body: createSchema,
    answer: glanceImageSchema,
    status: 201,
    handle: async ({ body, request, reply }) => {
      const { id = newId(), name, disk_format: format, tags, min_disk, min_ram } = body;
      const properties = Object.fromEntries(propertiesIn(body)) as Record<string, string>;
      const details = {
        ...(Object.keys(properties).length > 0 && { properties }),
        ...(tags && { tags }),
        ...(min_disk !== undefined && { min_disk }),
        ...(min_ram !== undefined && { min_ram }),
      };
      const data = { id, name, format, ...(Object.keys(details).length > 0 && { details }) };
      const draft = await ask('provisioning', imageDraftAdd, { data });
      void reply.header('location', `${baseUrl(request)}${glancePrefix}/v2/images/${id}`);
      return glanceDraft(draft);
    },
  }),
  route({
    method: 'DELETE',
    path: '/v2/images/{image}',
    summary: 'Delete an image and its content.',
    handle: ({ params: { image } }) => images.remove(image),
  }),
  route({
    method: 'GET',
    path: '/v2/images/{image}/file',
    summary: 'Read the content of an image, or the part that the header Range names.',
    answer: bytes,
    answerType: 'application/octet-stream',
    also: { 206: bytes, 416: null },
    handle: async ({ params: { image }, request, reply }) => sendContent(await images.read(image), { request, reply }),
  }),
  route({
    method: 'PUT',
    path: '/v2/images/{image}/file',
    summary: 'Give an image its content.',
    upload: true,
    handle: async ({ params: { image }, request }) => {
      const { id, name, format, details } = await draftOf(ask, image);
      const length = Number(request.headers['content-length'] ?? Number.NaN);
      const size = Number.isSafeInteger(length) ? length : undefined;
      await images.add(
        { id, name, ...(details && { details }) },
        { content: request.raw, size, sha256: undefined, format },
      );
    },
  }),
];
