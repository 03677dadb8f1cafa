/** Images that machines write to their disks. */
import { imageList, imageSchema, type ImageView } from '@anneal/contracts/calls/provisioning.ts';
import type { GatewayConnection } from './connection.ts';
import { read } from './read.ts';

/** The images that servers can use. */
export interface ImageCalls {
  /** @throws AnnealError AlreadyExists when another image has the name. */
  add(image: Pick<ImageView, 'name' | 'url' | 'sha256' | 'size'>): Promise<ImageView>;
  list(): Promise<ImageView[]>;
  /** @throws AnnealError NotFound */
  show(options: { image: string }): Promise<ImageView>;
  remove(options: { image: string }): Promise<void>;
}

const service = 'api';

/** The calls for images. Each throws the gateway's AnnealError. */
export function imagesOf(connection: GatewayConnection): ImageCalls {
  const pathOf = (image: string): string => `/images/${encodeURIComponent(image)}`;
  return {
    async add({ name, url, sha256, size }) {
      const what = `add the image ${name}`;
      const body = { name, url, sha256, size };
      return read(imageSchema, await connection.json({ service, method: 'POST', path: '/images', body, what }), what);
    },
    async list() {
      const what = 'list the images';
      return read(imageList.answer, await connection.json({ service, path: '/images', what }), what).images;
    },
    async show({ image }) {
      const what = `show the image ${image}`;
      return read(imageSchema, await connection.json({ service, path: pathOf(image), what }), what);
    },
    async remove({ image }) {
      await connection.call({ service, method: 'DELETE', path: pathOf(image), what: `remove the image ${image}` });
    },
  };
}
