/**
 * Adds, reads and removes images whose content the server keeps: the registry is another service, and the content is in
 * a folder of the gateway.
 *
 * U1 An image is in the registry only after its content is durable, so a machine never finds an image without content.
 * U2 A content goes with the last image that has it.
 */
import {
  imageAdd,
  imageList,
  imageRemove,
  imageShow,
  type ImageDraft,
  type ImageView,
} from '@anneal/contracts/calls/images.ts';
import { AnnealError, ignoreNotFound } from '@anneal/contracts/errors.ts';
import { Serial } from '@anneal/runtime/work/serial.ts';
import type { Ask } from '../ask.ts';
import type { ImageContents, Upload } from './contents.ts';
import type { DataMap } from './data-map.ts';

export class ImageUploads {
  readonly #ask: Ask;
  readonly #contents: ImageContents;
  /** By checksum: a content that is being added is not removed. */
  readonly #serial = new Serial();

  constructor({ ask, contents }: { ask: Ask; contents: ImageContents }) {
    this.#ask = ask;
    this.#contents = contents;
  }

  /**
   * Adds an image with its content. A repeat with the same raw content answers the image that exists.
   * @throws AnnealError AlreadyExists before the content is read; as `ImageContents.receive` does
   */
  async add({ id, name, details }: Pick<ImageDraft, 'id' | 'name' | 'details'>, upload: Upload): Promise<ImageView> {
    const known = await this.#find(name);
    if (known && known.url === undefined && known.sha256 === upload.sha256) return known;
    if (known) throw taken(name);
    return this.#contents.receive(upload, ({ sha256, size, keep }) =>
      this.#serial.run(sha256, async () => {
        await keep();
        try {
          return await this.#ask('provisioning', imageAdd, {
            data: { id, name, sha256, size, ...(details && { details }) },
          });
        } catch (error) {
          if (error instanceof AnnealError && error.kind === 'final') await this.#removeUnused(sha256);
          throw error;
        }
      }),
    );
  }

  /** @throws AnnealError NotFound; NotSupported for an image whose content is elsewhere */
  async read(image: string): Promise<{ shown: ImageView } & Awaited<ReturnType<ImageContents['read']>>> {
    const shown = await this.#ask('provisioning', imageShow, { data: { image } });
    if (shown.url !== undefined) {
      // A redirect would send the token of the client to another server.
      const where = `Fetch it where machines do: ${shown.url}`;
      throw new AnnealError('NotSupported', `Anneal keeps no copy of image ${shown.name}. ${where}`);
    }
    return { shown, ...(await this.#contents.read(shown.sha256)) };
  }

  /** The parts of a kept content that machines fetch. Undefined: all of it. */
  dataOf(sha256: string): Promise<DataMap | undefined> {
    return this.#contents.dataOf(sha256);
  }

  /** Removes an image, its content (U2), or a draft. @throws AnnealError NotFound */
  async remove(image: string): Promise<void> {
    const known = await this.#find(image);
    await this.#ask('provisioning', imageRemove, { data: { image } });
    if (known?.url !== undefined || !known) return;
    await this.#serial.run(known.sha256, () => this.#removeUnused(known.sha256));
  }

  #find(image: string): Promise<ImageView | undefined> {
    return this.#ask('provisioning', imageShow, { data: { image } }).catch(ignoreNotFound);
  }

  async #removeUnused(sha256: string): Promise<void> {
    const { images } = await this.#ask('provisioning', imageList, { data: {} });
    if (images.some((each) => each.url === undefined && each.sha256 === sha256)) return;
    await this.#contents.remove(sha256);
  }
}

const taken = (name: string): AnnealError =>
  new AnnealError(
    'AlreadyExists',
    `An image named ${name} already exists. Its content cannot change: remove it first, or choose another name.`,
  );
