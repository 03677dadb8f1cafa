/** Images that machines write to their disks. */
import { ownFetch } from './own-fetch.ts';
import { imageList, imageSchema, type ImageView } from '@anneal/contracts/calls/images.ts';
import type { GatewayConnection } from './connection.ts';
import type { SendOver, WholeAnswer } from './reach.ts';
import { read } from './read.ts';

/** The content of a new image. */
export interface ImageUpload {
  readonly name: string;
  readonly content: ReadableStream<Uint8Array> | Blob;
  /** Bytes. */
  readonly size: number;
  /** Checksum of the content, which the server compares. */
  readonly sha256?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Sends it in another way than `fetch`, which reports no progress. */
  readonly over?: SendOver<WholeAnswer> | undefined;
}

/** The images that servers can use. */
export interface ImageCalls {
  /** @throws AnnealError AlreadyExists when another image has the name. */
  add(image: Pick<ImageView, 'name' | 'sha256' | 'size'> & { url: string }): Promise<ImageView>;
  /**
   * Sends the content to the server, which keeps it.
   * @throws AnnealError AlreadyExists when another image has the name, InvalidRequest for content that no machine can write
   */
  upload(image: ImageUpload): Promise<ImageView>;
  /** The raw content of an image that the server keeps. @throws AnnealError NotFound, NotSupported */
  content(options: { image: string; signal?: AbortSignal | undefined }): Promise<Response>;
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
    async upload({ name, content: stream, size, sha256, signal, over = ownFetch }) {
      const what = `upload the image ${name}`;
      const body = await connection.json({
        service,
        method: 'POST',
        path: '/images/upload',
        query: { name, sha256 },
        content: { stream, size },
        over,
        signal,
        what,
      });
      return read(imageSchema, body, what);
    },
    content: ({ image, signal }) =>
      connection.call({ service, path: `${pathOf(image)}/content`, signal, what: `read the image ${image}` }),
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
