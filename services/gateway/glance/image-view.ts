/** An image in Glance's form. Pure. */
import type { ImageDraft, ImageView } from '@anneal/contracts/calls/provisioning.ts';

/** `direct_url` is the address from which machines fetch the content, of an image of which Anneal keeps no copy. */
export const glanceImage = (image: ImageView): Record<string, unknown> => ({
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
export const glanceDraft = (draft: ImageDraft): Record<string, unknown> => ({
  ...draft.details?.properties,
  ...common(draft),
  status: 'queued',
  disk_format: draft.format,
  size: null,
  virtual_size: null,
  os_hash_algo: null,
  os_hash_value: null,
});

const common = (image: Pick<ImageView, 'id' | 'name' | 'created_at' | 'details'>): Record<string, unknown> => ({
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

/** The filters of a list that have an effect. Glance ignores others, too. */
export interface ImageFilters {
  readonly name?: string | undefined;
  readonly status?: string | undefined;
  readonly visibility?: string | undefined;
  readonly marker?: string | undefined;
  readonly limit?: number | undefined;
}

/** A page of the images, by name, and the marker of the next one. Undefined when the marker names no image. */
export function imagePage(
  all: readonly ImageView[],
  { name, status, visibility, marker, limit = 25 }: ImageFilters,
): { images: Record<string, unknown>[]; next: string | undefined } | undefined {
  const fit = all
    .map(glanceImage)
    .filter(
      (image) =>
        (name === undefined || image['name'] === name) &&
        (status === undefined || status === 'active') &&
        (visibility === undefined || visibility === 'public' || visibility === 'all'),
    );
  const at = marker === undefined ? -1 : fit.findIndex(({ id }) => id === marker);
  if (marker !== undefined && at < 0) return undefined;
  const images = fit.slice(at + 1, at + 1 + limit);
  const isLast = at + 1 + limit >= fit.length;
  return { images, next: isLast ? undefined : (images.at(-1)?.['id'] as string | undefined) };
}
