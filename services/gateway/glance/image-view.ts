/** An image in Glance's form. Pure. */
import { AnnealError } from '@anneal/contracts/errors.ts';
import type { Json } from '@anneal/contracts/json.ts';
import { jsonSchemaOf } from '@anneal/contracts/named-schemas.ts';
import { z } from 'zod';
import type { ImageDraft, ImageView } from '@anneal/contracts/calls/images.ts';
import { takePage, type PageOfRows, type SortKey } from '../http/list.ts';

/** An image. Properties that its creator gave it are fields, too. */
export const glanceImageSchema = z
  .looseObject({
    id: z.string(),
    name: z.string(),
    status: z.enum(['active', 'queued']).meta({ description: 'Queued: it waits for its content.' }),
    visibility: z.literal('public'),
    disk_format: z.string(),
    container_format: z.literal('bare'),
    size: z.int().nullable(),
    virtual_size: z.int().nullable(),
    checksum: z.null(),
    os_hash_algo: z.string().nullable(),
    os_hash_value: z.string().nullable(),
    os_hidden: z.boolean(),
    min_disk: z.int(),
    min_ram: z.int(),
    owner: z.null(),
    protected: z.boolean(),
    tags: z.array(z.string()),
    created_at: z.string(),
    updated_at: z.string(),
    self: z.string(),
    file: z.string(),
    schema: z.string(),
    direct_url: z
      .string()
      .optional()
      .meta({ description: 'Where machines fetch a content that Anneal does not keep.' }),
    locations: z.array(z.object({ url: z.string(), metadata: z.looseObject({}) })).optional(),
  })
  .meta({ id: 'Image' });

/** `direct_url` is the address from which machines fetch the content, of an image of which Anneal keeps no copy. */
export const glanceImage = (image: ImageView): ImageRow => ({
  ...image.details?.properties,
  ...common(image),
  status: 'active',
  disk_format: 'raw',
  size: image.size,
  virtual_size: image.size,
  os_hash_algo: 'sha256',
  os_hash_value: image.sha256,
  ...(image.url !== undefined && { direct_url: image.url, locations: [{ url: image.url, metadata: {} }] }),
});

/** An image that waits for its content. */
export const glanceDraft = (draft: ImageDraft): ImageRow => ({
  ...draft.details?.properties,
  ...common(draft),
  status: 'queued',
  disk_format: draft.format,
  size: null,
  virtual_size: null,
  os_hash_algo: null,
  os_hash_value: null,
});

const common = (image: Pick<ImageView, 'id' | 'name' | 'created_at' | 'details'>): ImageRow => ({
  id: image.id,
  name: image.name,
  visibility: 'public',
  container_format: 'bare',
  checksum: null,
  os_hidden: false,
  min_disk: image.details?.min_disk ?? 0,
  min_ram: image.details?.min_ram ?? 0,
  owner: null,
  protected: false,
  tags: image.details?.tags ?? [],
  created_at: `${image.created_at.slice(0, 19)}Z`,
  updated_at: `${image.created_at.slice(0, 19)}Z`,
  self: `/v2/images/${image.id}`,
  file: `/v2/images/${image.id}/file`,
  schema: '/v2/schemas/image',
});

export const imageSortKeys = [
  'name',
  'status',
  'container_format',
  'disk_format',
  'size',
  'id',
  'created_at',
  'updated_at',
] as const;
export const imageVisibilities = ['public', 'private', 'shared', 'community', 'all'] as const;

type ImageRow = Readonly<Record<string, Json | undefined>>;

/**
 * The order of a list: `sort` is `name:asc,size`, or `keys` and `directions` are of equal length, or there is one direction
 * for all keys. A key without a direction sorts downwards, as in Glance.
 * @throws AnnealError InvalidRequest for another key or direction, and for both forms
 */
export function imageOrder({
  sort,
  keys,
  directions,
}: {
  sort: string | undefined;
  keys: readonly string[];
  directions: readonly string[];
}): SortKey<ImageRow>[] {
  const refuse = (why: string): never => {
    throw new AnnealError('InvalidRequest', why);
  };
  if (sort !== undefined && keys.length + directions.length > 0)
    refuse('Old and new sorting syntax cannot be combined: leave out sort, or sort_key and sort_dir.');
  if (directions.length > 1 && directions.length !== keys.length)
    refuse('Number of sort dirs does not match the number of sort keys.');
  const wanted =
    sort === undefined
      ? keys.map((key, at) => [key, directions[at] ?? directions[0]] as const)
      : sort.split(',').map((part) => part.trim().split(':') as [string, string?]);
  return wanted.map(([name, direction = 'desc']) => {
    const key = imageSortKeys.find((each) => each === name);
    if (direction !== 'asc' && direction !== 'desc') refuse(`Invalid sort direction: ${direction}`);
    if (key) return { of: (image) => image[key], isDescending: direction === 'desc' };
    return refuse(`Invalid sort key: ${name}. It must be one of the following: ${imageSortKeys.join(', ')}.`);
  });
}

const links = (rels: Readonly<Record<string, string>>) =>
  Object.entries(rels).map(([rel, field]) => ({ rel, href: `{${field}}` }));

/** The JSON Schema of an image, from which clients learn its fields. */
export const imageDocument = {
  name: 'image',
  // Without its name, which would make it a reference.
  properties: jsonSchemaOf(z.looseObject(glanceImageSchema.shape), 'output')['properties'],
  additionalProperties: { type: 'string' },
  links: links({ self: 'self', enclosure: 'file', describedby: 'schema' }),
};
/** The JSON Schema of a page of images. */
export const imagesDocument = {
  name: 'images',
  properties: {
    images: { type: 'array', items: imageDocument },
    ...Object.fromEntries(['first', 'next', 'schema'].map((name) => [name, { type: 'string' }])),
  },
  links: links({ first: 'first', next: 'next', describedby: 'schema' }),
};

/** The filters of a list that have an effect. Glance ignores others, too. */
export interface ImageFilters {
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly visibility?: string | undefined;
  /** By name when there is none. */
  readonly order?: readonly SortKey<ImageRow>[];
  readonly marker?: string | undefined;
  readonly limit?: number | undefined;
}

/** A page of the images. @throws AnnealError InvalidRequest for a marker that names no image */
export function imagePage(
  all: readonly ImageView[],
  { name, status, visibility, order, marker, limit = 25 }: ImageFilters,
): PageOfRows<ImageRow> {
  const fits = (image: ImageRow): boolean =>
    (name === undefined || image['name'] === name) &&
    (status === undefined || status === 'active') &&
    (visibility === undefined || visibility === 'public' || visibility === 'all');
  return takePage(
    all.map(glanceImage),
    { fits, order, marker, limit },
    { idOf: (image) => image['id'] as string, unknownMarker: 'InvalidRequest' },
  );
}
