/** Images that machines write to their disks. */
import { imageAdd, imageList, imageSchema, imageShow, uploadFormats } from '@anneal/contracts/calls/images.ts';
import { givenSha256Schema } from '@anneal/contracts/readers/checksum.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import type { ImageUploads } from '../images/uploads.ts';
import { sendContent } from '../images/send-content.ts';
import { route, type Route } from '../http/route.ts';

export interface ImageEndpointOptions {
  ask: Ask;
  images: ImageUploads;
  newId: () => string;
}

export function imageEndpoints({ ask, images, newId }: ImageEndpointOptions): Route[] {
  return [
    route({
      method: 'POST',
      path: '/images',
      summary:
        'Add an image: its name, where machines fetch it, its checksum and its size. An image cannot be changed.',
      body: imageSchema
        .omit({ id: true, created_at: true })
        .extend({ sha256: givenSha256Schema.meta({ description: imageSchema.shape.sha256.description }) })
        .required({ url: true })
        .strict(),
      answer: imageAdd.answer,
      status: 201,
      handle: ({ body }) => ask('provisioning', imageAdd, { data: { id: newId(), ...body } }),
    }),
    route({
      method: 'POST',
      path: '/images/upload',
      summary:
        'Add an image whose content is the body, raw or qcow2. The server keeps it as raw content, and serves it to machines.',
      query: z.strictObject({
        name: imageSchema.shape.name,
        sha256: givenSha256Schema.optional().meta({ description: 'Checksum of the body, which the server compares.' }),
        format: z
          .enum(uploadFormats)
          .optional()
          .meta({ description: 'Absent: the server reads it from the start of the body.' }),
      }),
      upload: true,
      answer: imageAdd.answer,
      status: 201,
      handle: ({ query: { name, sha256, format }, request }) => {
        const length = Number(request.headers['content-length'] ?? Number.NaN);
        const size = Number.isSafeInteger(length) ? length : undefined;
        return images.add({ id: newId(), name }, { content: request.raw, size, sha256, format });
      },
    }),
    route({
      method: 'GET',
      path: '/images',
      summary: 'List the images.',
      answer: imageList.answer,
      handle: () => ask('provisioning', imageList, { data: {} }),
    }),
    route({
      method: 'GET',
      path: '/images/{image}',
      summary: 'Show an image, by name or id.',
      answer: imageShow.answer,
      handle: ({ params }) => ask('provisioning', imageShow, { data: { image: params['image'] ?? '' } }),
    }),
    route({
      method: 'GET',
      path: '/images/{image}/content',
      summary: 'Read the raw content of an image that the server keeps, by name or id.',
      answerType: 'application/octet-stream',
      answer: z.unknown(),
      handle: async ({ params, request, reply }) =>
        sendContent(await images.read(params['image'] ?? ''), { request, reply }),
    }),
    route({
      method: 'DELETE',
      path: '/images/{image}',
      summary: 'Remove an image. Machines that have it on their disks keep it.',
      handle: ({ params }) => images.remove(params['image'] ?? ''),
    }),
  ];
}
