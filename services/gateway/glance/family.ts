/**
 * Glance's API v2 as far as clients list, upload, save and delete images. An image whose content machines fetch elsewhere
 * is added by `/api/v1/images`.
 */
import { AnnealError, hasCode } from '@anneal/contracts/errors.ts';
import {
  imageDraftAdd,
  imageDraftShow,
  imageDraftSchema,
  imageList,
  imageShow,
  uploadFormats,
  type ImageDraft,
} from '@anneal/contracts/calls/provisioning.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { baseUrl, nextQueryOf } from '../http/base-url.ts';
import { parseField, queryValue, queryValues, readJsonBodies, uploadScope } from '../http/body.ts';
import { described, serveDocument } from '../http/described.ts';
import { wordErrors, type FamilyWording } from '../http/family.ts';
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

interface ImagePath {
  Params: { image: string };
}

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
const listsVersions = (status: number) =>
  described(
    { summary: 'List the versions of this API.', status, answer: z.object({ versions: z.array(entry) }) },
    { public: true },
  );
const lists = described({
  summary: 'List the images that machines can boot from, by name.',
  query: z.object({
    name: z.string().optional(),
    status: z.string().optional(),
    visibility: z.enum(imageVisibilities).optional(),
    sort: z.string().optional().meta({ description: 'Keys with directions: `name:asc,size:desc`.' }),
    sort_key: z.enum(imageSortKeys).optional(),
    sort_dir: z.enum(['asc', 'desc']).optional(),
    marker: z.string().optional().meta({ description: 'The id of the image before the first one.' }),
    limit: z
      .int()
      .min(0)
      .max(999_999_999)
      .optional()
      .meta({ description: `At most ${mostOnPage}; 25 by default.` }),
  }),
  answer: z.object({
    images: z.array(glanceImageSchema),
    first: z.string(),
    next: z.string().optional(),
    schema: z.string(),
  }),
});

/** @throws AnnealError InvalidRequest for a number of images that no page has. */
function limitIn(request: FastifyRequest): number | undefined {
  const text = queryValue(request, 'limit');
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw new AnnealError('InvalidRequest', `limit must be a whole number, not ${text}.`);
  return Math.min(Number(text), mostOnPage);
}

/** @throws AnnealError InvalidRequest for a word that Glance does not know. */
function visibilityIn(request: FastifyRequest): string | undefined {
  const given = queryValue(request, 'visibility');
  if (given === undefined || imageVisibilities.some((each) => each === given)) return given;
  throw new AnnealError('InvalidRequest', `Invalid visibility value: ${given}`);
}

export function glanceFamily(
  scope: FastifyInstance,
  options: {
    ask: Ask;
    images: ImageUploads;
    newId: () => string;
    version: string;
    authenticate: Authenticate;
    report: (error: unknown, request: FastifyRequest) => void;
  },
): void {
  const { ask, images, newId, version, authenticate, report } = options;
  readJsonBodies(scope);
  wordErrors(scope, glanceWording, report);
  requireToken(scope, authenticate);

  serveDocument(scope, {
    title: 'Images',
    description: 'Compatible with Glance v2: images that machines boot from, and their contents.',
    version,
    error: errorSchema,
  });
  versionRoutes(scope);
  const document = z.looseObject({ name: z.string(), properties: z.looseObject({}) });
  const showsOne = described({ summary: 'Show the JSON Schema of an image.', answer: document });
  scope.get('/v2/schemas/image', showsOne, () => imageDocument);
  const showsPage = described({ summary: 'Show the JSON Schema of a page of images.', answer: document });
  scope.get('/v2/schemas/images', showsPage, () => imagesDocument);
  scope.get('/v2/images', lists, async (request) => {
    const { images: all } = await ask('provisioning', imageList, { data: {} });
    const marker = queryValue(request, 'marker');
    const page = imagePage(all, {
      name: queryValue(request, 'name'),
      status: queryValue(request, 'status'),
      visibility: visibilityIn(request),
      order: imageOrder({
        sort: queryValue(request, 'sort'),
        keys: queryValues(request, 'sort_key'),
        directions: queryValues(request, 'sort_dir'),
      }),
      marker,
      limit: limitIn(request),
    });
    if (!page)
      throw new AnnealError('InvalidRequest', `There is no image ${marker}, so the list cannot begin after it.`);
    return {
      images: page.images,
      first: '/v2/images',
      ...(page.next !== undefined && { next: `/v2/images${nextQueryOf(request, { marker: page.next })}` }),
      schema: '/v2/schemas/images',
    };
  });
  const draftOf = (id: string): Promise<ImageDraft> => ask('provisioning', imageDraftShow, { data: { id } });
  const shows = described({
    summary: 'Show an image, also one that waits for its content.',
    answer: glanceImageSchema,
  });
  scope.get<ImagePath>('/v2/images/:image', shows, async ({ params: { image } }) => {
    try {
      return glanceImage(await ask('provisioning', imageShow, { data: { image } }));
    } catch (error) {
      if (!hasCode(error, 'NotFound')) throw error;
      const draft = await draftOf(image).catch(() => undefined);
      if (draft) return glanceDraft(draft);
      throw error;
    }
  });
  contentRoutes(scope, { ask, images, newId, draftOf });
}

