/** Questions about images. */
import { z } from 'zod';
import { call } from '../define.ts';
import { sha256Schema } from '../readers/checksum.ts';
import { webAddressSchema } from '../readers/web-address.ts';

/** The form of an image's name. */
const imageName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/, 'must be letters, digits and ._- and begin with a letter or digit');

/** An image that machines can write to their disks: the raw content of a whole disk. */
const imageDetailsSchema = z
  .object({
    properties: z
      .record(z.string().min(1).max(255), z.string().max(1024))
      .refine((properties) => Object.keys(properties).length <= 64, 'expected at most 64 properties')
      .optional(),
    tags: z.array(z.string().min(1).max(255)).max(64).optional(),
    min_disk: z.number().int().min(0).optional(),
    min_ram: z.number().int().min(0).optional(),
  })
  .meta({ description: "Facts that Glance's clients give and read. Anneal does not interpret them." });

/** An image that servers can use. */
export const imageSchema = z.object({
  id: z.string(),
  name: imageName,
  url: webAddressSchema('expected an address that begins with http:// or https://')
    .optional()
    .meta({ description: 'Where machines fetch it. Absent: the server keeps the content, which was uploaded.' }),
  sha256: sha256Schema.meta({ description: 'Checksum of the content, which is compared on the disk before the boot.' }),
  size: z
    .number()
    .int()
    .positive()
    .max(2 ** 50)
    .meta({ description: 'Bytes.' }),
  details: imageDetailsSchema.optional(),
  created_at: z.string(),
});
export type ImageView = z.infer<typeof imageSchema>;

export const imageAdd = call('image.add', 'Add an image that servers can use.', {
  question: imageSchema.omit({ created_at: true }),
  answer: imageSchema,
});

export const imageList = call('image.list', 'List all images, by name.', {
  question: z.object({}),
  answer: z.object({ images: z.array(imageSchema) }),
});

export const imageShow = call('image.show', 'Show an image, by name or id.', {
  question: z.object({ image: z.string() }),
  answer: imageSchema,
});

export const imageRemove = call('image.remove', 'Remove an image. Machines that write it now may fail.', {
  question: z.object({ image: z.string() }),
  answer: z.object({}),
});

/** The formats in which content may be uploaded. The server keeps the raw content. */
export const uploadFormats = ['raw', 'qcow2'] as const;

/** A name and a format that wait for their content, as Glance's clients create images. */
export const imageDraftSchema = z.object({
  id: z.string(),
  name: imageName,
  format: z.enum(uploadFormats),
  details: imageDetailsSchema.optional(),
  created_at: z.string(),
});
export type ImageDraft = z.infer<typeof imageDraftSchema>;

export const imageDraftAdd = call('image.draft.add', 'Reserve an id for an image whose content follows.', {
  question: imageDraftSchema.omit({ created_at: true }),
  answer: imageDraftSchema,
});

export const imageDraftShow = call('image.draft.show', 'Show an image that waits for its content.', {
  question: z.object({ id: z.string() }),
  answer: imageDraftSchema,
});
