/** Images that machines write to their disks. */
import { imageAdd, imageList, imageRemove, imageSchema, imageShow } from '@anneal/contracts/calls/provisioning.ts';
import { z } from 'zod';
import type { Ask } from '../ask.ts';
import { endpoint, type Endpoint } from './endpoint.ts';

export function imageEndpoints({ ask, newId }: { ask: Ask; newId: () => string }): Endpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/images',
      summary:
        'Add an image: its name, where machines fetch it, its checksum and its size. An image cannot be changed.',
      body: z.strictObject(imageSchema.omit({ id: true, created_at: true }).shape),
      answer: imageAdd.answer,
      status: 201,
      handle: ({ body }) => ask('provisioning', imageAdd, { data: { id: newId(), ...body } }),
    }),
    endpoint({
      method: 'GET',
      path: '/images',
      summary: 'List the images.',
      answer: imageList.answer,
      handle: () => ask('provisioning', imageList, { data: {} }),
    }),
    endpoint({
      method: 'GET',
      path: '/images/{image}',
      summary: 'Show an image, by name or id.',
      answer: imageShow.answer,
      handle: ({ params }) => ask('provisioning', imageShow, { data: { image: params['image'] ?? '' } }),
    }),
    endpoint({
      method: 'DELETE',
      path: '/images/{image}',
      summary: 'Remove an image. Machines that have it on their disks keep it.',
      handle: ({ params }) => ask('provisioning', imageRemove, { data: { image: params['image'] ?? '' } }),
    }),
  ];
}