function versionRoutes(scope: FastifyInstance): void {
  const versions = (request: FastifyRequest) => ({
    versions: [
      {
        id: 'v2.9',
        status: 'CURRENT',
        links: [{ rel: 'self', href: `${baseUrl(request)}${glancePrefix}/v2/` }],
      },
    ],
  });
  scope.get('/', listsVersions(300), (request, reply) => reply.code(300).send(versions(request)));
  scope.get('/versions', listsVersions(200), versions);
}

/** Images with their content: create, upload, save, delete. */
function contentRoutes(
  scope: FastifyInstance,
  options: { ask: Ask; images: ImageUploads; newId: () => string; draftOf: (id: string) => Promise<ImageDraft> },
): void {
  const { ask, images, newId, draftOf } = options;
  const creates = described({
    summary: 'Create an image. It waits for its content.',
    body: createSchema,
    answer: glanceImageSchema,
    status: 201,
  });
  scope.post('/v2/images', creates, async (request, reply) => {
    const given = parseField(createSchema, request.body, 'The image');
    const { id = newId(), name, disk_format: format, tags, min_disk, min_ram } = given;
    const properties = Object.fromEntries(propertiesIn(given)) as Record<string, string>;
    const details = {
      ...(Object.keys(properties).length > 0 && { properties }),
      ...(tags && { tags }),
      ...(min_disk !== undefined && { min_disk }),
      ...(min_ram !== undefined && { min_ram }),
    };
    const data = { id, name, format, ...(Object.keys(details).length > 0 && { details }) };
    const draft = await ask('provisioning', imageDraftAdd, { data });
    return reply
      .code(201)
      .header('location', `${baseUrl(request)}${glancePrefix}/v2/images/${id}`)
      .send(glanceDraft(draft));
  });
  const deletes = described({ summary: 'Delete an image and its content.' });
  scope.delete<ImagePath>('/v2/images/:image', deletes, async ({ params: { image } }, reply) => {
    await images.remove(image);
    return reply.code(204).send();
  });
  const bytes = z.string().meta({ format: 'binary' });
  const file = { answer: bytes, answerType: 'application/octet-stream' };
  const reads = described({
    summary: 'Read the content of an image, or the part that the header Range names.',
    ...file,
    also: { 206: bytes, 416: null },
  });
  scope.get<ImagePath>('/v2/images/:image/file', reads, async (request, reply) =>
    sendContent(await images.read(request.params.image), { request, reply }),
  );
  uploadScope(scope, (uploads) => {
    const writes = described(
      { summary: 'Give an image its content.', body: bytes, bodyType: 'application/octet-stream' },
      { upload: true },
    );
    uploads.put<ImagePath>('/v2/images/:image/file', writes, async (request, reply) => {
      const { id, name, format, details } = await draftOf(request.params.image);
      const length = Number(request.headers['content-length'] ?? Number.NaN);
      const size = Number.isSafeInteger(length) ? length : undefined;
      await images.add(
        { id, name, ...(details && { details }) },
        { content: request.raw, size, sha256: undefined, format },
      );
      return reply.code(204).send();
    });
  });
}
